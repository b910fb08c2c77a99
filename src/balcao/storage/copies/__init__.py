"""The desk as it stands in a backup: copied beside those who serve, looked at, brought back."""
