"""`/carteira/v1/calendarios`: calendars of certificates for other programs (contract 20.7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

import msgspec

from balcao.accounts.calendars import PaperCalendars
from balcao.core import errors
from balcao.core.access import Caller
from balcao.core.budgets import iso_instant
from balcao.core.described import described, doc
from balcao.core.names import check_name
from balcao.core.papers import PaperState
from balcao.core.request_tags import reject_cpf
from balcao.core.wallet import label_of
from balcao.http.contents import Json, RequestBody
from balcao.http.creating import CREATION_KEY, Creation
from balcao.http.json_bodies import (
    ITEMS_MAX,
    ITEMS_USUAL,
    JSON_BODY,
    PAGE_PARAMETERS,
    body_of,
    free_answer,
    id_cursor,
    limit_of,
)
from balcao.http.paper_types import PAPER_STATES
from balcao.http.read import Request
from balcao.http.routes import Answer
from balcao.http.texts import UUID_SCHEMA, WHEN
from balcao.http.wallet_requests import (
    ADDRESS,
    CREATING,
    WRITING,
    WalletRoute,
    caller_of,
    client_of,
    needs_client,
)
from balcao.lookup.context import Parts
from balcao.operations.parameters import Parameter, Parameters
from balcao.storage.desk.recorded_answer import MakeAnswer
from balcao.storage.desk.wallet.calendars import CALENDARS_MAX, CalendarFilter, StoredCalendar

NAME_CHARACTERS_MAX: Final = 80
CALENDARS: Final = f"{ADDRESS}/calendarios"

_WHEN = "2026-08-08T10:15:30.120-03:00"
_NUMBER = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6d5"

# A new calendar and its address, None in the answer to a repetition.
MadeCalendar: TypeAlias = tuple[StoredCalendar, str | None]


@described("FiltroDeCertidoes", "Só as certidões que atendem a todos os campos informados.")
class PaperFilterBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A selection of certificates."""

    cliente: Annotated[str | None, doc("Dos itens deste cliente.")] = None
    etiqueta: Annotated[str | None, doc("Dos itens com esta etiqueta.")] = None
    estado: Annotated[str | None, doc("Neste estado.", enum=[*PAPER_STATES, None])] = None


