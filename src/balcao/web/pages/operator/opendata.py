"""`/app/operador/dados-abertos`: imported months, progress of an import, and rollback."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog
from markupsafe import Markup
from starlette.responses import Response

from balcao.core.calendar import civil_day, to_ms
from balcao.core.ledger import Audit, DoneBefore
from balcao.core.notices import Tone
from balcao.core.questions import Mode
from balcao.opendata.errors import OpenDataError
from balcao.opendata.fetching.state import FetchState, read_state, sentence
from balcao.opendata.importer import rollback
from balcao.opendata.progress_file import ImportProgress, read_progress
from balcao.opendata.store import Month, months
from balcao.web.kit.context import PageContext
from balcao.web.kit.drawing import meter
from balcao.web.kit.month_age import MonthAge
from balcao.web.kit.tools import Tools
from balcao.web.kit.words.vocabulary import MODES
from balcao.web.pages.operator import requested
from balcao.web.pages.operator.forms import once

log = structlog.get_logger()

_PATH = "/app/operador/dados-abertos"

_DONE: Mapping[str, str] = {
    "voltou": (
        "O mês anterior está em uso de novo. O mais novo continua no disco, mas só volta a ser"
        " usado se for importado outra vez."
    ),
    "pedido": "Busca do mês iniciada. O andamento aparece abaixo.",
    "ja": "Este formulário já tinha sido enviado. Nada foi feito de novo.",
}
_CHANGED_MEANWHILE = (
    "Nada foi feito. O mês em uso não é mais o que a página mostrava, ou não há um mês anterior"
    " guardado. Confira os meses abaixo."
)


@dataclass(frozen=True, slots=True)
class DownloadView:
    """The download progress of the next month, for the page."""

    state: FetchState
    bar: Markup | None
    updated_ms: int

    @property
    def sentence(self) -> str:
        return f"{sentence(self.state)}."

    @property
    def tone(self) -> Tone:
        if self.state.standing == "falhou":
            return "bad"
        return "warn" if self.state.interrupted else "info"


@dataclass(frozen=True, slots=True)
class MonthsView:
    """One mode's months and its last import, for the page."""

    mode: Mode
    name: str
    months: Sequence[Month]
    current: Month | None  # None: no month is in use
    age: MonthAge | None  # of the current month
    target: Month | None  # the target of a rollback
    progress: ImportProgress | None
    bar: Markup | None
    updated_ms: int | None
    fetching: DownloadView | None = None  # only of live months

    @property
    def is_running(self) -> bool:
        """Whether an import or a download is running."""
        importing = self.progress is not None and self.progress.state == "running"
        return importing or (self.fetching is not None and self.fetching.state.running)


async def show(context: PageContext) -> Response:
    """Show the months of both modes; to a script, only the part that changes during an import."""
    return await _shown(context)


async def fetch(context: PageContext) -> Response:
    """Request the download and import of the newest month."""
    problem = await requested.request(context, "opendata_fetch")
    return await _shown(context, problem) if problem else context.redirect(_PATH, feito="pedido")


async def _shown(context: PageContext, alert: str | None = None) -> Response:
    fetching = await requested.status_of(context, "opendata_fetch")
    stores = [await _store(context.tools, mode) for mode in MODES]
    comparison = await context.tools.desk.months.last_comparison()
    return context.page(
        "operador/_dados_abertos.html" if context.is_fragment else "operador/dados_abertos.html",
        409 if alert else 200,
        stores=stores,
        comparison=comparison,
        every="3s" if fetching.running or any(one.is_running for one in stores) else "30s",
        requested=fetching,
        message=_DONE.get(context.query("feito")),
        alert=alert,
    )


async def _store(tools: Tools, mode: Mode) -> MonthsView:
    folder, today = tools.store(mode), civil_day(tools.now_ms())
    progress, found, state = await asyncio.to_thread(
        lambda: (read_progress(folder), months(folder), read_state(folder))
    )
    current = next((month for month in found if month.current), None)
    share = None if progress is None else progress.share
    return MonthsView(
        mode,
        MODES[mode],
        found,
        current,
        None if current is None else MonthAge(current.extraction_date, today),
        next((month for month in found if month.rollback_target), None),
        progress,
        None if share is None else meter(share, "Andamento da fase"),
        None if progress is None else to_ms(progress.updated_at),
        None if state is None else _fetched(state),
    )


def _fetched(state: FetchState) -> DownloadView:
    share = state.percent / 100 if state.standing == "baixando" else None
    bar = None if share is None else meter(share, "Andamento do download")
    return DownloadView(state, bar, to_ms(state.updated_at))


def _mode(text: str) -> Mode:
    return "test" if text == "test" else "live"


async def ask_to_go_back(context: PageContext) -> Response:
    """Ask for confirmation before a rollback."""
    store = await _store(context.tools, _mode(context.query("ambiente")))
    if store.current is None or store.target is None:
        return await _shown(context, "Não há um mês anterior guardado.")
    now, then = store.current.name, store.target.name
    return context.page(
        "operador/confirmar.html",
        question=f"Voltar ao mês de {then}?",
        consequences=(
            f"O mês de {now}, em uso nas contas de {store.name}, deixa de responder.",
            f"As consultas passam a usar os dados de {then}, importados antes.",
            f"O mês de {now} continua no disco, mas só volta a ser usado se for importado outra"
            " vez.",
        ),
        fields=[("ambiente", store.mode), ("de", store.current.edition.file_name)],
        button="Voltar ao mês anterior",
        href=f"{_PATH}/voltar",
        back=_PATH,
        crumbs=(("Dados abertos", _PATH), ("Voltar ao mês anterior", None)),
    )


async def go_back(context: PageContext) -> Response:
    """Publish the previous month, if the one in use is still the one that was shown.

    The log is written first: files and log cannot be committed together, and an action without its
    entry would be worse than an entry followed by one of the failure.
    """
    signed, tools = once(context), context.tools
    mode = _mode(context.typed("ambiente"))
    store = await _store(tools, mode)
    shown, target = context.typed("de"), store.target
    current = store.current
    if current is None or target is None or current.edition.file_name != shown:
        return await _shown(context, _CHANGED_MEANWHILE)
    what = f"dados abertos de {MODES[mode]}"
    detail = f"de {current.name} para {target.name}"
    entry = Audit(signed, "opendata.rollback", None, what, detail, tools.now_ms())
    if isinstance(await tools.desk.commit([entry]), DoneBefore):
        return context.redirect(_PATH, feito="ja")
    try:
        await asyncio.to_thread(rollback, tools.store(mode))
    except (OpenDataError, OSError) as error:
        log.warning("opendata.rollback_failed", mode=mode, error=type(error).__name__)
        undone = f"não foi feito: {type(error).__name__}"
        entry = Audit(context.signature(), "opendata.rollback", None, what, undone, tools.now_ms())
        await tools.desk.commit([entry])
        return await _shown(context, "O mês anterior não pôde ser aberto. Nada foi alterado.")
    return context.redirect(_PATH, feito="voltou")
