"""Limits on the lookups that wait for sources at once, in all and per account.

A source that hangs keeps lookups waiting until the deadline. Available answers must go out
nevertheless, and neither one account nor the sandbox may take all slots.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from balcao.core.access import Caller
from balcao.core.errors import Overloaded


class AdmissionControl:
    """Slots for lookups that go to a source; live and test accounts have separate ones."""

    def __init__(self, slots: int, slots_per_account: int, wait_seconds: int) -> None:
        """`wait_seconds`: the longest that a slot is held."""
        self._slots = slots
        self._slots_per_account = slots_per_account
        self._wait_seconds = wait_seconds
        self._by_mode: Counter[str] = Counter()
        self._by_account: Counter[int] = Counter()

    @property
    def low_priority_slots(self) -> int:
        """The slots that low-priority lookups of one account find when no others are taken."""
        return max(1, self._slots_per_account // 2)

    @contextmanager
    def slot(self, caller: Caller, *, low_priority: bool = False) -> Iterator[None]:
        """Take a slot for as long as the block runs. Raises `Overloaded` when there is none.

        `low_priority` (rows of batches): only while less than half of the slots are taken, so that
        the other half is left to single lookups.
        """
        slots, account_slots = self._slots, self._slots_per_account
        if low_priority:
            slots, account_slots = max(1, slots // 2), self.low_priority_slots
        if (
            self._by_mode[caller.mode] >= slots
            or self._by_account[caller.account_id] >= account_slots
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
