""" "Was I charged?": balance, consumption and single operations of the caller's own account.

`/conta/v1/saldo`, `/conta/v1/consumo`, `/conta/v1/operacoes/{request_id}`. No credits, the same
key and limits as the lookups. Money is the ledger's: nothing is counted anywhere else.
"""

import asyncio
import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import msgspec

from balcao.accounts.statement import COLUMNS, DAYS_MAX, Period, as_csv, line_of, read_day
from balcao.core.access import names_of_keys
from balcao.core.calendar import civil_day, civil_month, from_ms
from balcao.core.ledger import available_credits, spent_credits
from balcao.errors import InvalidParameter, OperationNotFound
from balcao.http.read import Request
from balcao.http.routes import Route
from balcao.http.write import Headers
from balcao.operations import tariff
from balcao.operations.parameters import Parameters
from balcao.storage.desk.desk import Desk

PREFIX = "/conta/v1/"

OPERATION_DAYS = 90  # an operation is answered for this long

_STATES: Mapping[str, str] = {
    "running": "em_andamento",
    "charged": "cobrada",
    "free": "nao_cobrada",
}
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
    """The three addresses, over the desk."""

    desk: Desk
    now_ms: Callable[[], int]

    def routes(self) -> Sequence[Route]:
        """What the front serves."""
        return (
            Route(f"{PREFIX}saldo", "saldo", self.balance, needs_key=True),
            Route(f"{PREFIX}consumo", "consumo", self.consumption, needs_key=True),
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
        oldest_ms = self.now_ms() - OPERATION_DAYS * 86_400_000
        if found is None or found.opened_ms < oldest_ms:
            raise OperationNotFound
        return _json(
            {
                "operacao_id": found.request_id,
                "operacao": found.operation,
                "estado": _STATES[found.state],
                "creditos": found.charged_credits,
                "creditos_reservados": found.held_credits,
                "regra": tariff.sentence(found.rule),
                "regra_codigo": found.rule,
                "origem": found.origin,
                "chave": self._names(request.account_id).get(found.key_id),
                "iniciada_em": _instant(found.opened_ms),
                "concluida_em": None if found.settled_ms is None else _instant(found.settled_ms),
            }
        )

    async def consumption(self, request: Request) -> Answer:
        """What was charged, by day, operation, key and origin; JSON or CSV.

        `formato` says which; without it the header Accept does.
        """
        parameters = Parameters(request.query, request.headers, ("de", "ate", "formato"))
        period = self._period(parameters)
        form = (parameters.text("formato") or _FORMS[request.preferred([*_FORMS])]).lower()
        if form not in _FORMS.values():
            raise InvalidParameter("O parâmetro formato deve ser json ou csv.")
        rows = await asyncio.to_thread(
            self.desk.consumption, request.account_id, period.from_ms, period.to_ms
        )
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
