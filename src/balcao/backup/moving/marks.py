"""The row in each desk that records whether its data are here, arriving, or moved away."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from balcao.storage.transfer.endpoint import MoveEndpoint
from balcao.storage.transfer.errors import MoveRefused
from balcao.storage.transfer.mark import read_mark, write_mark
from balcao.storage.transfer.tables import desk_tables

State: TypeAlias = Literal["here", "arriving", "moved"]


@dataclass(frozen=True, slots=True)
class Proven:
    """The beginning of an append-only table that is known to be equal at both ends."""

    number: int
    rows: int
    total: int


@dataclass(frozen=True, slots=True)
class Mark:
    """The state of a desk's data."""

    storage_id: str  # of this desk, independent of its address
    state: State
    other_id: str = ""  # the desk that the data come from or went to
    place: str = ""  # its address for people, without user and password
    at_ms: int = 0
    proven: Mapping[str, Proven] | None = None


def read(end: MoveEndpoint) -> Mark | None:
    """Return a desk's mark, if it has one."""
    columns = read_mark(end)
    if columns is None:
        return None
    storage_id, state, other_id, place, at_ms, proven = columns
    parts = {name: Proven(*values) for name, values in json.loads(proven).items()}
    return Mark(storage_id, state, other_id, place, at_ms, parts)


def write(end: MoveEndpoint, mark: Mark) -> None:
    """Write the mark, in the caller's transaction."""
    proven = {
        name: (part.number, part.rows, part.total) for name, part in (mark.proven or {}).items()
    }
    parts = json.dumps(proven)
    write_mark(end, (mark.storage_id, mark.state, mark.other_id, mark.place, mark.at_ms, parts))


def begin_move(source: MoveEndpoint, target: MoveEndpoint, now_ms: int) -> tuple[Mark, Mark]:
    """Check that data may go from source to target, and mark the target as arriving.

    The target may be empty, already arriving from this source, or an earlier home of these data.
    Raises `MoveRefused`; then nothing was changed.
    """
    here, there = read(source), read(target)
    if here is None:
        here = Mark(secrets.token_hex(16), "here")
        with source.transaction():
            write(source, here)
    _check_source(here, there, target)
    if there is None and _occupied(target):
        raise MoveRefused(
            f"Já há dados de outra instalação em {target.place}. Nada foi alterado. Use um"
            " destino vazio."
        )
    if there is not None and (there.state == "here" or there.other_id != here.storage_id):
        raise MoveRefused(
            f"Os dados em {target.place} não são, ou não são mais, os desta instalação. Nada foi"
            " alterado. Use um destino vazio."
        )
    if there is None:
        there = Mark(secrets.token_hex(16), "here")
    if there.state != "arriving":
        there = replace(there, state="arriving", other_id=here.storage_id, place=source.place)
        there = replace(there, at_ms=now_ms, proven={})
        with target.transaction():
            write(target, there)
            target.allow_writes()
        target.claim()  # a service that started meanwhile finds the mark from now on
    return here, there


def _check_source(here: Mark, there: Mark | None, target: MoveEndpoint) -> None:
    if here.state == "arriving":
        raise MoveRefused(
            f"Os dados daqui ainda estão vindo de {here.place}. Termine essa mudança antes."
        )
    if here.state == "moved" and (there is None or here.other_id != there.storage_id):
        raise MoveRefused(f"Os dados já foram movidos daqui para {here.place}.")
    if here.state == "moved" and there is not None and there.state == "here":
        raise MoveRefused(
            f"Os dados já foram movidos daqui para {target.place}. Não há mais nada a fazer."
        )


def _occupied(end: MoveEndpoint) -> bool:
    # Levels of rate limits are not data.
    return any(end.count(table) for table in desk_tables() if table.name != "rate_limit")


def close_source(source: MoveEndpoint, here: Mark, there: Mark, place: str, now_ms: int) -> Mark:
    """Close the source to readers and writers for good, in the caller's transaction."""
    moved = replace(here, state="moved", other_id=there.storage_id, place=place, at_ms=now_ms)
    write(source, moved)
    source.block_writes()
    return moved


def activate_target(target: MoveEndpoint, there: Mark) -> None:
    """Make the target the desk in use."""
    with target.transaction():
        write(target, replace(there, state="here", other_id="", place="", proven={}))


def reopen(end: MoveEndpoint, now_ms: int) -> str:
    """Use a desk again whose data were moved away. Returns where they are.

    Raises `MoveRefused`.
    """
    mark = read(end)
    if mark is None or mark.state != "moved":
        raise MoveRefused(f"Os dados em {end.place} não foram movidos. Não há nada para reabrir.")
    with end.transaction():
        end.allow_writes()
        write(end, Mark(mark.storage_id, "here", at_ms=now_ms))
    return mark.place
