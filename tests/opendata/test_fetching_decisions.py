"""Decisions about fetching a month: selection, extraction, replies, retries, schedule. No I/O."""

from datetime import UTC, date, datetime

import pytest

from balcao.core.calendar import BRASILIA, to_ms
from balcao.opendata.errors import ShareFailed
from balcao.opendata.fetching.month_selection import (
    UNCHANGED_MS,
    ZIP_NAMES,
    MonthListing,
    extraction_stamp,
    first_entry_name,
    first_seen,
    incomplete_reason,
    is_month,
    may_be_published,
    mixed_extractions_reason,
    required_bytes,
    select_month,
)
from balcao.opendata.fetching.retry import (
    ReplyOutcome,
    RetryState,
    WriteFrom,
    connections_after,
    interpret_reply,
)
from balcao.opendata.fetching.schedule import LastRun, next_run_ms
from balcao.opendata.fetching.share import Folder, candidate_folders, read_multistatus, read_page
from balcao.opendata.fetching.state import FetchState, sentence

WHOLE = dict.fromkeys(ZIP_NAMES, 10)


def ms(day: int, hour: int, minute: int = 0) -> int:
    """Return an instant of November 2026 in Brasília's time."""
    return to_ms(datetime(2026, 11, day, hour, minute, tzinfo=BRASILIA))


def test_the_37_names() -> None:
    assert len(ZIP_NAMES) == 37
    assert {"Empresas0.zip", "Socios9.zip", "Simples.zip", "Cnaes.zip"} <= ZIP_NAMES


@pytest.mark.parametrize(
    ("folders", "in_use", "fetched", "expected"),
    [
        (["2026-09", "2026-10"], None, None, "2026-10"),
        (["2026-10", "2026-09", "Dados", "2026-13"], date(2026, 9, 12), None, "2026-10"),
        (["2026-10"], date(2026, 10, 12), None, None),
        (["2026-10"], date(2026, 11, 12), None, None),
        (["2026-10"], date(2026, 9, 12), "2026-10", None),  # rolled back by the operator
        (["2026-10"], date(2026, 9, 12), "2026-09", "2026-10"),
        (["2026-12", "2026-10"], date(2026, 9, 12), None, "2026-10"),  # not from the future
        ([], None, None, None),
    ],
)
def test_the_month_to_fetch(
    folders: list[str], in_use: date | None, fetched: str | None, expected: str | None
) -> None:
    today = date(2026, 11, 22)
    assert select_month(folders, today=today, in_use=in_use, fetched=fetched) == expected


def test_no_search_while_no_newer_month_can_exist() -> None:
    assert may_be_published(date(2026, 11, 1), None)
    assert may_be_published(date(2026, 11, 1), date(2026, 10, 31))
    assert not may_be_published(date(2026, 11, 30), date(2026, 11, 9))


def test_names_of_months() -> None:
    assert is_month("2026-10")
    assert not any(map(is_month, ("2026-00", "2026-1", "2026-10/", "x2026-10", "cnpj.tar.gz")))


def test_a_month_is_complete_with_37_files_none_of_them_empty() -> None:
    assert incomplete_reason(WHOLE) is None
    assert incomplete_reason(WHOLE | {"cnpj.tar.gz": 0}) is None
    lacking = {name: size for name, size in WHOLE.items() if name != "Simples.zip"}
    assert incomplete_reason(lacking) == "há 36 dos 37 arquivos; falta Simples.zip"
    assert incomplete_reason({}) == (
        "há 0 dos 37 arquivos; faltam Cnaes.zip, Empresas0.zip, Empresas1.zip e mais 34"
    )
    assert incomplete_reason(WHOLE | {"Paises.zip": 0}) == "vazio ainda: Paises.zip"


def test_since_when_the_listing_is_unchanged() -> None:
    now = MonthListing("2026-10", 100, WHOLE)
    assert first_seen(now, None) is now
    assert first_seen(now, MonthListing("2026-10", 40, dict(WHOLE))).at_ms == 40
    for other in (
        MonthListing("2026-10", 40, WHOLE | {"Simples.zip": 9}),
        MonthListing("2026-09", 40, WHOLE),  # the same sizes
        MonthListing("2026-10", 101, WHOLE),  # from a wrong clock
    ):
        assert first_seen(now, other) is now
    assert UNCHANGED_MS == 10 * 60_000


