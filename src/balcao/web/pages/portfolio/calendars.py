"""`/app/carteira/calendarios`: calendars to subscribe to; `/app/calendario/…`: what they send."""

import asyncio
import re
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from balcao.accounts.calendars import FEEDS
from balcao.core.access import SECRET_CHARACTERS
from balcao.core.errors import CallerError
from balcao.core.names import check_name
from balcao.core.paper_words import STATES
from balcao.core.papers import PaperState
from balcao.core.problems import problem_of
from balcao.core.request_tags import reject_cpf
from balcao.storage.desk.wallet.calendars import CALENDARS_MAX, CalendarFilter, StoredCalendar
from balcao.web.kit import filters
from balcao.web.kit.context import PageContext
from balcao.web.pages.portfolio.items import unseen
from balcao.web.pages.portfolio.views import PATH

CALENDARS: Final = f"{PATH}/calendarios"
FEED: Final = f"{FEEDS}/{{name}}"
_TOKEN = re.compile(f"([0-9A-Za-z]{{{SECRET_CHARACTERS}}})\\.ics", re.ASCII)
_NAME_CHARACTERS_MAX = 80
_DONE = {"removido": "Calendário removido. O endereço dele não existe mais."}
_HEADERS: Final[Mapping[str, str]] = {
    "content-type": "text/calendar; charset=utf-8",
    "cache-control": "private, max-age=3600",
    "referrer-policy": "no-referrer",
}
_PLAIN = "text/plain; charset=utf-8"


async def feed(context: PageContext) -> Response:
    """Return a calendar. Its address is the proof: programs that subscribe send no headers."""
    match = _TOKEN.fullmatch(context.request.path_params["name"])
    found = None if match is None else await context.tools.calendars.feed(match[1])
    if found is None:
        return Response("Este calendário não existe.", 404, media_type=_PLAIN)
    body, etag = found
    headers = {**_HEADERS, "etag": etag}
    known = context.request.headers.get("if-none-match", "")
    if etag in {each.strip().removeprefix("W/") for each in known.split(",")}:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers)


async def show(context: PageContext) -> Response:
    """Show the calendars and the form of a new one."""
    typed = {"cliente": context.query("cliente"), "etiqueta": context.query("etiqueta")}
    return await _page(context, typed, message=_DONE.get(context.query("feito")))


async def create(context: PageContext) -> Response:
    """Create a calendar, and show its address, this once."""
    account_id = context.account.account_id
    state = context.typed("estado")
    states: tuple[PaperState, ...] = tuple(each for each in STATES if each == state)
    chosen = CalendarFilter(
        filters.tag(context.form, "cliente"), filters.tag(context.form, "etiqueta"), states
    )
    name = context.typed("nome") or None
    try:
        if name is not None:
            check_name(name, _NAME_CHARACTERS_MAX, "nome")
            reject_cpf(name, "nome")
        _, address = await context.tools.calendars.create(
            account_id, context.person.user.user_id, name, chosen
        )
    except CallerError as error:
        text = problem_of(error).message
        field, colon, rest = text.partition(": ")
        complaint = {field: rest[:1].upper() + rest[1:]} if colon else {"": text}
        return await _page(context, context.form, complaint)
    return await _page(context, {}, address=address)


async def remove(context: PageContext) -> Response:
    """Delete a calendar."""
    number = context.request.path_params["calendar_id"]
    await context.desk.calendars.remove(context.account.account_id, number)
    return context.redirect(CALENDARS, feito="removido")


async def _page(
    context: PageContext,
    typed: Mapping[str, str],
    complaints: Mapping[str, str] | None = None,
    *,
    message: str | None = None,
    address: str | None = None,
) -> Response:
    account_id, wrong = context.account.account_id, complaints or {}
    views = context.desk.portfolio_views
    clients, tags = await asyncio.to_thread(views.names, account_id)
    users = {user.user_id: user.name for user in context.desk.people.users(account_id)}
    return context.page(
        "carteira_calendarios.html",
        422 if wrong else 200,
        calendars=[
            (each, selection_text(each.chosen), _who(each, users))
            for each in context.desk.calendars.of_account(account_id)
        ],
        clients=[("", "todos"), *((one, one) for one in clients)],
        tags=[("", "todas"), *((one, one) for one in tags)],
        states=[("", "todas"), *((state, words) for state, (words, _) in STATES.items())],
        most=CALENDARS_MAX,
        path=CALENDARS,
        typed=typed,
        complaints=wrong,
        alert=wrong.get(""),
        message=message,
        address=address,
        unseen=await unseen(context),
    )


def selection_text(chosen: CalendarFilter) -> str:
    """Return the selection of a calendar in words."""
    parts = [
        chosen.client and f"cliente {chosen.client}",
        chosen.tag and f"etiqueta {chosen.tag}",
        chosen.states and STATES[chosen.states[0]][0].lower(),
    ]
    return ", ".join(part for part in parts if part) or "todas as certidões"


def _who(calendar: StoredCalendar, users: Mapping[int, str]) -> str:
    if calendar.user_id is None:
        return "por uma chave de API"
    return users.get(calendar.user_id, f"usuário {calendar.user_id}")
