"""Addresses as people may see them."""

import re

HIDDEN = "***"

_USER_OF_ADDRESS = re.compile(r"(?<=://)[^/@\s]+(?=@)")


def shown_address(text: str) -> str:
    """An address without the user and password it may carry."""
    return _USER_OF_ADDRESS.sub(HIDDEN, text)
