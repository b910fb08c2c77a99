"""The row in each desk that says whether its data are here, arrive, or have moved away."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from balcao.storage.transfer.end import End
from balcao.storage.transfer.errors import MoveRefused
from balcao.storage.transfer.mark import read_mark, write_mark
from balcao.storage.transfer.tables import desk_tables

State: TypeAlias = Literal["here", "arriving", "moved"]


@dataclass(frozen=True, slots=True)
class Proven:
    """The beginning of a table that only grows, known to be the same at both ends."""

    number: int
    rows: int
    total: int


@dataclass(frozen=True, slots=True)
class Mark:
    """What a desk says of itself."""

    storage_id: str  # of this desk, whatever it is called from where
    state: State
    other_id: str = ""  # the desk that the data come from or went to
    place: str = ""  # the same for people: no user and no password
    at_ms: int = 0
    proven: Mapping[str, Proven] | None = None


def read(end: End) -> Mark | None:
    """What is written there, if anything is."""
    columns = read_mark(end)
    if columns is None:
        return None
    storage_id, state, other_id, place, at_ms, proven = columns
    parts = {name: Proven(*told) for name, told in json.loads(proven).items()}
    return Mark(storage_id, state, other_id, place, at_ms, parts)


def write(end: End, mark: Mark) -> None:
    """Write it, within a transaction of the caller's."""
    proven = {
        name: (part.number, part.rows, part.total) for name, part in (mark.proven or {}).items()
    }
    parts = json.dumps(proven)
    write_mark(end, (mark.storage_id, mark.state, mark.other_id, mark.place, mark.at_ms, parts))


def agree(source: End, target: End, now_ms: int) -> tuple[Mark, Mark]:
    """Whether data may go from one to the other; if so, the target says that they arrive.

    A target that is empty may take them, and one that waits for them or that they came from once.
    Raises `MoveRefused`; then nothing was changed.
    """
    here, there = read(source), read(target)
    if here is None:
        here = Mark(secrets.token_hex(16), "here")
        with source.together():
            write(source, here)
    _check_source(here, there, target)
    if there is None and _occupied(target):
        raise MoveRefused(
            f"Já há dados de outra instalação em {target.place}, e nada deles foi tocado. Use um"
            " destino vazio."
        )
    if there is not None and (there.state == "here" or there.other_id != here.storage_id):
        raise MoveRefused(
            f"O que há em {target.place} não são os dados desta instalação, ou não são mais; nada"
            " foi tocado. Use um destino vazio."
        )
    if there is None:
        there = Mark(secrets.token_hex(16), "here")
    if there.state != "arriving":
        there = replace(there, state="arriving", other_id=here.storage_id, place=source.place)
        there = replace(there, at_ms=now_ms, proven={})
        with target.together():
            write(target, there)
            target.tear_down()
        target.claim()  # whoever came between finds the mark from now on
    return here, there


def _check_source(here: Mark, there: Mark | None, target: End) -> None:
    if here.state == "arriving":
        raise MoveRefused(
            f"Os dados que estão aqui ainda vêm de {here.place}: termine aquela mudança antes."
        )
    if here.state == "moved" and (there is None or here.other_id != there.storage_id):
        raise MoveRefused(f"Os dados já foram movidos daqui, para {here.place}.")
    if here.state == "moved" and there is not None and there.state == "here":
        raise MoveRefused(
            f"Os dados já foram movidos daqui para {target.place}; não há mais o que fazer."
        )


def _occupied(end: End) -> bool:
    # What a bucket had in it is nobody's data.
    return any(end.count(table) for table in desk_tables() if table.name != "rate_limit")


def moved_away(source: End, here: Mark, there: Mark, place: str, now_ms: int) -> Mark:
    """From now on nobody opens the source, nor writes there; within the caller's transaction."""
    gone = replace(here, state="moved", other_id=there.storage_id, place=place, at_ms=now_ms)
    write(source, gone)
    source.wall_up()
    return gone


def arrived(target: End, there: Mark) -> None:
    """From now on the target is the place."""
    with target.together():
        write(target, replace(there, state="here", other_id="", place="", proven={}))


def reopen(end: End, now_ms: int) -> str:
    """Use a desk again that data were moved away from. Returns where they are.

    Raises `MoveRefused`.
    """
    mark = read(end)
    if mark is None or mark.state != "moved":
        raise MoveRefused(f"Os dados em {end.place} não foram movidos: não há o que reabrir.")
    with end.together():
        end.tear_down()
        write(end, Mark(mark.storage_id, "here", at_ms=now_ms))
    return mark.place
