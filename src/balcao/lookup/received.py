"""Answers about natural persons that accounts have received (ADR 0080).

Until an account has one, nothing that it is sent may depend on what others asked before: see
`execution.look_up`.
"""

from balcao.core.data_subject import AnswerAbout
from balcao.core.memo import Memo
from balcao.storage.desk.desk import Desk

# About 200 bytes each. An evicted one is looked up in the database again.
_REMEMBERED_MAX = 16_384


class ReceivedAnswers:
    """An in-memory cache of the answers known to be received, backed by the database."""

    def __init__(self) -> None:
        self._known: Memo[AnswerAbout, bool] = Memo(_REMEMBERED_MAX)
        self.forget = self._known.clear

    def remembers(self, answer: AnswerAbout) -> bool:
        """Return whether this answer's receipt is in memory. False proves nothing."""
        return self._known.get(answer) is not None

    async def has(self, answer: AnswerAbout, desk: Desk) -> bool:
        """Return whether this answer was received. Raises `StorageFailed`."""
        if self.remembers(answer):
            return True
        found = await desk.has_received(answer)
        if found:
            self._known.put(answer, True)
        return found
