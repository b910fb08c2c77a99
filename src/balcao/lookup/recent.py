"""In-memory cache of encoded answers from the local copies of registries.

Reading a company from the snapshot means two reads, two decompressions, cutting rows and
encoding: tens of microseconds, most of what a lookup costs. Clients ask for the same companies
again and again, so the encoded answers are remembered while the copy stays the same.
"""

from collections import OrderedDict
from collections.abc import Hashable

from balcao.core.memo import Doorkeeper
from balcao.core.outcomes import Delivered

# About 2 kB each: some 32 MB when full. The oldest goes first.
ANSWERS_MAX = 16_384


class RecentAnswers:
    """Encoded answers by cache key, valid for one edition of our copies.

    Only what is put for the second time is kept.
    """

    def __init__(self, answers_max: int = ANSWERS_MAX) -> None:
        """`answers_max`: a power of two."""
        self._answers_max = answers_max
        self._edition: Hashable = None
        self._doorkeeper = Doorkeeper(answers_max)
        # A plain dict looks for its first entry past the places of all that were deleted.
        self._answers: OrderedDict[str, Delivered] = OrderedDict()

    def get(self, cache_key: str, edition: Hashable) -> Delivered | None:
        """Return the answer, unless it is of another edition."""
        if edition != self._edition:
            self._answers.clear()
            self._edition = edition
            return None
        return self._answers.get(cache_key)

    def put(self, cache_key: str, edition: Hashable, answer: Delivered) -> None:
        if edition != self._edition:
            return  # the copy was replaced while this was being read
        if not self._doorkeeper.seen_before(cache_key):
            return
        if cache_key not in self._answers and len(self._answers) >= self._answers_max:
            self._answers.popitem(last=False)
        self._answers[cache_key] = answer
