""" "Was I charged?": balance, consumption and single operations of the caller's own account.

`/conta/v1/saldo`, `/conta/v1/consumo`, `/conta/v1/operacoes/{request_id}`, and those of a reference
or an Idempotency-Key. No credits, the same key and limits as the lookups. Money is the ledger's:
nothing is counted anywhere else.
"""

import asyncio
import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import msgspec

from balcao.accounts.statement import COLUMNS, DAYS_MAX, Choice, Period, line_of, read_day
from balcao.core import idempotency
from balcao.core.access import names_of_keys
from balcao.core.batches import row_of_key
from balcao.core.calendar import civil_day, civil_month, from_ms
from balcao.core.csv_table import as_csv
from balcao.core.errors import InvalidParameter, OperationNotFound
from balcao.core.ledger import available_credits, spent_credits
from balcao.http.json_bodies import id_cursor, limit_of
from balcao.http.read import Request
from balcao.http.routes import Route
from balcao.http.write import Headers
from balcao.operations import tariff
from balcao.operations.parameters import Parameters
from balcao.storage.contract import Consultation
from balcao.storage.desk.desk import Desk

PREFIX = "/conta/v1/"

OPERATION_DAYS = 90  # an operation is answered for this long
LINES_MAX = 100_000  # of a consumption by reference
PAGE_DEFAULT, PAGE_MAX = 100, 1_000

_STATES: Mapping[str, str] = {
    "running": "em_andamento",
    "charged": "cobrada",
    "free": "nao_cobrada",
}
_LIST_NAMES = ("idempotency_key", "referencia", "limite", "cursor")
_CONSUMPTION_NAMES = ("de", "ate", "formato", "cliente", "agrupar")
_JSON = (b"content-type", b"application/json; charset=utf-8")
_CSV = (b"content-type", b"text/csv; charset=utf-8")
# The forms of the consumption, as they are named in the query and in Accept; the first is usual.
_FORMS: Mapping[bytes, str] = {b"application/json": "json", b"text/csv": "csv"}
_VARY = (b"vary", b"accept, accept-encoding")
_NO_STORE = (b"cache-control", b"no-store")

_encode = msgspec.json.Encoder().encode

Answer = tuple[int, Headers, bytes]


