"""`python -m balcao`: the command line without its installed script."""

from balcao.cli import main

if __name__ == "__main__":
    main()