@described("NovoCalendario", "Um calendário.")
class NewCalendarBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The body that creates a calendar."""

    nome: Annotated[
        str | None, doc("O nome que os programas mostram.", maxLength=NAME_CHARACTERS_MAX)
    ] = None
    filtro: Annotated[PaperFilterBody | None, doc("Nulo: todas as certidões.")] = None


@described("Calendario", "Um calendário.")
class CalendarAnswer(msgspec.Struct, frozen=True):
    """A calendar."""

    id: Annotated[str, doc("Identificador do calendário.", format="uuid")]
    nome: Annotated[str | None, doc("O nome.")]
    filtro: Annotated[PaperFilterBody | None, doc("Nulo: todas as certidões.")]
    endereco: Annotated[
        str | None,
        doc("O endereço a assinar. Só na resposta que o criou. Quem o tem vê os vencimentos."),
    ]
    criado_em: Annotated[str, doc("Quando foi criado.", **WHEN)]


@described("RespostaCalendarios", "Uma página de calendários.")
class CalendarsAnswer(msgspec.Struct, frozen=True):
    """A page of calendars."""

    itens: Annotated[Sequence[CalendarAnswer], doc("Os calendários, do mais antigo ao mais novo.")]
    cursor: Annotated[str | None, doc("Cursor da página seguinte. Nulo na última.")]


_EXAMPLE = CalendarAnswer(
    _NUMBER, "Certidões da loja 7", PaperFilterBody(cliente="loja-7"), None, _WHEN
)
_NEW = msgspec.structs.replace(
    _EXAMPLE,
    endereco=(
        "https://balcao.exemplo.com.br/app/calendario/"
        "exemploExemploExemploExemploExemploExemplo0.ics"
    ),
)
_ID = Parameter("id", "O `id` do calendário.", UUID_SCHEMA, place="path", required=True)
_NAMED = "RespostaCalendario", "Um calendário."


@dataclass(frozen=True, slots=True)
class WalletCalendarRoutes:
    """The routes of calendars."""

    parts: Parts
    calendars: PaperCalendars

    @WalletRoute(
        CALENDARS,
        "carteira_calendarios",
        id="calendarios",
        summary="Listar calendários",
        text="Os calendários da conta, sem os endereços.",
        parameters=PAGE_PARAMETERS,
        gives=[Json(CalendarsAnswer([_EXAMPLE], None), envelope=True)],
        problems=(errors.InvalidParameter, errors.RepeatedParameter, errors.StorageFailed),
    )
    async def list_calendars(self, request: Request) -> Answer:
        """Return a page of the calendars that the key may see."""
        sent = Parameters(request.query, request.headers, ("limite", "cursor"))
        limit = limit_of(sent.text("limite"), ITEMS_USUAL, ITEMS_MAX)
        after = id_cursor(sent.text("cursor")) or ""
        seen = self._seen(request)
        found = [each for each in seen if each.calendar_id > after]
        cursor = found[limit - 1].calendar_id if len(found) > limit else None
        return free_answer(CalendarsAnswer([answer_of(each) for each in found[:limit]], cursor))

    @WalletRoute(
        CALENDARS,
        "carteira_calendarios",
        method="POST",
        body=JSON_BODY,
        id="criar_calendario",
        summary="Criar calendário",
        text=(
            "Um calendário com o último dia de cada certidão da carteira, para assinar em outro"
            f" programa (iCalendar). O endereço é secreto e só aparece nesta resposta. Até"
            f" {CALENDARS_MAX} por conta. CPFs e nomes de pessoas não aparecem: só a `ref`"
            " do item."
        ),
        parameters=(CREATION_KEY,),
        takes=RequestBody(
            [Json(NewCalendarBody("Certidões da loja 7", PaperFilterBody(cliente="loja-7")))]
        ),
        gives=[Json(_NEW, *_NAMED, envelope=True)],
        status=201,
        problems=(
            *WRITING,
            *CREATING,
            errors.TagWithCpf,
            errors.ClientRequired,
            errors.TooManyCalendars,
        ),
    )
    async def create(self, request: Request) -> Answer:
        """Create a calendar."""
        caller, body = caller_of(request), body_of(request, NewCalendarBody)
        name = checked_name(body.nome)
        chosen = chosen_by(request, caller, body.filtro)

        async def make(keep: MakeAnswer[MadeCalendar]) -> MadeCalendar:
            return await self.calendars.create(
                caller.account_id, None, name, chosen, lambda made: keep((made, None))
            )

        return await Creation(self.parts).once(
            request, make, lambda made: free_answer(answer_of(*made), 201)
        )

    @WalletRoute(
        f"{CALENDARS}/{{id}}",
        "carteira_calendario",
        method="DELETE",
        id="remover_calendario",
        summary="Remover calendário",
        text="O endereço deixa de existir (404).",
        parameters=(_ID,),
        gives=[Json(_EXAMPLE, *_NAMED, envelope=True)],
        problems=(errors.CalendarNotFound, errors.StorageFailed, errors.CommitUncertain),
    )
    async def remove(self, request: Request) -> Answer:
        """Delete a calendar, and return it as it was."""
        if request.rest not in {each.calendar_id for each in self._seen(request)}:
            raise errors.CalendarNotFound
        removed = await self.parts.desk.calendars.remove(request.account_id, request.rest)
        return free_answer(answer_of(removed))

    def _seen(self, request: Request) -> Sequence[StoredCalendar]:
        """Return the calendars that the key may see: a client's, if it must name one."""
        found = self.parts.desk.calendars.of_account(request.account_id)
        if not needs_client(caller_of(request)):
            return found
        client = client_of(request)
        return [each for each in found if each.chosen.client == client]


def chosen_by(request: Request, caller: Caller, sent: PaperFilterBody | None) -> CalendarFilter:
    """Return the selection of a body; of a key that must name a client, that of one.

    Raises `InvalidParameter`, `TagWithCpf`, `ClientRequired`.
    """
    body = sent or PaperFilterBody()
    client = None if body.cliente is None else label_of(body.cliente, "filtro.cliente")
    tag = None if body.etiqueta is None else label_of(body.etiqueta, "filtro.etiqueta")
    if client is None and needs_client(caller):
        client = client_of(request)
    states: tuple[PaperState, ...] = ()
    if body.estado is not None:
        states = tuple(state for state in PAPER_STATES if state == body.estado)
        if not states:
            raise errors.InvalidParameter(f"filtro.estado: um de {', '.join(PAPER_STATES)}.")
    return CalendarFilter(client, tag, states)


def checked_name(name: str | None) -> str | None:
    """Return the name of a calendar. Raises `InvalidParameter`, `TagWithCpf`."""
    text = (name or "").strip()
    if not text:
        return None
    check_name(text, NAME_CHARACTERS_MAX, "nome")
    reject_cpf(text, "nome")
    return text


def answer_of(calendar: StoredCalendar, address: str | None = None) -> CalendarAnswer:
    """Return the API's representation of a calendar."""
    chosen = calendar.chosen
    state = chosen.states[0] if chosen.states else None
    body = PaperFilterBody(chosen.client, chosen.tag, state)
    return CalendarAnswer(
        calendar.calendar_id,
        calendar.name,
        None if body == PaperFilterBody() else body,
        address,
        iso_instant(calendar.created_ms) or "",
    )
