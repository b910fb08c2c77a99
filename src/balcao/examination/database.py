"""What `balcao doctor` finds in the database: its clock, its schema, its keys, its books."""

import time
from collections.abc import Callable, Iterator, Mapping

from balcao.core.clock import SMALL_MS
from balcao.core.database_server import remarks, too_old
from balcao.core.errors import PepperDiffers
from balcao.core.findings import Finding
from balcao.core.freshness import DAY_MS
from balcao.core.writing import counted
from balcao.examination.failures import explain
from balcao.examination.wording import apart_text, program, whole
from balcao.storage.desk.batches_reading import standing_of
from balcao.storage.desk.check import check_books
from balcao.storage.pepper import may_be_pepper
from balcao.storage.places import DataPlace, Look

DATABASE = "banco de dados"

# What nodes and database say of one moment is compared by people: in logs, in statements.
CLOCK_SECONDS_MAX = 2.0

# A service that was stopped for longer is rarer than a clock that is ahead.
IDLE_DAYS_MAX = 30

JOB_STATES: Mapping[str, str] = {
    "waiting": "à espera",
    "running": "em andamento",
    "failed": "sem êxito",
}


def database(
    place: DataPlace, pepper: bytes | None, now_ms: Callable[[], int]
) -> Iterator[Finding]:
    """Whether it opens, its schema, whose keys these are, and its books. Changes nothing.

    `pepper`: this folder's, if it has one. Raises `StorageFailed`, and `StorageMoved` or
    `StorageIncomplete` when the data are elsewhere.
    """
    if place.desk_file is not None and not place.desk_file.is_file():
        yield Finding("warn", f"ainda não existe; {program()} serve o cria")
        return
    with place.look() as look:
        if (facts := look.server_facts()) is not None:
            yield from remarks(facts)
            if too_old(facts):
                return
        yield from _clock_of_database(look, now_ms)
        look.check_here()
        has, newest = look.schema(), look.newest
        if has > newest:
            yield Finding(
                "fail",
                f"versão {has} do esquema, e este programa conhece até a {newest}: atualize-o",
            )
            return
        if has < newest:
            told = (
                f"versão {has} do esquema; a próxima partida o leva à {newest}"
                if look.server is None
                else f"{look.server}, versão {has} do esquema; {program()} serve o leva à {newest}"
            )
            yield Finding("warn", told)
            return
        yield Finding("ok", f"{look.server or 'abre'}; versão {has} do esquema")
        yield from _pepper(look, pepper)
        yield from _clock_of_books(look, now_ms)
        yield from _books(look)
        yield from _jobs(look)
        yield from _batches(look)


def _clock_of_database(look: Look, now_ms: Callable[[], int]) -> Iterator[Finding]:
    """Its clock was read at some moment between asking and hearing: that much is not known."""
    began, before_ms = time.monotonic(), now_ms()
    said = look.clock_seconds()
    if said is None:
        return
    took_seconds = time.monotonic() - began
    ahead = before_ms / 1000 + took_seconds / 2 - said
    if abs(ahead) <= CLOCK_SECONDS_MAX + took_seconds / 2:
        yield Finding("ok", "de acordo com o desta máquina", "relógio do banco de dados")
        return
    off = abs(ahead) * 1000 > SMALL_MS
    yield Finding(
        "fail" if off else "warn",
        f"o desta máquina está {apart_text(ahead)} em relação a ele: acerte os dois (NTP)"
        + ("; até lá, este nó não se diz pronto" if off else ""),
        "relógio do banco de dados",
    )


def _clock_of_books(look: Look, now_ms: Callable[[], int]) -> Iterator[Finding]:
    """Whether this machine's clock is before what was committed last: one of them was wrong."""
    latest = look.latest_instant()
    if latest is not None and now_ms() - latest > IDLE_DAYS_MAX * DAY_MS:
        days = (now_ms() - latest) // DAY_MS
        yield Finding(
            "warn",
            f"o último registro é de {whole(days)} dias atrás: se o serviço não ficou parado esse"
            " tempo, o relógio desta máquina está adiantado; acerte-o (NTP)",
            "relógio e livro",
        )
    behind_ms = 0 if latest is None else latest - now_ms()
    if behind_ms > SMALL_MS:
        yield Finding(
            "warn",
            f"o relógio desta máquina está {apart_text(-behind_ms / 1000)} em relação ao último"
            " lançamento: acerte-o (NTP), se é ele que está errado",
            "relógio e livro",
        )


def _pepper(look: Look, pepper: bytes | None) -> Iterator[Finding]:
    """Whether the keys are of another folder's secret."""
    if pepper is not None and not may_be_pepper(look.connection, pepper):
        yield Finding("fail", explain(PepperDiffers()) or "", "segredo das chaves")


def _batches(look: Look) -> Iterator[Finding]:
    """Batches that wait for somebody."""
    open_ = standing_of(look.connection)
    if not open_:
        return
    told = ", ".join(
        f"{whole(count)} {state}{f' ({reason})' if reason else ''}"
        for state, reason, count in open_
    )
    paused = any(state == "pausado" and reason != "usuario" for state, reason, _ in open_)
    yield Finding("warn" if paused else "ok", told, "lotes")


def _books(look: Look) -> Iterator[Finding]:
    """Whether the books agree."""
    books = check_books(look.connection)
    for complaint in books.complaints:
        yield Finding("fail", complaint, "livro de créditos")
    if not books.complaints:
        yield Finding(
            "ok",
            f"confere: {counted(books.accounts, 'conta', 'contas')},"
            f" {counted(books.entries, 'lançamento', 'lançamentos')}",
            "livro de créditos",
        )
    if books.budgets:
        remarks = "; ".join(books.remarks)
        yield Finding(
            "warn" if remarks else "ok",
            remarks or f"{whole(books.budgets)} conferidos",
            "orçamentos",
        )


def _jobs(look: Look) -> Iterator[Finding]:
    """What commits left to be done: how many jobs of which kind are in which state."""
    from balcao.storage.desk.jobs import STANDING

    found = look.connection.execute(STANDING).fetchall()
    texts = [f"{kind}: {whole(count)} {JOB_STATES[state]}" for kind, state, count, *_ in found]
    if any(state == "failed" for _, state, *_ in found):
        texts.append(
            f"veja as causas com {program()} job list, e recomece com {program()} job retry"
        )
        yield Finding("warn", "; ".join(texts), "tarefas")
    else:
        yield Finding("ok", "; ".join(texts) or "nenhuma à espera", "tarefas")
