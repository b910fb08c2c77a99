"""Compare two tables, both read once in order: missing, changed and additional rows."""

from collections.abc import Iterable

from balcao.storage.transfer.errors import MoveRefused
from balcao.storage.transfer.lines import LineBuffer, Sum, key_reader
from balcao.storage.transfer.tables import MovedTable


class Difference:
    """The changes that make a table equal to another."""

    def __init__(self) -> None:
        self.missing = LineBuffer()
        self.changed = LineBuffer()  # with their new content
        self.extra = LineBuffer()  # with their present content

    def __bool__(self) -> bool:
        return bool(self.missing.count or self.changed.count or self.extra.count)

    def close(self) -> None:
        for lines in (self.missing, self.changed, self.extra):
            lines.close()


def compare(
    table: MovedTable, here: Iterable[bytes], there: Iterable[bytes], total: Sum, found: Difference
) -> None:
    """Compare both in the order of their keys; `total` adds up `here`.

    Raises `MoveRefused` where an append-only table has rows in `there` that `here` lacks.
    """
    key = key_reader(table)
    others = iter(there)
    other = next(others, None)
    for line in here:
        total.add(line)
        if line == other:
            other = next(others, None)
            continue
        own = key(line)
        while other is not None and key(other) < own:
            found.extra.put(other)
            other = next(others, None)
        if other is not None and key(other) == own:
            if other != line:
                found.changed.put(line)
            other = next(others, None)
        else:
            found.missing.put(line)
    while other is not None:
        found.extra.put(other)
        other = next(others, None)
    if table.appended and (found.changed.count or found.extra.count):
        raise MoveRefused(
            f"O destino tem registros ({table.label}) que a origem não tem e que nunca são"
            " apagados: são dados de outra instalação, ou o destino já foi usado. Nada foi"
            " apagado. Use um destino vazio."
        )
