"""The desk on a PostgreSQL shared by any number of nodes."""

from collections.abc import Callable

from balcao.storage.desk.desk import Desk
from balcao.storage.postgresql.engine import PostgresEngine


class PostgresDesk(Desk):
    """The desk over a `PostgresEngine`, which receives the arguments."""

    engine: PostgresEngine

    def __init__(
        self,
        address: str,
        *,
        pepper: bytes | None = None,
        observe_batch: Callable[[int], None] = lambda size: None,
    ) -> None:
        super().__init__(PostgresEngine(address, pepper=pepper, observe_batch=observe_batch))
