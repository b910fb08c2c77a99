"""`/conta/v1/`: balance, consumption and single operations of the caller's own account.

They cost no credits; key and limits are those of the lookups. All amounts come from the ledger.
"""

import asyncio
import datetime
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

import msgspec

from balcao.accounts.statement import (
    COLUMNS,
    DAYS_DEFAULT,
    DAYS_MAX,
    ChargeFilter,
    Period,
    line_of,
    read_day,
    rows_of,
)
from balcao.core import idempotency
from balcao.core.access import PLANS, key_names
from balcao.core.batches import row_of_key
from balcao.core.calendar import civil_day, civil_month, from_ms
from balcao.core.csv_table import csv_pieces
from balcao.core.described import described, doc
from balcao.core.errors import InvalidParameter, OperationNotFound, RepeatedParameter
from balcao.core.ledger import Origin, available_credits, spent_credits
from balcao.core.questions import Mode
from balcao.core.tariff import REFUSED
from balcao.http.contents import Json, Text
from balcao.http.json_bodies import enveloped, id_cursor, json_pieces, limit_of
from balcao.http.read import Request
from balcao.http.routes import Answer, Route
from balcao.http.streaming import streamed
from balcao.http.texts import COUNT, TAG_ACCOUNT, TEXT, UUID_SCHEMA, WHEN
from balcao.operations import tariff
from balcao.operations.parameters import Parameter, Parameters
from balcao.storage.contract import Consultation, ConsumptionRow
from balcao.storage.desk.desk import Desk
from balcao.storage.totals import Total

PREFIX = "/conta/v1/"

OPERATION_DAYS = 90  # for which operations are found
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
# The forms of the consumption, by media type; the first is the default.
_FORMS: Mapping[bytes, str] = {b"application/json": "json", b"text/csv": "csv"}
_VARY = (b"vary", b"accept, accept-encoding")
_NO_STORE = (b"cache-control", b"no-store")

# Empty counts as omitted. A pattern and no `format`: clients have one type for all of it.
_DAY_OR_EMPTY = {
    "type": "string",
    "pattern": "^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]))?$",
}


@described("RespostaSaldo", "Quanto a conta ainda pode gastar.")
class BalanceAnswer(msgspec.Struct, frozen=True):
    """The balance of an account, and the credits it can still spend."""

    conta: Annotated[str, doc("Nome da conta.")]
    plano: Annotated[str, doc("Plano.", enum=[*PLANS])]
    modo: Annotated[Mode, doc("Produção ou teste.")]
    saldo_creditos: Annotated[
        int | None, doc("Saldo, incluindo as reservas. Nulo no pós-pago, que não tem saldo.")
    ]
    creditos_reservados: Annotated[
        int, doc("Créditos reservados por consultas em andamento.", **COUNT)
    ]
    creditos_disponiveis: Annotated[
        int | None, doc("Créditos disponíveis agora. Nulo no pós-pago sem limite.")
    ]
    teto_mensal_creditos: Annotated[
        int | None, doc("Limite de gasto do mês no pós-pago, se houver.", **COUNT)
    ]
    mes: Annotated[str, doc("Mês em Brasília.", pattern=r"^\d{4}-\d{2}$")]
    creditos_gastos_no_mes: Annotated[int, doc("Créditos cobrados neste mês.", **COUNT)]


@described("LinhaConsumo", "O que foi cobrado em um dia, por operação, chave, origem e cliente.")
class ConsumptionLine(msgspec.Struct, frozen=True, gc=False):
    """One line of the consumption. The fields are the statement's `COLUMNS`."""

    dia: Annotated[str, doc("Dia em Brasília.", format="date")]
    operacao: Annotated[str, doc("Operação, como no endereço.")]
    chave: Annotated[str | None, doc("Nome da chave que consultou.")]
    origem: Annotated[Origin, doc("Origem da resposta.")]
    consultas: Annotated[int, doc("Consultas cobradas.", **COUNT)]
    creditos: Annotated[int, doc("Créditos cobrados.", **COUNT)]
    cliente: Annotated[str | None, doc("O `X-Cliente` das consultas. Nulo se não foi enviado.")]
    referencia: Annotated[
        str | None,
        doc("O `X-Referencia` das consultas, com `agrupar=referencia`. Nulo nos demais casos."),
    ]


@described("RespostaConsumo", "O que foi cobrado em um período.")
class ConsumptionAnswer(msgspec.Struct, frozen=True):
    """The consumption of a period."""

    de: Annotated[str, doc("Primeiro dia.", format="date")]
    ate: Annotated[str, doc("Último dia.", format="date")]
    total_consultas: Annotated[int, doc("Soma das linhas.", **COUNT)]
    total_creditos: Annotated[int, doc("Soma das linhas.", **COUNT)]
    linhas: Annotated[Sequence[ConsumptionLine], doc("Por dia, operação, chave, origem e cliente.")]


