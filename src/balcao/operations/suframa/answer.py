"""The body of a result (specification, "Free-trade-zone registry record")."""

from balcao.core.described import described
from balcao.core.suframa import ZoneRecord
from balcao.operations.envelope import AlwaysFalse, AlwaysTrue, RequestId


@described("RespostaSuframa", "Inscrição na Suframa. Campos sem informação na fonte são omitidos.")
class ZoneAnswer(ZoneRecord, frozen=True, kw_only=True):
    """The body of a result: the record's fields beside the envelope's."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse
