"""Checks of the database by `balcao doctor`: clock, schema, keys, ledger."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from balcao.core.calendar import HOUR_MS, from_ms
from balcao.core.clock import SMALL_MS
from balcao.core.database_server import remarks, too_old
from balcao.core.errors import PepperDiffers
from balcao.core.findings import Finding
from balcao.core.freshness import DAY_MS
from balcao.core.key_expiry import REPLACEMENT, WITHIN_DAYS, expiring
from balcao.core.secrets import ring_of, secret_id
from balcao.core.writing import counted, day
from balcao.examination.failures import explain
from balcao.examination.wording import apart_text, program, whole
from balcao.storage.desk.batch_queries import standing_of
from balcao.storage.desk.check import check_books
from balcao.storage.desk.queries import keys_with_expiry
from balcao.storage.desk.secrets import keys_left, newest_rotation
from balcao.storage.pepper import may_be_pepper
from balcao.storage.places import DataPlace, DeskInspection

DATABASE = "banco de dados"
COMPARISON = "comparação"

# People compare instants of nodes and database, in logs and statements.
CLOCK_SECONDS_MAX = 2.0

# Being stopped for longer is rarer than a clock that is ahead.
IDLE_DAYS_MAX = 30

# Scheduled lookups and renewals run within minutes, unless the service was off.
DELIVERY_MINUTES_MAX = 10
PURCHASE_HOURS_MAX = 6

_KEYS_NAMED_MAX = 10

JOB_STATES: Mapping[str, str] = {
    "waiting": "na fila",
    "running": "em andamento",
    "failed": "com falha",
}


def database(
    place: DataPlace, secrets: Sequence[bytes], now_ms: Callable[[], int]
) -> Iterator[Finding]:
    """Check that the database opens, its schema, its keys and its ledger. Changes nothing.

    `secrets`: this folder's, if it has any. Raises `StorageFailed`, and `StorageMoved` or
    `StorageIncomplete` when the data are elsewhere.
    """
    if place.desk_file is not None and not place.desk_file.is_file():
        yield Finding("warn", f"ainda não existe. Será criado por {program()} serve")
        return
    with place.inspect() as look:
        if (facts := look.server_facts()) is not None:
            yield from remarks(facts)
            if too_old(facts):
                return
        yield from _clock_of_database(look, now_ms)
        look.check_not_moved()
        schema, newest = look.schema(), look.newest
        if schema > newest:
            yield Finding(
                "fail",
                f"versão {schema} do esquema, e este programa conhece até a {newest}. Atualize o"
                " programa",
            )
            return
        if schema < newest:
            text = (
                f"versão {schema} do esquema. O próximo início atualiza para a {newest}"
                if look.server is None
                else f"{look.server}, versão {schema} do esquema. {program()} serve atualiza para"
                f" a {newest}"
            )
            yield Finding("warn", text)
            return
        yield Finding("ok", f"{look.server or 'abre'}; versão {schema} do esquema")
        yield from _secrets(look, secrets, now_ms())
        yield from _clock_of_books(look, now_ms)
        yield from _books(look)
        yield from _expiring_keys(look, now_ms())
        yield from _jobs(look)
        yield from _batches(look)
        yield from _purchases(look, now_ms())
        yield from comparison(look)
        yield from _webhooks(look, now_ms())
        yield from _calendars(look)


def _clock_of_database(look: DeskInspection, now_ms: Callable[[], int]) -> Iterator[Finding]:
    """Compare the clocks; uncertain by the time that the question took."""
    began, before_ms = time.monotonic(), now_ms()
    server_seconds = look.clock_seconds()
    if server_seconds is None:
        return
    took_seconds = time.monotonic() - began
    ahead = before_ms / 1000 + took_seconds / 2 - server_seconds
    if abs(ahead) <= CLOCK_SECONDS_MAX + took_seconds / 2:
        yield Finding("ok", "de acordo com o desta máquina", "relógio do banco de dados")
        return
    off = abs(ahead) * 1000 > SMALL_MS
    yield Finding(
        "fail" if off else "warn",
        f"o desta máquina está {apart_text(ahead)} em relação a ele. Acerte os dois (NTP)"
        + ("; até lá, este nó não fica pronto" if off else ""),
        "relógio do banco de dados",
    )


def _clock_of_books(look: DeskInspection, now_ms: Callable[[], int]) -> Iterator[Finding]:
    """Report a clock that is behind the last commit, or far ahead: one of them was wrong."""
    latest = look.latest_instant()
    if latest is not None and now_ms() - latest > IDLE_DAYS_MAX * DAY_MS:
        days = (now_ms() - latest) // DAY_MS
        yield Finding(
            "warn",
            f"o último registro é de {whole(days)} dias atrás. Se o serviço não ficou parado esse"
            " tempo, o relógio desta máquina está adiantado. Acerte o relógio (NTP)",
            "relógio e livro-razão",
        )
    behind_ms = 0 if latest is None else latest - now_ms()
    if behind_ms > SMALL_MS:
        yield Finding(
            "warn",
            f"o relógio desta máquina está {apart_text(-behind_ms / 1000)} em relação ao último"
            " lançamento. Se ele estiver errado, acerte (NTP)",
            "relógio e livro-razão",
        )


def _secrets(look: DeskInspection, secrets: Sequence[bytes], now_ms: int) -> Iterator[Finding]:
    """Report keys that were made with another folder's secret, and a rotation under way."""
    name = "segredo das chaves"
    if not secrets:
        return
    newest = newest_rotation(look.connection)
    try:
        if not may_be_pepper(look.connection, secrets[0]):
            raise PepperDiffers
        ring = ring_of(secrets, newest)
    except PepperDiffers as error:
        yield Finding("fail", explain(error) or "", name)
        return
    if lacking := look.nodes_without_secret(secret_id(secrets[-1])):
        nodes = ", ".join(map(str, lacking))
        text = f"falta um segredo no secret.key dos nós {nodes}. Copie para lá o desta pasta"
        yield Finding("fail", text, name)
    if ring.pending is not None:
        yield Finding("warn", "novo segredo à espera do serviço e de todos os nós", name)
    elif ring.previous is not None and newest is not None:
        left = len(keys_left(look.connection, newest.secret_id, now_ms))
        yield Finding(
            "warn",
            f"troca em andamento; {counted(left, 'chave ainda usa', 'chaves ainda usam')} o segredo"
            f" anterior. Para concluir: {program()} secret finish",
            name,
        )


