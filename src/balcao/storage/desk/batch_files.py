"""Storage used by batches, on any engine: per account, in total, and by unread files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from balcao.core.file_limits import ANSWER_BYTES, UnreadFile
from balcao.storage.engine import Engine

# A file is stored until it is read; rows and answers until the batch's data are erased.
_KEPT = (
    "CASE WHEN state IN ('recebido', 'validando') THEN file_bytes ELSE 0 END + row_bytes"  # noqa: S608
    f" + {ANSWER_BYTES} * coalesce((SELECT c.rows FROM batch_count AS c"
    " WHERE c.batch_id = batch.batch_id AND c.state = 'concluida'), 0)"
)
_USE = (
    "SELECT coalesce(sum(kept), 0), coalesce(sum(CASE WHEN account_id = ? THEN kept END), 0)"  # noqa: S608
    f" FROM (SELECT account_id, {_KEPT} AS kept FROM batch WHERE erased_ms IS NULL) AS one"
)
_OPEN = (
    "SELECT count(*), coalesce(sum(CASE WHEN state IN ('recebido', 'validando') THEN 1 END), 0)"
    " FROM batch WHERE account_id = ? AND erased_ms IS NULL"
    " AND state NOT IN ('concluido', 'encerrado', 'expirado', 'recusado')"
)
_MADE = "SELECT 1 FROM batch WHERE account_id = ? AND create_key = ?"
_UNREAD = (
    "SELECT batch_id, file_bytes, a.plan <> 'gratuito' FROM batch"
    " JOIN account AS a USING (account_id) WHERE state = 'recebido' AND erased_ms IS NULL"
    " AND file_bytes > 0"
)


@dataclass(frozen=True, slots=True)
class StorageUse:
    """Bytes and counts of batches at one time."""

    own_bytes: int
    own_open: int
    own_unread: int
    all_bytes: int
    reusable_bytes: int  # within the database's own file


class BatchFiles:
    """Uploaded files of batches in one database. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def taken(self, account_id: int) -> StorageUse:
        """Return the space used by an account, and by all accounts. In a thread."""
        with self._engine.open_reader() as reading:
            all_bytes, own_bytes = reading.execute(_USE, (account_id,)).fetchall()[0]
            open_batches, unread = reading.execute(_OPEN, (account_id,)).fetchall()[0]
            values = (own_bytes, open_batches, unread, all_bytes, self._reusable(reading))
        return StorageUse(*map(int, values))

    def unread(self) -> Sequence[UnreadFile]:
        """Return the files whose reading has not begun. In a thread."""
        with self._engine.open_reader() as reading:
            rows = reading.execute(_UNREAD).fetchall()
        return [UnreadFile(batch_id, int(size), bool(pays)) for batch_id, size, pays in rows]

    def is_made(self, account_id: int, create_key: str | None) -> bool:
        """Return whether the account has created a batch under this key. In a thread."""
        if create_key is None:
            return False
        with self._engine.open_reader() as reading:
            return bool(reading.execute(_MADE, (account_id, create_key)).fetchall())

    def _reusable(self, reading: Any) -> int:
        return int(reading.execute(self._engine.queries["reusable_bytes"]).fetchall()[0][0])
