"""The pages of batches and their event streams, over PostgreSQL."""

from collections.abc import Callable, Iterator

import pytest
from pydantic import SecretStr

from balcao.service import batching
from tests.service import Service, open_service
from tests.storage import postgres
from tests.web import test_batches as pages
from tests.web.batches import BatchUser
from tests.web.browser import signed_in


@pytest.fixture(scope="module")
def shared_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "POLL_SECONDS", 0.05)
        where, address = tmp_path_factory.mktemp("casa"), postgres.new_address()
        with open_service(where, establishments=1, database=SecretStr(address)) as house:
            yield house
            house.assert_books_agree()


@pytest.mark.parametrize(
    "test",
    [
        pages.test_from_a_pasted_list_to_its_receipts,
        pages.test_paused_stopped_and_erased,
        # The same reads and writes as of the two above; storage's own tests run on both engines.
        pytest.param(
            pages.test_a_ceiling_that_is_reached_is_raised_here, marks=pytest.mark.nightly
        ),
        pytest.param(
            pages.test_another_quote_is_shown_and_starts_nothing, marks=pytest.mark.nightly
        ),
        pytest.param(
            pages.test_failed_rows_are_repeated_with_a_new_quote, marks=pytest.mark.nightly
        ),
        pytest.param(pages.test_a_batch_is_repeated_with_another_list, marks=pytest.mark.nightly),
    ],
)
def test_pages(shared_house: Service, test: Callable[[BatchUser], None]) -> None:
    test(BatchUser(signed_in(shared_house, shared_house.account(test.__name__))))


def test_streams(shared_house: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    office = BatchUser(signed_in(shared_house, shared_house.account("noticias")))
    pages.test_updates_come_as_events(office, monkeypatch)
