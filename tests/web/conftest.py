"""Who looks at the pages."""

import pytest

from tests.http.house import OpenHouse
from tests.web.browser import Browser


@pytest.fixture
def operator(house: OpenHouse) -> Browser:
    """An operator's browser."""
    browser = Browser(house)
    browser.sign_in_as("operator")
    return browser
