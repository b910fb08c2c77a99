"""`/app/carteira/certidoes/renovar`: what the ticked certificates would cost, and the purchase."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from balcao.batches.paper_purchases import GREATEST_PRICE
from balcao.core.errors import CallerError, CertificatesNotEnabled, IdempotencyKeyReused
from balcao.core.paper_words import KINDS
from balcao.core.papers import BOUGHT_BY, PaperKind
from balcao.core.problems import problem_of
from balcao.http.authenticator import must_wait
from balcao.storage.desk.wallet.paper_list import PaperFilter
from balcao.web.kit.context import PageContext
from balcao.web.kit.lookups.asking import outside_the_plan, suspended
from balcao.web.pages.portfolio.paper_views import CERTIFICATES
from balcao.web.pages.portfolio.selection import chosen_of

TICKED: Final = "p_"
RENEW: Final = f"{CERTIFICATES}/renovar"
_BATCHES: Final = "/app/lotes"
_FIELDS: Final = ("ver", "dia", "cliente", "etiqueta", "tipo")
_NONE_TICKED = "Selecione ao menos uma certidão, ou renove todas as da lista."
_NOTHING = "Nenhuma das certidões escolhidas pode ser renovada por consulta."


@dataclass(frozen=True, slots=True)
class KindToRenew:
    """The certificates of one kind, which become one batch."""

    kind: PaperKind
    count: int

    @property
    def title(self) -> str:
        return KINDS[self.kind]

    @property
    def most(self) -> int:
        """The highest possible price, in credits."""
        return self.count * GREATEST_PRICE


async def preview(context: PageContext) -> Response:
    """Show what would be bought; nothing is bought yet."""
    if context.account.suspended_ms is not None:
        return suspended(context)
    if not context.account.has_certificates:
        return outside_the_plan(context)
    chosen, ids = _chosen(context)
    if chosen is None:
        return context.problem(422, "Nenhuma certidão escolhida", _NONE_TICKED)
    return await _page(context, chosen, ids)


async def renew(context: PageContext) -> Response:
    """Begin a batch for each kind, up to the price that was shown."""
    if context.account.suspended_ms is not None:
        return suspended(context)
    chosen, ids = _chosen(context)
    tools, caller = context.tools, context.person.caller()
    form_id = context.signature(context.typed("form_id")).form_id
    wanted = [(kind, most) for kind in BOUGHT_BY if (most := _ceiling(context, kind))]
    if chosen is None or form_id is None or not wanted:
        return context.problem(422, "Formulário alterado", "Nada foi consultado. Tente de novo.")
    made: list[str] = []
    try:
        for kind, ceiling in wanted:
            verdicts = await tools.authenticator.count(caller, tools.now_ms())
            if (limited := must_wait(verdicts)) is not None:
                raise limited
            batch = await tools.purchases.buy(
                caller, kind, chosen, ceiling, idempotency_key=f"web-{form_id}-{kind}"
            )
            made.append(batch.batch_id)
    except IdempotencyKeyReused:  # pressed twice, and a certificate has changed since
        return context.redirect(_BATCHES)
    except CertificatesNotEnabled:
        return outside_the_plan(context)
    except CallerError as error:
        if made:
            return context.redirect(_BATCHES)
        problem = problem_of(error)
        status = 422 if problem.status == 400 else problem.status
        return await _page(context, chosen, ids, status, problem.message)
    return context.redirect(f"{_BATCHES}/{made[0]}" if len(made) == 1 else _BATCHES)


async def _page(
    context: PageContext,
    chosen: PaperFilter,
    ids: Sequence[str],
    status: int = 200,
    alert: str | None = None,
) -> Response:
    counts = await context.tools.purchases.counts(context.account.account_id, chosen)
    kinds = [KindToRenew(kind, count) for kind, count in counts.items()]
    if not kinds:
        return context.problem(422, "Nada a renovar", _NOTHING)
    return context.page(
        "carteira_renovar.html",
        status,
        kinds=kinds,
        count=sum(each.count for each in kinds),
        most=sum(each.most for each in kinds),
        available=context.available,
        ids=" ".join(ids),
        fields=_selection(context),
        address=RENEW,
        back=CERTIFICATES,
        alert=alert,
    )


def _chosen(context: PageContext) -> tuple[PaperFilter | None, Sequence[str]]:
    """Return the selection of the form, and the ids of certificates that were ticked."""
    ids = [name.removeprefix(TICKED) for name in context.form if name.startswith(TICKED)]
    ids += context.typed("papeis").split()
    if context.typed("quais") == "todas":
        return chosen_of(context, context.form).filter, ()
    if not ids:
        return None, ()
    return PaperFilter(papers=tuple(dict.fromkeys(ids))), ids


def _selection(context: PageContext) -> Mapping[str, str]:
    """Return the fields of the selection that a form repeats."""
    kept = {name: context.typed(name) for name in (*_FIELDS, "quais")}
    return {name: text for name, text in kept.items() if text}


def _ceiling(context: PageContext, kind: PaperKind) -> int:
    text = context.typed(f"teto_{kind}")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
