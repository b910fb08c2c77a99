"""Pages of an account exist twice: for its managers, and for operators."""

import pytest

from balcao.web.kit.account_pages import ACCOUNTS
from balcao.web.routes import PAGES


@pytest.mark.parametrize(("family", "only_operators"), [("chaves", 0), ("usuarios", 1)])
def test_managers_and_operators_have_the_same_pages(family: str, only_operators: int) -> None:
    def below(base: str) -> dict[tuple[str, str], tuple[str, object]]:
        own = f"{base}/{family}"
        return {
            (page.path.removeprefix(own), page.method): (
                page.name.partition(":")[2],
                getattr(page.answer, "__wrapped__", None),
            )
            for page in PAGES
            if page.path == own or page.path.startswith(f"{own}/")
        }

    managers, operators = below("/app"), below(f"{ACCOUNTS}/{{account_id:int}}")
    assert len(managers) >= 4
    assert managers.items() <= operators.items()
    assert len(operators) - len(managers) == only_operators
    assert None not in [answer for _, answer in operators.values()]
