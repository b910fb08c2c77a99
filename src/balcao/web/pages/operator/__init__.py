"""What those who run the service see and do: all accounts, the sources, the open data, the log."""