@described("OperacaoAchada", "Uma requisição e o resultado dela.")
class OperationAnswer(msgspec.Struct, frozen=True):
    """The state and the charge of one request."""

    operacao_id: Annotated[str, doc("O identificador perguntado.", format="uuid")]
    operacao: Annotated[str, doc("Operação, como no endereço.")]
    estado: Annotated[str, doc("Estado da operação.", enum=[*_STATES.values()])]
    creditos: Annotated[int, doc("Cobrados.", **COUNT)]
    creditos_reservados: Annotated[int, doc("Créditos reservados durante o andamento.", **COUNT)]
    regra: Annotated[
        str | None,
        doc(
            "A regra da tabela de preços aplicada ou o motivo de nada ter sido cobrado. O texto"
            " pode mudar. Nulo durante o andamento."
        ),
    ]
    regra_codigo: Annotated[
        str | None,
        doc(
            "O código da regra, que não muda. Podem surgir outros: "
            + ", ".join(f"`{code}`" for code in tariff.RULES if code != REFUSED)
            + "."
        ),
    ]
    origem: Annotated[
        Literal["cache", "online"] | None,
        doc("Origem do resultado. Nulo enquanto não houver resultado."),
    ]
    chave: Annotated[str | None, doc("Nome da chave que consultou.")]
    iniciada_em: Annotated[str, doc("Início.", **WHEN)]
    concluida_em: Annotated[str | None, doc("Fim. Nulo durante o andamento.", **WHEN)]
    cliente: Annotated[str | None, doc("O `X-Cliente` da requisição, se enviado.")]
    referencia: Annotated[str | None, doc("O `X-Referencia` da requisição, se enviado.")]


@described("RespostaOperacoes", "Requisições e o resultado delas.")
class OperationsAnswer(msgspec.Struct, frozen=True):
    """A page of requests."""

    itens: Annotated[Sequence[OperationAnswer], doc("Da mais recente à mais antiga.")]
    cursor: Annotated[str | None, doc("Cursor da página seguinte. Nulo na última.")]


_LINE = ConsumptionLine(
    "2026-08-08",
    "certidao-negativa-de-debitos-federal",
    "erp",
    "online",
    consultas=3,
    creditos=6,
    cliente="loja-7",
    referencia=None,
)
_EXAMPLE_CSV = b"".join(csv_pieces(COLUMNS, [msgspec.structs.astuple(_LINE)])).decode()
_OPERATION = OperationAnswer(
    operacao_id="0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b7",
    operacao="certidao-negativa-de-debitos-federal",
    estado="cobrada",
    creditos=2,
    creditos_reservados=0,
    regra=tariff.sentence("federal_certificate/online"),
    regra_codigo="federal_certificate/online",
    origem="online",
    chave="erp",
    iniciada_em="2026-08-08T10:15:30.120-03:00",
    concluida_em="2026-08-08T10:15:34.330-03:00",
    cliente="loja-7",
    referencia="pedido:2026/1017",
)
_given = partial(Json, envelope=True)
_AccountRoute = partial(Route, needs_key=True, tag=TAG_ACCOUNT, tells_cost=False)


