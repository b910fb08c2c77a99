"""A row of a batch on its way through a lookup: its marks in the commits (decisions 13.4)."""

import msgspec

from balcao.batches.sealing import BatchSeal
from balcao.core.batches import RowState, end_of
from balcao.core.ledger import RowMoved
from balcao.core.outcomes import Reply


class RowErrand(msgspec.Struct):
    """See `lookup.context.Errand`. `state`: what became of the row, once it is over."""

    account_id: int
    batch_id: str
    line: int
    tries: int
    seal: BatchSeal
    state: RowState = "pendente"

    def begun(self, request_id: str, credits: int, at_ms: int) -> RowMoved:
        """Nobody else asks about it from here on."""
        return self._moved(request_id, "em_andamento", at_ms, credits=credits)

    def ended(self, reply: Reply, at_ms: int) -> RowMoved:
        """With its answer, in the commit of its charge."""
        self.state = end_of(reply.status, self.tries)
        answer = None
        if self.state != "pendente":
            answer = self.seal.answer(self.line, reply.body)
        return self._moved(
            reply.request_id,
            self.state,
            at_ms,
            credits=reply.credits,
            code=reply.code,
            answer=answer,
        )

    def given_back(self, request_id: str, at_ms: int) -> RowMoved:
        """It can be asked about again."""
        return self._moved(request_id, "pendente", at_ms)

    def failed(self, request_id: str, code: str, at_ms: int, state: RowState = "falha") -> RowMoved:
        """It was refused before anything was asked, and would be again."""
        return self._moved(request_id, state, at_ms, code=code)

    def _moved(
        self,
        request_id: str,
        state: RowState,
        at_ms: int,
        *,
        credits: int = 0,
        code: str | None = None,
        answer: bytes | None = None,
    ) -> RowMoved:
        return RowMoved(
            self.account_id,
            self.batch_id,
            self.line,
            request_id,
            state,
            credits,
            code,
            answer,
            at_ms,
        )
