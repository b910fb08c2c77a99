"""Browsers of a manager and of an operator."""

import pytest

from tests.service import Service
from tests.web.browser import Browser, signed_in


@pytest.fixture
def browser(house: Service) -> Browser:
    """Return the browser of a manager of the house's usual account."""
    return signed_in(house)


@pytest.fixture
def operator(house: Service) -> Browser:
    """Return an operator's browser."""
    return signed_in(house, role="operator")
