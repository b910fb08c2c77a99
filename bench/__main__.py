"""`python -m bench [NAME ...]`, of `NAMES` and `LONG`.

Those of `NAMES`, if none is named. `python -m bench fuzz` has arguments of its own
(`bench/fuzz.py`).
"""

import sys
import tempfile
from pathlib import Path

NAMES = ("ledger", "desk", "http", "door", "import", "answers", "registrations", "source")
LONG = ("nodes", "scaling", "crash", "storm", "clients", "fuzz")


def main(names: list[str]) -> None:
    if names[:1] == ["fuzz"]:
        from bench import fuzz  # noqa: PLC0415

        fuzz.main(names[1:])
        return
    for name in names or NAMES:
        print(f"== {name}", flush=True)
        if name == "ledger":
            from bench import ledger  # noqa: PLC0415

            ledger.run()
        elif name == "desk":
            from bench import desk  # noqa: PLC0415

            desk.main([])
        elif name == "http":
            from bench import http  # noqa: PLC0415

            http.run()
        elif name == "door":
            from bench import door  # noqa: PLC0415

            door.run()
        elif name == "import":
            from bench import import_month  # noqa: PLC0415

            with tempfile.TemporaryDirectory() as folder:
                import_month.run(Path(folder))
        elif name == "answers":
            from bench import answers  # noqa: PLC0415

            answers.main([])
        elif name == "registrations":
            from bench import registrations  # noqa: PLC0415

            registrations.run()
        elif name == "source":
            from bench import source  # noqa: PLC0415

            source.run()
        elif name == "nodes":
            from bench import nodes  # noqa: PLC0415

            nodes.run()
        elif name == "scaling":
            from bench import scaling  # noqa: PLC0415

            scaling.main([])
        elif name == "crash":
            from bench import crash  # noqa: PLC0415

            crash.main(["--cycles", "50"])
        elif name == "storm":
            from bench import storm  # noqa: PLC0415

            storm.main([])
        elif name == "clients":
            from bench import clients  # noqa: PLC0415

            clients.main([])
        else:
            raise SystemExit(f"bench: {name}? Use: {', '.join((*NAMES, *LONG))}")


if __name__ == "__main__":
    main(sys.argv[1:])