@dataclass(frozen=True, slots=True)
class Books:
    """The addresses, over the desk."""

    desk: Desk
    now_ms: Callable[[], int]

    def routes(self) -> Sequence[Route]:
        """What the front serves."""
        return (
            Route(f"{PREFIX}saldo", "saldo", self.balance, needs_key=True),
            Route(f"{PREFIX}consumo", "consumo", self.consumption, needs_key=True),
            Route(f"{PREFIX}operacoes", "operacoes", self.operations, needs_key=True),
            Route(f"{PREFIX}operacoes/{{request_id}}", "operacoes", self.operation, needs_key=True),
        )

    async def balance(self, request: Request) -> Answer:
        """What the account may still spend, now."""
        account = self.desk.account(request.account_id)
        month = civil_month(self.now_ms())
        postpaid = account.plan == "pos_pago"
        return _json(
            {
                "conta": account.name,
                "plano": account.plan,
                "modo": account.mode,
                "saldo_creditos": None if postpaid else account.balance_credits,
                "creditos_reservados": account.held_credits,
                "creditos_disponiveis": available_credits(account, month),
                "teto_mensal_creditos": account.ceiling_credits,
                "mes": month,
                "creditos_gastos_no_mes": spent_credits(account, month),
            }
        )

    async def operation(self, request: Request) -> Answer:
        """State, charge and its reason, of one request of this account."""
        try:
            request_id = str(UUID(request.rest))
        except ValueError:
            raise OperationNotFound from None
        found = self.desk.operation(request.account_id, request_id)
        if found is None or found.opened_ms < self._oldest_ms():
            raise OperationNotFound
        return _json(_told(found, self._names(request.account_id)))

    async def operations(self, request: Request) -> Answer:
        """The same of those of a reference, or of the one under a key (decisions 11.2)."""
        parameters = Parameters(request.query, request.headers, _LIST_NAMES)
        key, reference = parameters.text("idempotency_key"), parameters.text("referencia")
        limit = limit_of(parameters.text("limite"), PAGE_DEFAULT, PAGE_MAX)
        before_id = id_cursor(parameters.text("cursor"))
        account_id, oldest_ms = request.account_id, self._oldest_ms()
        found: Sequence[Consultation] = ()
        if key:
            one = await self._under_key(account_id, key)
            if one is not None and reference in (None, "", one.reference):
                found = [one] if before_id is None or one.request_id < before_id else ()
        elif reference:
            found = await asyncio.to_thread(
                self.desk.operations_referred,
                account_id,
                reference,
                oldest_ms,
                limit + 1,
                before_id,
            )
        else:
            raise InvalidParameter("Informe idempotency_key ou referencia.")
        names = self._names(account_id)
        shown = [each for each in found[:limit] if each.opened_ms >= oldest_ms]
        return _json(
            {
                "itens": [_told(each, names) for each in shown],
                "cursor": found[limit - 1].request_id if len(found) > limit else None,
            }
        )

    async def _under_key(self, account_id: int, key: str) -> Consultation | None:
        """The request of this key; of a row of a batch, that which asked about it."""
        row = row_of_key(key)
        if row is not None:
            number = await self.desk.batches.request_of(account_id, *row)
            if number is not None:
                return self.desk.operation(account_id, number)
        digest = idempotency.digest(key)
        return await asyncio.to_thread(self.desk.operation_under_key, account_id, digest)

    def _oldest_ms(self) -> int:
        return self.now_ms() - OPERATION_DAYS * 86_400_000

    async def consumption(self, request: Request) -> Answer:
        """What was charged, by day, operation, key, origin and client; JSON or CSV.

        `formato` says which; without it the header Accept does. `agrupar=referencia`: by reference
        too; `cliente`: of one of them.
        """
        parameters = Parameters(request.query, request.headers, _CONSUMPTION_NAMES)
        period = self._period(parameters)
        group = parameters.text("agrupar") or ""
        if group.lower() not in ("", "referencia"):
            raise InvalidParameter("O parâmetro agrupar deve ser referencia, ou ficar de fora.")
        form = (parameters.text("formato") or _FORMS[request.preferred([*_FORMS])]).lower()
        if form not in _FORMS.values():
            raise InvalidParameter("O parâmetro formato deve ser json ou csv.")
        of_period = (request.account_id, period.from_ms, period.to_ms)
        if group:
            rows = await asyncio.to_thread(
                self.desk.consumption_by_reference, *of_period, LINES_MAX
            )
        else:
            rows = await asyncio.to_thread(self.desk.consumption, *of_period)
        if rows is None:
            raise InvalidParameter(
                f"São mais de {LINES_MAX} linhas por referência: peça um período mais curto."
            )
        rows = Choice(client=parameters.text("cliente") or None).of(rows)
        names = self._names(request.account_id)
        lines = [line_of(row, names) for row in rows]
        if form == "csv":
            return 200, [_CSV, _NO_STORE, _VARY, _file(period)], as_csv(COLUMNS, lines)
        return _json(
            {
                "de": period.first.isoformat(),
                "ate": period.last.isoformat(),
                "total_consultas": sum(row.requests for row in rows),
                "total_creditos": sum(row.credits for row in rows),
                "linhas": [dict(zip(COLUMNS, line, strict=True)) for line in lines],
            },
            _VARY,
        )

    def _period(self, parameters: Parameters) -> Period:
        first = _day("de", parameters.text("de"))
        last = _day("ate", parameters.text("ate"))
        period = Period.of(first, last, civil_day(self.now_ms()))
        match period.problem:
            case "order":
                raise InvalidParameter("O parâmetro de é posterior a ate.")
            case "length":
                raise InvalidParameter(f"O período pode ter no máximo {DAYS_MAX} dias.")
        return period

    def _names(self, account_id: int) -> Mapping[int | None, str]:
        return names_of_keys(self.desk.keys(account_id))


def _told(found: Consultation, names: Mapping[int | None, str]) -> Mapping[str, object]:
    return {
        "operacao_id": found.request_id,
        "operacao": found.operation,
        "estado": _STATES[found.state],
        "creditos": found.charged_credits,
        "creditos_reservados": found.held_credits,
        "regra": tariff.sentence(found.rule),
        "regra_codigo": found.rule,
        "origem": found.origin,
        "chave": names.get(found.key_id),
        "iniciada_em": _instant(found.opened_ms),
        "concluida_em": None if found.settled_ms is None else _instant(found.settled_ms),
        "cliente": found.client,
        "referencia": found.reference,
    }


def _day(name: str, text: str | None) -> datetime.date | None:
    try:
        return read_day(text) if text else None
    except ValueError:
        raise InvalidParameter(f"O parâmetro {name} deve ser um dia na forma AAAA-MM-DD.") from None


def _file(period: Period) -> tuple[bytes, bytes]:
    name = f"consumo-{period.first.isoformat()}-{period.last.isoformat()}.csv"
    return b"content-disposition", f'attachment; filename="{name}"'.encode()


def _json(fields: Mapping[str, object], *more: tuple[bytes, bytes]) -> Answer:
    body = _encode({"success": True, "error": False} | dict(fields))
    return 200, [_JSON, _NO_STORE, *more], body


def _instant(at_ms: int) -> str:
    return from_ms(at_ms).isoformat(timespec="milliseconds")