def test_the_extraction_in_a_zips_first_bytes() -> None:
    name = b"K3241.K03200Y0.D61110.EMPRECSV"
    head = b"PK\x03\x04" + b"\0" * 22 + len(name).to_bytes(2, "little") + b"\0\0" + name + b"rest"
    assert first_entry_name(head) == name.decode()
    assert extraction_stamp(name.decode()) == "61110"
    for broken in (b"", head[:20], head[:40], b"<html>" + head[6:]):
        assert first_entry_name(broken) is None
    assert extraction_stamp("EMPRECSV") is None


def test_all_of_one_extraction() -> None:
    assert mixed_extractions_reason({"a": "61110", "b": "61110"}) is None
    mixed = mixed_extractions_reason({"a": "61110", "b": "61110", "c": "61009"})
    assert mixed == "os arquivos são de extrações diferentes: c é D61009, a é D61110"
    assert mixed_extractions_reason({"a": "61110", "b": None}) == "sem data no nome interno: b"


def test_required_space() -> None:
    """7.7 GB of zips need 1.2 times 28.7 GB (`docs/opendata.md`)."""
    assert required_bytes(7_700_000_000) == pytest.approx(1.2 * 28_700_000_000, rel=1e-9)


@pytest.mark.parametrize(
    ("have", "status", "content_range", "length", "action"),
    [
        (0, 200, None, 100, WriteFrom(0)),
        (0, 200, None, None, WriteFrom(0)),
        (0, 200, None, 90, ReplyOutcome.CHANGED),
        (40, 200, None, 100, WriteFrom(0)),  # the server ignores ranges: from the beginning
        (40, 200, None, 101, ReplyOutcome.CHANGED),
        (40, 206, "bytes 40-99/100", 60, WriteFrom(40)),
        (40, 206, "bytes 39-99/100", 61, ReplyOutcome.DISCARD),
        (40, 206, "bytes 40-99/101", 60, ReplyOutcome.CHANGED),
        (40, 206, "bytes 40-99/*", 60, ReplyOutcome.DISCARD),
        (40, 206, None, 60, ReplyOutcome.DISCARD),
        (40, 206, "bytes */100", 60, ReplyOutcome.DISCARD),
        (100, 416, "bytes */100", 0, ReplyOutcome.DONE),
        (100, 416, None, 0, ReplyOutcome.DONE),
        (40, 416, "bytes */100", 0, ReplyOutcome.DISCARD),
        (40, 416, "bytes */40", 0, ReplyOutcome.CHANGED),
        (40, 404, None, 0, ReplyOutcome.GONE),
        (40, 401, None, 0, ReplyOutcome.GONE),
        (40, 403, None, 0, ReplyOutcome.GONE),
        (40, 503, None, 0, ReplyOutcome.RETRY),
        (40, 429, None, 0, ReplyOutcome.RETRY),
        (40, 302, None, 0, ReplyOutcome.RETRY),
    ],
)
def test_meaning_of_replies(
    have: int,
    status: int,
    content_range: str | None,
    length: int | None,
    action: WriteFrom | ReplyOutcome,
) -> None:
    assert interpret_reply(have, 100, status, content_range, length) == action


def test_only_attempts_without_progress_count() -> None:
    retries = RetryState()
    waits = []
    for _ in range(3):
        retries = retries.after(progress=False)
        waits.append(retries.wait_seconds)
        assert not retries.exhausted
    assert waits == [5, 10, 20]
    assert retries.after(progress=False).exhausted
    fresh = retries.after(progress=True)
    assert (fresh.wait_seconds, fresh.exhausted) == (0, False)
    assert RetryState(6).wait_seconds == RetryState(60).wait_seconds == 120


def test_fewer_connections_after_stalls() -> None:
    assert [connections_after(n) for n in range(8)] == [4, 4, 4, 2, 2, 2, 1, 1]
    assert connections_after(100) == 1


