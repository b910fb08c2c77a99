"""`/app/operador/fontes/verificar`: test whether a source answers, as `source check` does.

The provider's price is shown first; nothing is charged here, and no certificate is issued.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.responses import Response

from balcao.core.federation import UFS
from balcao.core.ledger import Audit, DoneBefore
from balcao.examination.inventory import SUBJECTS, Inventory
from balcao.examination.inventory.probing import Probe, Result, plan, run
from balcao.settings import Settings
from balcao.web.kit.context import PageContext
from balcao.web.kit.words.vocabulary import SOURCES, Word
from balcao.web.pages.operator.forms import once
from balcao.web.pages.operator.system import WORDS

_PATH = "/app/operador/fontes"


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """The result of one question to a source."""

    what: str
    uf: str
    word: Word
    took_ms: float | None
    text: str


async def show(context: PageContext) -> Response:
    """Show the questions, their cost, and the button."""
    name, uf = context.query("fonte"), _uf(context.query("uf"))
    inventory, probes = await asyncio.to_thread(_planned, context.settings, name, uf)
    if not probes:
        raise context.not_found(
            "Fonte não ativa",
            "Não há fonte ativa com esse nome. Veja as fontes e como ativar cada uma.",
        )
    return _page(context, inventory, probes, name=name, uf=uf)


async def check(context: PageContext) -> Response:
    """Ask the source now. Idempotent per form."""
    signed, name, uf = once(context), context.typed("fonte"), _uf(context.typed("uf"))
    tools = context.tools
    inventory, probes = await asyncio.to_thread(_planned, tools.settings, name, uf)
    if not probes:
        raise context.not_found(
            "Fonte não ativa", "A fonte foi desativada ou não existe. Nada foi feito."
        )
    detail = f"{len(probes)} pergunta(s)" + (f", {uf}" if uf else "")
    entry = Audit(signed, "source.check", None, f"fonte {name}", detail, tools.now_ms())
    if isinstance(await tools.desk.commit([entry]), DoneBefore):
        return _page(
            context,
            inventory,
            probes,
            name=name,
            uf=uf,
            alert="Este formulário já tinha sido enviado. Nada foi consultado de novo.",
        )
    results = await run(probes, tools.settings)
    return _page(
        context,
        inventory,
        probes,
        name=name,
        uf=uf,
        results=[_probed(result) for result in results],
    )


def _planned(settings: Settings, name: str, uf: str) -> tuple[Inventory, Sequence[Probe]]:
    inventory = Inventory(settings, datetime.now(UTC), lambda _: None)
    on = [each for each in inventory.providers if each.name == name]
    return inventory, plan(settings, on, ufs=[uf] if uf else ())


def _page(
    context: PageContext,
    inventory: Inventory,
    probes: Sequence[Probe],
    *,
    name: str,
    uf: str,
    results: Sequence[ProbeRow] | None = None,
    alert: str | None = None,
) -> Response:
    return context.page(
        "operador/verificar.html",
        409 if alert else 200,
        name=name,
        title=SOURCES.get(name, name),
        address=inventory.address(name),
        cost=inventory.probe_cost(name),
        count=len(probes),
        by_uf=any(probe.provider.by_uf for probe in probes),
        uf=uf,
        ufs=UFS,
        results=results,
        path=_PATH,
        alert=alert,
    )


def _probed(result: Result) -> ProbeRow:
    what = ", ".join(
        SUBJECTS[each.subject] + (" com optin=1" if each.full_partners else "")
        for each in result.inquiries
    )
    took = None if result.seconds is None else result.seconds * 1000
    return ProbeRow(what, result.uf or "", WORDS[result.status], took, result.text)


def _uf(text: str) -> str:
    return text if text in UFS else ""
