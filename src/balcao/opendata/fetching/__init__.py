"""Automatic download of the publisher's month: find, wait, download, check, import, switch."""
