"""People on PostgreSQL: as everywhere, except that old months of traces go as a whole."""

from collections.abc import Callable

from balcao.storage.connection import Apart, Connection
from balcao.storage.desk.people import InTurn, SharedPeople
from balcao.storage.postgresql.connections import Line
from balcao.storage.postgresql.partitions import Partitions


class PostgresPeople(SharedPeople):
    """The people of one node's desk."""

    def __init__(
        self,
        in_place: Connection,
        apart: Apart,
        in_turn: InTurn,
        forget_callers: Callable[[], None],
        partitions: Partitions,
    ) -> None:
        super().__init__(in_place, apart, in_turn, forget_callers)
        self._partitions = partitions

    async def purge_people(
        self,
        now_ms: int,
        oldest_trace_ms: int,
        oldest_session_ms: int,
        oldest_certificate_ms: int,
    ) -> int:
        """See the contract. A month counts once, however many traces were in it."""

        def drop(connection: Connection) -> int:
            assert isinstance(connection, Line)
            with connection.guarded() as inner:
                return self._partitions.drop_traces(inner, oldest_trace_ms)

        dropped = await self._in_turn(drop)
        return dropped + await super().purge_people(
            now_ms, oldest_trace_ms, oldest_session_ms, oldest_certificate_ms
        )
