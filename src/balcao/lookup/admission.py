"""How many lookups may wait for a source at once, in all and for one account.

A source that hangs keeps lookups for as long as the deadline allows. What is at hand must be
answered all the same, and nobody may take all places: neither one account, nor the sandbox.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from balcao.core.access import Caller
from balcao.core.errors import Overloaded


class AdmissionControl:
    """Places for lookups that go to a source; live and test accounts have their own."""

    def __init__(self, places: int, places_per_account: int, wait_seconds: int) -> None:
        """`wait_seconds`: after that long, whoever is inside now is out again."""
        self._places = places
        self._places_per_account = places_per_account
        self._wait_seconds = wait_seconds
        self._by_mode: Counter[str] = Counter()
        self._by_account: Counter[int] = Counter()

    @property
    def places_yielding(self) -> int:
        """How many who yield find a place at once, when nobody else has one; of one account."""
        return max(1, self._places_per_account // 2)

    @contextmanager
    def place(self, caller: Caller, *, yielding: bool = False) -> Iterator[None]:
        """Take a place for as long as the block runs. Raises `Overloaded` when there is none.

        Who is `yielding`, as rows of batches are, finds one only as long as half of them are free:
        so those who ask one by one have the other half, and the first half when they need it.
        """
        places, of_account = self._places, self._places_per_account
        if yielding:
            places, of_account = max(1, places // 2), self.places_yielding
        if (
            self._by_mode[caller.mode] >= places
            or self._by_account[caller.account_id] >= of_account
        ):
            raise Overloaded(self._wait_seconds)
        self._by_mode[caller.mode] += 1
        self._by_account[caller.account_id] += 1
        try:
            yield
        finally:
            self._by_mode[caller.mode] -= 1
            self._by_account[caller.account_id] -= 1
            if not self._by_account[caller.account_id]:
                del self._by_account[caller.account_id]
