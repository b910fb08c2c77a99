"""What one table lacks, has otherwise or has too much beside another, both read in order once."""

from collections.abc import Iterable

from balcao.storage.transfer.errors import MoveRefused
from balcao.storage.transfer.lines import PutAside, Sum, key_reader
from balcao.storage.transfer.tables import MovedTable


class Difference:
    """What has to be done to a table so that it becomes the other one."""

    def __init__(self) -> None:
        self.missing = PutAside()
        self.changed = PutAside()  # as they shall be
        self.extra = PutAside()  # as they are

    def __bool__(self) -> bool:
        return bool(self.missing.count or self.changed.count or self.extra.count)

    def close(self) -> None:
        """Forget it."""
        for lines in (self.missing, self.changed, self.extra):
            lines.close()


def compare(
    table: MovedTable, here: Iterable[bytes], there: Iterable[bytes], total: Sum, found: Difference
) -> None:
    """Compare both in the order of their keys; `total` adds up what is here.

    Raises `MoveRefused` where a table that only grows has rows there that are not here.
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
            f"O destino tem registros ({table.label}) que a origem não tem, e eles nunca são"
            " apagados: são dados de outra instalação, ou o destino já foi usado. Nada foi"
            " apagado; use um destino vazio."
        )