@dataclass(frozen=True, slots=True)
class AccountRoutes:
    """The routes about an account, over the desk. `folder`: of temporary files."""

    desk: Desk
    now_ms: Callable[[], int]
    folder: Path

    @_AccountRoute(
        f"{PREFIX}saldo",
        "saldo",
        id="saldo",
        summary="Consultar saldo",
        text=(
            "Quanto a conta ainda pode gastar agora. Reservas são de consultas em andamento: o"
            " restante é liberado quando elas terminam."
        ),
        gives=[
            _given(
                BalanceAnswer(
                    conta="acme",
                    plano="pre_pago",
                    modo="live",
                    saldo_creditos=9_800,
                    creditos_reservados=2,
                    creditos_disponiveis=9_798,
                    teto_mensal_creditos=None,
                    mes="2026-08",
                    creditos_gastos_no_mes=200,
                )
            )
        ],
    )
    async def balance(self, request: Request) -> Answer:
        account = self.desk.account(request.account_id)
        month = civil_month(self.now_ms())
        postpaid = account.plan == "pos_pago"
        return _json(
            BalanceAnswer(
                conta=account.name,
                plano=account.plan,
                modo=account.mode,
                saldo_creditos=None if postpaid else account.balance_credits,
                creditos_reservados=account.held_credits,
                creditos_disponiveis=available_credits(account, month),
                teto_mensal_creditos=account.ceiling_credits,
                mes=month,
                creditos_gastos_no_mes=spent_credits(account, month),
            )
        )

    @_AccountRoute(
        f"{PREFIX}consumo",
        "consumo",
        id="consumo",
        summary="Consultar consumo",
        text=(
            "O que foi cobrado, por dia, operação, chave, origem e cliente (`X-Cliente`). Sem `de`"
            f" nem `ate`, os últimos {DAYS_DEFAULT} dias; no máximo {DAYS_MAX} dias de uma vez."
        ),
        parameters=(
            Parameter(
                "de",
                f"Primeiro dia, `AAAA-MM-DD`; padrão: {DAYS_DEFAULT} dias até `ate`.",
                _DAY_OR_EMPTY,
            ),
            Parameter(
                "ate",
                "Último dia, incluído, `AAAA-MM-DD`; padrão: hoje, em Brasília.",
                _DAY_OR_EMPTY,
            ),
            Parameter(
                "formato",
                "JSON ou CSV com ponto e vírgula, para planilhas. Sem este parâmetro, vale o"
                " cabeçalho Accept (`text/csv`). O padrão é JSON.",
                {**TEXT, "enum": [*_FORMS.values(), ""]},
            ),
            Parameter("cliente", "Só as linhas deste `X-Cliente`.", TEXT),
            Parameter(
                "agrupar",
                f"`referencia`: uma linha também por `X-Referencia`; no máximo {LINES_MAX}"
                " linhas. Sem este parâmetro, as referências não são separadas.",
                {**TEXT, "enum": ["referencia", ""]},
            ),
        ),
        gives=[
            _given(ConsumptionAnswer("2026-08-01", "2026-08-08", 3, 6, [_LINE])),
            Text("text/csv", _EXAMPLE_CSV),
        ],
        problems=(InvalidParameter, RepeatedParameter),
    )
    async def consumption(self, request: Request) -> Answer:
        """Return what was charged, by day, operation, key, origin and client; JSON or CSV.

        Without `formato` the header Accept decides. `agrupar=referencia` groups by reference too;
        `cliente` selects one client.
        """
        parameters = Parameters(request.query, request.headers, _CONSUMPTION_NAMES)
        period = self._period(parameters)
        group = parameters.text("agrupar") or ""
        if group.lower() not in ("", "referencia"):
            raise InvalidParameter("O parâmetro agrupar deve ser referencia, ou ficar de fora.")
        form = (parameters.text("formato") or _FORMS[request.preferred([*_FORMS])]).lower()
        if form not in _FORMS.values():
            raise InvalidParameter("O parâmetro formato deve ser json ou csv.")
        by_reference = None
        if group:
            by_reference = await asyncio.to_thread(
                self.desk.consumption_by_reference,
                *(request.account_id, period.from_ms, period.to_ms, LINES_MAX),
            )
            if by_reference is None:
                raise InvalidParameter(
                    f"São mais de {LINES_MAX} linhas por referência. Use um período mais curto."
                )
        chosen = ChargeFilter(client=parameters.text("cliente") or None)
        names = self._names(request.account_id)
        content = self._statement(request, names, period, chosen, by_reference, csv=form == "csv")
        encoding, answer = await streamed(content, self.folder, gzipped=request.accepts_gzip)
        kind = (
            [_CSV, _NO_STORE, _VARY, _file(period)] if form == "csv" else [_JSON, _NO_STORE, _VARY]
        )
        return 200, [*kind, *encoding], answer

    def _statement(
        self,
        request: Request,
        names: Mapping[int | None, str],
        period: Period,
        chosen: ChargeFilter,
        by_reference: Sequence[ConsumptionRow] | None,
        *,
        csv: bool,
    ) -> Generator[bytes, None, None]:
        """Yield the consumption as CSV or JSON, of one moment; by reference if that was read.

        In a thread.
        """
        with self.desk.totals.snapshot() as moment:
            rows: Iterable[ConsumptionRow]
            counted: Sequence[ConsumptionRow | Total]
            if by_reference is None:
                rows = rows_of(moment, request.account_id, period, chosen)
                counted = moment.read(
                    request.account_id, period.first, period.last, (), chosen.wanted
                )
            else:
                rows = counted = chosen.of(by_reference)
            lines = (line_of(row, names) for row in rows)
            if csv:
                yield from csv_pieces(COLUMNS, lines)
                return
            empty = ConsumptionAnswer(
                de=period.first.isoformat(),
                ate=period.last.isoformat(),
                total_consultas=sum(each.requests for each in counted),
                total_creditos=sum(each.credits for each in counted),
                linhas=(),
            )
            yield from json_pieces(
                request.numbered(enveloped(empty)), (ConsumptionLine(*line) for line in lines)
            )

    @_AccountRoute(
        f"{PREFIX}operacoes",
        "operacoes",
        id="operacoes_de",
        summary="Buscar operações por Idempotency-Key ou referência",
        text=(
            "Encontra requisições sem o `request_id`, pela `Idempotency-Key` ou pelo"
            f" `X-Referencia`, da mais recente à mais antiga, por {OPERATION_DAYS} dias. Cada uma"
            " vem como em `/conta/v1/operacoes/{request_id}`. Requisições que não reservaram nem"
            " cobraram créditos não são operações."
        ),
        parameters=(
            Parameter(
                "idempotency_key",
                "A `Idempotency-Key` da requisição. Encontra no máximo uma.",
                {**TEXT, "minLength": 1},
            ),
            Parameter("referencia", "O `X-Referencia` das requisições.", {**TEXT, "minLength": 1}),
            Parameter(
                "limite",
                f"Quantas por página, de 1 a {PAGE_MAX}; padrão: {PAGE_DEFAULT}.",
                {"type": "integer", "minimum": 1, "maximum": PAGE_MAX, "default": PAGE_DEFAULT},
            ),
            Parameter("cursor", "O `cursor` da página anterior.", TEXT),
        ),
        gives=[_given(OperationsAnswer([_OPERATION], None))],
        problems=(InvalidParameter, RepeatedParameter),
    )
    async def operations(self, request: Request) -> Answer:
        """Return the requests of a reference, or the one of a key (contract 11.2)."""
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
            OperationsAnswer(
                itens=[_answer(each, names) for each in shown],
                cursor=found[limit - 1].request_id if len(found) > limit else None,
            )
        )

    @_AccountRoute(
        f"{PREFIX}operacoes/{{request_id}}",
        "operacoes",
        id="operacoes",
        summary="Consultar a cobrança de uma operação",
        text=(
            "Informa se a consulta foi cobrada: o estado, os créditos e a regra do preço. Só da"
            f" própria conta, por {OPERATION_DAYS} dias. Recusas e reenvios por `Idempotency-Key`"
            " não são operações."
        ),
        parameters=(
            Parameter(
                "request_id",
                "O `request_id` da resposta, ou do cabeçalho `X-Request-Id`.",
                UUID_SCHEMA,
                place="path",
                required=True,
            ),
        ),
        gives=[_given(_OPERATION, "RespostaOperacao", "Uma requisição e o resultado dela.")],
        problems=(OperationNotFound,),
    )
    async def operation(self, request: Request) -> Answer:
        """Return state, charge and its reason, of one request of this account."""
        try:
            request_id = str(UUID(request.rest))
        except ValueError:
            raise OperationNotFound from None
        found = self.desk.operation(request.account_id, request_id)
        if found is None or found.opened_ms < self._oldest_ms():
            raise OperationNotFound
        return _json(_answer(found, self._names(request.account_id)))

    async def _under_key(self, account_id: int, key: str) -> Consultation | None:
        """Return the request with this idempotency key, which may be that of a batch's row."""
        row = row_of_key(key)
        if row is not None:
            number = await self.desk.batches.request_of(account_id, *row)
            if number is not None:
                return self.desk.operation(account_id, number)
        digest = idempotency.digest(key)
        return await asyncio.to_thread(self.desk.operation_under_key, account_id, digest)

    def _oldest_ms(self) -> int:
        return self.now_ms() - OPERATION_DAYS * 86_400_000

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
        return key_names(self.desk.keys(account_id))


