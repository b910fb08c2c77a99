"""What is looked at to tell whether an installation is as it should be."""
