"""Checks of the CNPJ open data: the month in use, its search index, the next month."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from balcao.core.calendar import civil_day, from_ms, to_ms
from balcao.core.findings import Finding
from balcao.core.questions import Mode
from balcao.core.writing import counted
from balcao.examination.wording import program
from balcao.home import Home
from balcao.opendata.fetching.schedule import ALARM_DAYS
from balcao.opendata.fetching.state import read_state, sentence
from balcao.settings import Settings
from balcao.storage.truncation import is_truncated

if TYPE_CHECKING:
    from balcao.opendata.snapshot import SnapshotInfo


def months(now_ms: Callable[[], int], settings: Settings, home: Home) -> Iterator[Finding]:
    """Report each mode's month, and the download of the next one."""
    today = civil_day(now_ms())
    modes: Sequence[tuple[Mode, str]] = (("live", "mês de produção"), ("test", "mês da sandbox"))
    for mode, name in modes:
        info = month_in_use(home.opendata(mode))
        if info is None:
            wanted = mode == "live" or settings.sandbox_establishments > 0
            remedy = (
                f"baixe e importe um com {program()} opendata fetch"
                if mode == "live"
                else f"será criado no primeiro início de {program()} serve"
            )
            yield Finding("warn" if wanted else "ok", f"nada importado; {remedy}", name)
            continue
        days = (today - info.extraction_date).days
        rows = info.rows.get("Estabelecimentos", 0)
        text = (
            f"extraído em {info.extraction_date:%d/%m/%Y} (há {counted(days, 'dia', 'dias')}),"
            f" {counted(rows, 'estabelecimento', 'estabelecimentos')},"
            f" regime tributário {tax_regimes_note(info)}"
        )
        if mode == "live" and days > ALARM_DAYS:
            remedy = f"{program()} opendata fetch"
            yield Finding("warn", f"{text}; há um mais novo: {remedy}", name)
        else:
            yield Finding("ok", text, name)
        if settings.opendata_search:
            yield _index(home.opendata(mode), mode)
    yield from _download(settings, home)


def _download(settings: Settings, home: Home) -> Iterator[Finding]:
    name, state = "download do mês", read_state(home.opendata("live"))
    if state is not None:
        bad = state.standing == "falhou" or (state.interrupted and not settings.opendata_fetch)
        at = from_ms(to_ms(state.updated_at))
        yield Finding("warn" if bad else "ok", f"{sentence(state)} ({at:%d/%m/%Y %H:%M})", name)
    elif settings.opendata_fetch:
        yield Finding("ok", "o serviço procura um mês novo de madrugada", name)


def _index(store: Path, mode: Mode) -> Finding:
    name = "busca de produção" if mode == "live" else "busca da sandbox"
    option = "" if mode == "live" else " --sandbox"
    index = index_in_use(store)
    if index is not None and is_truncated(index):
        remedy = f"apague e refaça com {program()} opendata search{option}"
        return Finding("fail", f"índice danificado ({index}): {remedy}", name)
    if is_searchable(store):
        return Finding("ok", "índice pronto", name)
    remedy = f"o serviço prepara sozinho, ou use {program()} opendata search{option}"
    return Finding("ok", f"sem índice ainda; {remedy}", name)


def index_in_use(store: Path) -> Path | None:
    """Return the file of the published month's index, complete or not; None: there is none."""
    from balcao.opendata.errors import OpenDataError
    from balcao.opendata.search.index import index_path
    from balcao.opendata.snapshot import current_path

    try:
        path = index_path(current_path(store))
    except OpenDataError:
        return None
    return path if path.is_file() else None


def is_searchable(store: Path) -> bool:
    """Return whether the month in use can be searched."""
    from balcao.opendata.errors import OpenDataError
    from balcao.opendata.search.index import has_index

    try:
        return has_index(store)
    except OpenDataError:
        return False


def tax_regimes_note(info: "SnapshotInfo") -> str:
    """Return whether the month has the optional files of tax regimes."""
    from balcao.opendata.layout import TAX_REGIME_FILES

    if not info.tax_regimes:
        return "não importado"
    missing = [file for file in TAX_REGIME_FILES if file not in info.tax_regimes]
    return f"importado sem {', '.join(missing)}" if missing else "importado"


def month_in_use(store: Path) -> "SnapshotInfo | None":
    """Return the published month's metadata; None when nothing was imported."""
    from contextlib import closing

    from balcao.opendata.store import published

    snapshot = published(store)
    if snapshot is None:
        return None
    with closing(snapshot):
        return snapshot.info()