def _batches(look: DeskInspection) -> Iterator[Finding]:
    open_ = standing_of(look.connection)
    if not open_:
        return
    text = ", ".join(
        f"{whole(count)} {state}{f' ({reason})' if reason else ''}"
        for state, reason, count in open_
    )
    paused = any(state == "pausado" and reason != "usuario" for state, reason, _ in open_)
    yield Finding("warn" if paused else "ok", text, "lotes")


def _purchases(look: DeskInspection, now_ms: int) -> Iterator[Finding]:
    """Report how long the oldest purchases that portfolios make by themselves wait."""
    from balcao.storage.desk.purchases import oldest_due

    due = oldest_due(look.connection, now_ms)
    for name, due_ms in (("reconsultas", due.recheck_ms), ("renovações", due.renewal_ms)):
        if due_ms is not None:
            hours = (now_ms - due_ms) // HOUR_MS
            text = f"a mais antiga espera há {counted(hours, 'hora', 'horas')}"
            yield Finding("warn" if hours >= PURCHASE_HOURS_MAX else "ok", text, name)


def _calendars(look: DeskInspection) -> Iterator[Finding]:
    """Report the number of calendars of certificates."""
    from balcao.storage.desk.wallet.calendars import count_calendars

    if count := count_calendars(look.connection):
        text = counted(count, "calendário criado", "calendários criados")
        yield Finding("ok", text, "calendários")


