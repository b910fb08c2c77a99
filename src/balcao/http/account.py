""" "Was I charged?": balance, consumption and single operations of the caller's own account.

`/conta/v1/saldo`, `/conta/v1/consumo`, `/conta/v1/operacoes/{request_id}`. No credits, the same
key and limits as the lookups. Money is the ledger's: nothing is counted anywhere else.
"""

import asyncio
import csv
import datetime
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import msgspec

from balcao.core.access import Caller
from balcao.core.calendar import civil_day, civil_month, day_starts_ms, from_ms
from balcao.core.ledger import available_credits, spent_credits
from balcao.errors import InvalidParameter, OperationNotFound
from balcao.http.front import Window
from balcao.http.read import Request
from balcao.http.write import Headers
from balcao.storage.contract import ConsumptionRow, Desk
from balcao.subjects.parameters import Parameters

PREFIX = "/conta/v1/"

DAYS_DEFAULT = 30
DAYS_MAX = 366
OPERATION_DAYS = 90  # an operation is answered for this long

_STATES: Mapping[str, str] = {
    "running": "em_andamento",
    "charged": "cobrada",
    "free": "nao_cobrada",
}
_JSON = (b"content-type", b"application/json; charset=utf-8")
_CSV = (b"content-type", b"text/csv; charset=utf-8")
_NO_STORE = (b"cache-control", b"no-store")
_COLUMNS = ("dia", "operacao", "chave", "origem", "consultas", "creditos")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)

_encode = msgspec.json.Encoder().encode

Answer = tuple[int, Headers, bytes]


@dataclass(frozen=True, slots=True)
class Books:
    """The three addresses, over the desk."""

    desk: Desk
    now_ms: Callable[[], int]

    def windows(self) -> Sequence[Window]:
        """What the front serves."""
        return (
            Window(f"{PREFIX}saldo", "saldo", self.balance),
            Window(f"{PREFIX}consumo", "consumo", self.consumption),
            Window(f"{PREFIX}operacoes/", "operacoes", self.operation),
        )

    async def balance(self, request: Request, rest: str, caller: Caller | None) -> Answer:
        """What the account may still spend, now."""
        assert caller is not None
        account = self.desk.account(caller.account_id)
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

    async def operation(self, request: Request, rest: str, caller: Caller | None) -> Answer:
        """State, charge and its reason, of one request of this account."""
        assert caller is not None
        try:
            request_id = str(UUID(rest))
        except ValueError:
            raise OperationNotFound from None
        found = self.desk.operation(caller.account_id, request_id)
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
                "regra": found.rule,
                "origem": found.origin,
                "chave": self._names(caller.account_id).get(found.key_id),
                "iniciada_em": _instant(found.opened_ms),
                "concluida_em": None if found.settled_ms is None else _instant(found.settled_ms),
            }
        )

    async def consumption(self, request: Request, rest: str, caller: Caller | None) -> Answer:
        """What was charged, by day, operation, key and origin; JSON or CSV."""
        assert caller is not None
        parameters = Parameters(request.query, request.headers, ("de", "ate", "formato"))
        first, last = self._period(parameters)
        form = (parameters.text("formato") or "json").lower()
        if form not in ("json", "csv"):
            raise InvalidParameter("O parâmetro formato deve ser json ou csv.")
        after = last + datetime.timedelta(days=1)
        rows = await asyncio.to_thread(
            self.desk.consumption,
            caller.account_id,
            day_starts_ms(first),
            day_starts_ms(after),
        )
        names = self._names(caller.account_id)
        lines = [_line(row, names) for row in rows]
        if form == "csv":
            return 200, [_CSV, _NO_STORE, _file(first, last)], _as_csv(lines)
        return _json(
            {
                "de": first.isoformat(),
                "ate": last.isoformat(),
                "total_consultas": sum(row.requests for row in rows),
                "total_creditos": sum(row.credits for row in rows),
                "linhas": [dict(zip(_COLUMNS, line, strict=True)) for line in lines],
            }
        )

    def _period(self, parameters: Parameters) -> tuple[datetime.date, datetime.date]:
        """First and last civil day, both included."""
        today = civil_day(self.now_ms())
        last = _day("ate", parameters.text("ate")) or today
        first = _day("de", parameters.text("de")) or last - datetime.timedelta(DAYS_DEFAULT - 1)
        if first > last:
            raise InvalidParameter("O parâmetro de é posterior a ate.")
        if (last - first).days >= DAYS_MAX:
            raise InvalidParameter(f"O período pode ter no máximo {DAYS_MAX} dias.")
        return first, last

    def _names(self, account_id: int) -> Mapping[int, str]:
        return {key.key_id: key.name for key in self.desk.keys(account_id)}


def _day(name: str, text: str | None) -> datetime.date | None:
    if not text:
        return None
    try:
        if _DAY.fullmatch(text):
            day = datetime.date.fromisoformat(text)
            if 1970 < day.year < 9999:
                return day
    except ValueError:
        pass
    raise InvalidParameter(f"O parâmetro {name} deve ser um dia na forma AAAA-MM-DD.")


def _line(row: ConsumptionRow, names: Mapping[int, str]) -> tuple[str | int | None, ...]:
    key = names.get(row.key_id)
    return (row.day, row.operation, key, row.origin, row.requests, row.credits)


def _as_csv(lines: Sequence[Sequence[str | int | None]]) -> bytes:
    """With semicolons and a byte order mark, as spreadsheets in Brazil open it."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", lineterminator="\r\n")
    writer.writerow(_COLUMNS)
    writer.writerows([[_harmless(value) for value in line] for line in lines])
    return ("\ufeff" + text.getvalue()).encode()


def _harmless(value: str | int | None) -> str | int | None:
    """A key's name that begins like a formula must not become one."""
    return f"'{value}" if isinstance(value, str) and value[:1] in tuple("=+-@\t\r") else value


def _file(first: datetime.date, last: datetime.date) -> tuple[bytes, bytes]:
    name = f"consumo-{first.isoformat()}-{last.isoformat()}.csv"
    return b"content-disposition", f'attachment; filename="{name}"'.encode()


def _json(fields: Mapping[str, object]) -> Answer:
    body = _encode({"success": True, "error": False} | dict(fields))
    return 200, [_JSON, _NO_STORE], body


def _instant(at_ms: int) -> str:
    return from_ms(at_ms).isoformat(timespec="milliseconds")