@pytest.mark.parametrize(
    ("now", "last", "begins"),
    [
        # The first time and every night, at the minute.
        (ms(10, 12), None, ms(11, 3, 30)),
        (ms(10, 0), None, ms(10, 3, 30)),
        (ms(10, 2, 10), None, ms(10, 3, 30)),
        (ms(10, 4), None, ms(10, 4)),
        (ms(10, 6), None, ms(11, 3, 30)),
        # Once a night.
        (ms(10, 4), LastRun(ms(10, 3, 30)), ms(11, 3, 30)),
        (ms(10, 1), LastRun(ms(9, 3, 30)), ms(10, 3, 30)),
        (ms(10, 5), LastRun(ms(9, 23)), ms(10, 5)),
        (ms(10, 12), LastRun(ms(10, 11)), ms(11, 3, 30)),
        # After an incomplete month at the given instant, also by day.
        (ms(10, 4), LastRun(ms(10, 3, 30), ms(10, 4, 30)), ms(10, 4, 30)),
        (ms(10, 12), LastRun(ms(10, 11), ms(10, 11, 30)), ms(10, 12)),
        # After an interruption, at once.
        (ms(10, 12), LastRun(ms(10, 11), None, interrupted=True), ms(10, 12)),
        # An instant from a wrong clock is ignored.
        (ms(10, 12), LastRun(ms(20, 11), ms(20, 12)), ms(11, 3, 30)),
    ],
)
def test_when_the_service_searches(now: int, last: LastRun | None, begins: int) -> None:
    assert next_run_ms(now, 90, last) == begins


def test_an_address_as_the_browser_shows_it() -> None:
    assert candidate_folders("https://h.gov.br/index.php/s/AbC1?dir=/Dados/Meus%20CNPJ") == (
        Folder("https://h.gov.br/public.php/webdav/Dados/Meus%20CNPJ/", "AbC1"),
        Folder("https://h.gov.br/public.php/dav/files/AbC1/Dados/Meus%20CNPJ/"),
    )
    assert candidate_folders("https://h/nuvem/s/AbC1/") == (
        Folder("https://h/nuvem/public.php/webdav/", "AbC1"),
        Folder("https://h/nuvem/public.php/dav/files/AbC1/"),
    )
    assert candidate_folders("https://espelho/cnpj") == (
        Folder("https://espelho/cnpj/"),
        Folder("https://espelho/cnpj/", plain=True),
    )


def test_listings() -> None:
    listing = read_multistatus(
        b"<d:multistatus xmlns:d='DAV:'>"
        b"<d:response><d:href>/dav/2026-10/</d:href></d:response>"
        b"<d:response><d:href>https://h/dav/2026-10/A%20b.zip</d:href><d:propstat><d:prop>"
        b"<d:getcontentlength> 12 </d:getcontentlength></d:prop></d:propstat></d:response>"
        b"<d:response><d:href>/c</d:href><d:propstat><d:prop>"
        b"<d:getcontentlength>-1</d:getcontentlength></d:prop></d:propstat></d:response>"
        b"<d:response/></d:multistatus>"
    )
    assert listing == {"2026-10": 0, "A b.zip": 12, "c": 0}
    page = b"<html><a href='../'>up</a><a href='2026-10/'>x</a><a href=/m/Simples.zip?C=N>y</a>"
    assert {"2026-10", "Simples.zip"} <= read_page(page)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"<html xmlns='DAV:'/>",
        b"<!DOCTYPE x [<!ENTITY a 'b'>]><d:multistatus xmlns:d='DAV:'>&a;</d:multistatus>",
        '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE x><x/>'.encode("utf-16"),
        b"<d:multistatus xmlns:d='DAV:'>" + b"<d:x/>" * 400_001 + b"</d:multistatus>",
    ],
    ids=range(6),
)
def test_invalid_listings(body: bytes) -> None:
    with pytest.raises(ShareFailed):
        read_multistatus(body)


def test_an_invalid_page() -> None:
    with pytest.raises(ShareFailed):
        read_page(b"")


def test_states_in_words() -> None:
    at = datetime(2026, 11, 22, tzinfo=UTC)
    half = FetchState("baixando", at, "2026-10", 379, 1000, running=True)
    assert sentence(half) == "Baixando o mês 2026-10: 37%"
    assert FetchState("baixando", at, bytes_done=999, bytes_total=1000).percent == 99
    stopped = FetchState("baixando", at, "2026-10", 379, 1000)
    assert stopped.interrupted
    assert not half.interrupted
    assert "interrompido em 37% do mês 2026-10" in sentence(stopped)
    failed = FetchState("falhou", at, "2026-10", reason="o disco está cheio")
    assert sentence(failed) == "O mês 2026-10 não foi colocado em uso: o disco está cheio"
    nowhere = FetchState("falhou", at, reason="h não responde")
    assert sentence(nowhere) == "Não foi possível procurar um mês: h não responde"
    assert sentence(FetchState("trocado", at, "2026-10")).startswith("O mês 2026-10 foi baixado")