def _webhooks(look: DeskInspection, now_ms: int) -> Iterator[Finding]:
    """Report how long the oldest delivery whose attempt is due waits."""
    from balcao.storage.desk.webhook_deliveries import read_figures

    figures = read_figures(look.connection, now_ms)
    if not figures.endpoints:
        return
    if figures.oldest_due_ms is None:
        yield Finding("ok", "nenhuma entrega atrasada", "webhooks")
        return
    minutes = (now_ms - figures.oldest_due_ms) // 60_000
    text = f"a entrega mais antiga espera há {counted(minutes, 'minuto', 'minutos')}"
    yield Finding("warn" if minutes >= DELIVERY_MINUTES_MAX else "ok", text, "webhooks")


def _books(look: DeskInspection) -> Iterator[Finding]:
    books = check_books(look.connection)
    for complaint in books.complaints:
        yield Finding("fail", complaint, "livro-razão")
    if not books.complaints:
        yield Finding(
            "ok",
            f"confere: {counted(books.accounts, 'conta', 'contas')},"
            f" {counted(books.entries, 'lançamento', 'lançamentos')}",
            "livro-razão",
        )
    if books.budgets:
        remarks = "; ".join(books.remarks)
        yield Finding(
            "warn" if remarks else "ok",
            remarks or f"{whole(books.budgets)} conferidos",
            "orçamentos",
        )


def _expiring_keys(look: DeskInspection, now_ms: int) -> Iterator[Finding]:
    """Report keys that expire soon, by name and account."""
    keys, accounts = keys_with_expiry(look.connection)
    ending = expiring(keys, now_ms)
    if not ending:
        yield Finding("ok", f"nenhuma vence em até {WITHIN_DAYS} dias", "chaves")
        return
    names = [
        f"{one.key.name} ({accounts[one.key.account_id]}) em {day(one.last_day)}"
        for one in ending[:_KEYS_NAMED_MAX]
    ]
    more = len(ending) - len(names)
    text = counted(len(ending), "chave vence", "chaves vencem")
    yield Finding(
        "warn",
        f"{text} em até {WITHIN_DAYS} dias: {', '.join(names)}"
        + (f" e mais {whole(more)}" if more else "")
        + f". {REPLACEMENT} Comandos: {program()} key create CONTA e {program()} key revoke NÚMERO",
        "chaves",
    )


def _jobs(look: DeskInspection) -> Iterator[Finding]:
    from balcao.storage.desk.jobs import COUNTS

    found = look.connection.execute(COUNTS).fetchall()
    texts = [f"{kind}: {whole(count)} {JOB_STATES[state]}" for kind, state, count, *_ in found]
    if any(state == "failed" for _, state, *_ in found):
        texts.append(
            f"veja as causas com {program()} job list e recomece com {program()} job retry"
        )
        yield Finding("warn", "; ".join(texts), "tarefas")
    else:
        yield Finding("ok", "; ".join(texts) or "nenhuma na fila", "tarefas")


def comparison(look: DeskInspection) -> Iterator[Finding]:
    """Report the last comparison of portfolios; without one there is nothing to report."""
    from balcao.storage.desk.month_history import last_comparison

    last = last_comparison(look.connection)
    if last is None:
        return
    switch = last.switch
    if switch.ended_ms is None:
        since = from_ms(switch.at_ms).strftime("%d/%m/%Y %H:%M")
        text = f"mês {switch.to_month} em andamento desde {since}: {last.text}"
        yield Finding("warn", text, COMPARISON)
    else:
        since = from_ms(switch.ended_ms).strftime("%d/%m/%Y %H:%M")
        text = f"mês {switch.to_month} terminada em {since}: {last.text}"
        yield Finding("ok", text, COMPARISON)
