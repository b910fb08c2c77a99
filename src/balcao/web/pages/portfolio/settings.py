"""`/app/carteira/avisos`: who is sent e-mails and when, the ceiling, and rechecks. For managers."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from starlette.responses import Response

from balcao.core.budgets import CEILING_MAX
from balcao.core.errors import CallerError, FormDone, InvalidParameter
from balcao.core.people import User
from balcao.core.problems import problem_of
from balcao.core.wallet import (
    Recheck,
    Renewal,
    WalletSettings,
    check_notices,
    check_recheck,
    check_renewal,
)
from balcao.core.writing import whole
from balcao.web.kit.context import PageContext
from balcao.web.kit.typed import whole_number
from balcao.web.pages.portfolio.clock_views import clock_shown
from balcao.web.pages.portfolio.items import unseen
from balcao.web.pages.portfolio.views import SETTINGS

_DONE = {
    "salvo": "Avisos salvos.",
    "ja": "Este formulário já tinha sido enviado. Nada foi feito de novo.",
    "relogio": "O relógio está avançando. Esta página mostra quando ele chega.",
    "real": "A carteira voltou à hora real.",
}
AT_ONCE: Final = (
    ("nao", "Não", "tudo vai no resumo"),
    ("de_dia", "Das 7h às 22h", "os da noite são enviados às 7h"),
    ("sempre", "A qualquer hora", None),
)
_PERSON = "pessoa_"
_DAYS_MAX = 90


async def show(context: PageContext) -> Response:
    """Show the settings."""
    return await show_with(context, {})


async def show_with(context: PageContext, complaints: Mapping[str, str]) -> Response:
    """Show the settings as they are, with complaints about another form of the page."""
    settings = context.desk.wallets.settings(context.account.account_id)
    notices = settings.notices
    ceiling = context.desk.wallets.ceiling(context.account.account_id, context.now_ms())
    typed = {
        "resumo_as": notices.resumo_as or "",
        "imediatos": notices.imediatos,
        "teto": str(ceiling) if ceiling else "",
        "reconsultar": str(settings.recheck.a_cada_dias) if settings.recheck else "",
        "avisos_dias": ", ".join(map(str, notices.dias)),
        **_renewal_fields(settings.renew),
        **{f"{_PERSON}{user_id}": "1" for user_id in notices.pessoas},
    }
    return await _page(context, typed, complaints, message=_DONE.get(context.query("feito")))


async def change(context: PageContext) -> Response:
    """Change the settings."""
    ceiling, days, complaints = _numbers(context)
    noticed, renewal = _notice_days(context, complaints), _renewal(context, complaints)
    if complaints:
        return await _page(context, context.form, complaints)
    people = tuple(
        user.user_id for user in _people(context) if context.typed(f"{_PERSON}{user.user_id}")
    )

    def edit(before: WalletSettings) -> WalletSettings:
        changes: dict[str, Any] = {
            "resumo_as": context.typed("resumo_as")[:5] or None,
            "imediatos": context.typed("imediatos"),
            "pessoas": people,
            "dias": before.notices.dias if noticed is None else noticed,
        }
        if changes["imediatos"] not in {value for value, *_ in AT_ONCE}:
            raise InvalidParameter("avisos.imediatos: escolha um.")
        notices = msgspec.structs.replace(before.notices, **changes)
        check_notices(notices)
        recheck = before.recheck
        if days is None:
            recheck = None
        elif recheck is None or recheck.a_cada_dias != days:
            recheck = Recheck(days, None if recheck is None else recheck.assuntos)
            check_recheck(recheck, "reconsultar_padrao")
        return msgspec.structs.replace(before, notices=notices, recheck=recheck, renew=renewal)

    account_id, now = context.account.account_id, context.now_ms()
    wallets, tools = context.desk.wallets, context.tools
    # Who sets the ceiling is the buyer from then on: an unchanged one is left alone.
    new = None if ceiling == wallets.ceiling(account_id, now) else ceiling
    signed = context.signature(context.typed("form_id"))
    try:
        await wallets.change_settings(account_id, edit, new, tools.new_id, signed, now)
    except FormDone:
        return context.redirect(SETTINGS, feito="ja")
    except CallerError as error:
        return await _page(context, context.form, _complaint(error))
    return context.redirect(SETTINGS, feito="salvo")


def _numbers(context: PageContext) -> tuple[int, int | None, dict[str, str]]:
    """Return the ceiling, the days between rechecks (None: never), and complaints."""
    complaints = {}
    ceiling = whole_number(context.typed("teto") or "0")
    if ceiling is None or not 0 <= ceiling <= CEILING_MAX:
        complaints["teto"] = f"Informe um número de 0 a {whole(CEILING_MAX)}."
    days = None
    if text := context.typed("reconsultar"):
        days = whole_number(text)
        if days is None or not 1 <= days <= _DAYS_MAX:
            complaints["reconsultar"] = f"Informe um número de 1 a {_DAYS_MAX}, ou deixe vazio."
    return ceiling or 0, days, complaints


def _notice_days(context: PageContext, complaints: dict[str, str]) -> tuple[int, ...] | None:
    """Return the days left in which a last day is noticed; None: the form has none."""
    if "avisos_dias" not in context.form:
        return None
    texts = [text for text in re.split(r"[,;\s]+", context.typed("avisos_dias")) if text]
    days = tuple(number for text in texts if (number := whole_number(text)) is not None)
    if len(days) < len(texts):
        complaints["avisos_dias"] = "Informe números de dias, como 10, 5, 1."
    return tuple(sorted(days, reverse=True))


def _renewal_fields(renewal: Renewal | None) -> Mapping[str, str]:
    """Return the fields of a renewal; those of the usual one, unticked, if there is none."""
    shown = renewal or Renewal()
    begins, _, ends = shown.janela.partition("-")
    return {
        "renovar": "1" if renewal else "",
        "dias_antes": str(shown.dias_antes),
        "janela_de": begins,
        "janela_ate": ends,
        "dias_uteis": "1" if shown.dias_uteis else "",
    }


def _renewal(context: PageContext, complaints: dict[str, str]) -> Renewal | None:
    if not context.typed("renovar"):
        return None
    renewal = Renewal(
        whole_number(context.typed("dias_antes")) or 0,
        f"{context.typed('janela_de')[:5]}-{context.typed('janela_ate')[:5]}",
        bool(context.typed("dias_uteis")),
    )
    try:
        check_renewal(renewal, "renovar")
    except InvalidParameter as error:
        complaints |= _complaint(error)
    return renewal


def _complaint(error: CallerError) -> dict[str, str]:
    text = problem_of(error).message
    field, colon, rest = text.partition(": ")
    name = "avisos_dias" if field == "avisos.dias" else field.rpartition(".")[2]
    return {name: rest[:1].upper() + rest[1:]} if colon else {"": text}


def _people(context: PageContext) -> Sequence[User]:
    """Return the people who may be chosen: the account's users, and operators with a membership."""
    account_id, desk = context.account.account_id, context.desk
    own = [user for user in desk.people.users(account_id) if user.suspended_ms is None]
    others = [
        user
        for each in desk.memberships.within(account_id)
        if (user := desk.people.user(each.user_id)) is not None and user.suspended_ms is None
    ]
    return [*own, *others]


async def _page(
    context: PageContext,
    typed: Mapping[str, str],
    complaints: Mapping[str, str],
    message: str | None = None,
) -> Response:
    return context.page(
        "carteira_avisos.html",
        422 if complaints else 200,
        people=_people(context),
        typed=typed,
        complaints=complaints,
        at_once=AT_ONCE,
        idle=not complaints
        and bool(typed.get("renovar") or typed.get("reconsultar"))
        and not typed.get("teto"),
        sends=context.tools.outbox is not None,
        message=message,
        alert=complaints.get(""),
        unseen=await unseen(context),
        clock=await clock_shown(context),
    )