def _answer(found: Consultation, names: Mapping[int | None, str]) -> OperationAnswer:
    return OperationAnswer(
        operacao_id=found.request_id,
        operacao=found.operation,
        estado=_STATES[found.state],
        creditos=found.charged_credits,
        creditos_reservados=found.held_credits,
        regra=tariff.sentence(found.rule),
        regra_codigo=found.rule,
        origem=found.origin,
        chave=names.get(found.key_id),
        iniciada_em=_instant(found.opened_ms),
        concluida_em=None if found.settled_ms is None else _instant(found.settled_ms),
        cliente=found.client,
        referencia=found.reference,
    )


def _day(name: str, text: str | None) -> datetime.date | None:
    try:
        return read_day(text) if text else None
    except ValueError:
        raise InvalidParameter(f"O parâmetro {name} deve ser um dia na forma AAAA-MM-DD.") from None


def _file(period: Period) -> tuple[bytes, bytes]:
    name = f"consumo-{period.first.isoformat()}-{period.last.isoformat()}.csv"
    return b"content-disposition", f'attachment; filename="{name}"'.encode()


def _json(answer: msgspec.Struct) -> Answer:
    return 200, [_JSON, _NO_STORE], enveloped(answer)


def _instant(at_ms: int) -> str:
    return from_ms(at_ms).isoformat(timespec="milliseconds")
