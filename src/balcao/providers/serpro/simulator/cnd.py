"""Simulator of SERPRO's Consulta CND: the federal certificate (`serpro-cnd.md`, section 2).

The result is `Status`, not the HTTP status. Only the newest keys of answers in process are
stored, so that each of these answers takes three calls.
"""

import base64
import uuid
from collections import OrderedDict
from collections.abc import Callable
from datetime import date, datetime, time
from functools import partial

import msgspec
from starlette.types import Receive

from balcao.core.calendar import BRASILIA
from balcao.fiction import exists, federal_certificate_of, federal_in_maintenance
from balcao.fiction.dice import draws
from balcao.fiction.records import FederalFiction, FederalKind, ReceiptKind
from balcao.fiction.sandbox.certificates import INTERRUPTED, PROCESSING, TILDE, is_of_class
from balcao.providers.simulation.faults import FaultInjector, ReplyFactory
from balcao.providers.simulation.messages import (
    SimulatedReply,
    SimulatedRequest,
    is_cnpj,
    is_cpf,
    json_reply,
    plain_document,
)
from balcao.providers.simulation.receipts import pdf

# How many replies are "still processing", and how many keys are stored.
PROCESSING_ANSWERS = 2
KEYS_MAX = 1000

# The type of a certificate that is neither positive nor negative; hypothetical.
UNKNOWN_TYPE = 4

_TYPES = {FederalKind.CND: 1, FederalKind.CPEND: 2, FederalKind.UNCLASSIFIED: UNKNOWN_TYPE}
_COMPANY, _PERSON, _RURAL_PROPERTY = 1, 2, 3

# `CodigoIdentificacao` by `TipoContribuinte`, in the versions 1 and 2.
_IDENTIFICATIONS = {
    _COMPANY: ("9001", "9201"),
    _PERSON: ("9002", "9202"),
    _RURAL_PROPERTY: ("9003", "9203"),
}

# HTTP status and message by `Status`. The texts of 9 to 15 are not documented, only that they are
# errors of parameters.
_STATUSES = {
    1: (200, "Certidão válida encontrada"),
    2: (200, "Certidão emitida"),
    3: (200, "Não emitida: consulte a Situação Fiscal"),
    4: (200, "Não emitida: a situação cadastral do contribuinte impede a emissão"),
    5: (202, "Análise interrompida: tente novamente"),
    6: (202, "Base de apoio indisponível: tente novamente"),
    7: (201, "Em processamento"),
    8: (404, "Contribuinte não cadastrado"),
    9: (400, "Parâmetro inválido: TipoContribuinte"),
    10: (400, "Parâmetro inválido: ContribuinteConsulta"),
    11: (400, "Parâmetro inválido: CodigoIdentificacao"),
    12: (400, "Parâmetro inválido: GerarCertidaoPdf"),
    13: (400, "Parâmetro inválido: dígito verificador"),
    14: (400, "Chave não encontrada"),
    15: (400, "Mensagem inválida"),
    99: (500, "Erro no servidor"),
}


class _Question(msgspec.Struct):
    """The body of a request. Clients send numbers or text; some send more fields."""

    kind: int | str = msgspec.field(name="TipoContribuinte", default=0)
    document: int | str = msgspec.field(name="ContribuinteConsulta", default="")
    identification: int | str = msgspec.field(name="CodigoIdentificacao", default="")
    with_pdf: bool | int | str | None = msgspec.field(name="GerarCertidaoPdf", default=None)
    key: str | None = msgspec.field(name="Chave", default=None)


class ConsultaCnd:
    """The service, at `/consulta-cnd/{v1|v2}/certidao` and its trial, without authentication."""

    def __init__(self, faults: FaultInjector, clock: Callable[[], datetime]) -> None:
        self._faults = faults
        self._clock = clock
        self._key_count = 0
        self._keys: OrderedDict[str, tuple[str, int]] = OrderedDict()

    async def answer(self, request: SimulatedRequest, receive: Receive) -> SimulatedReply:
        try:
            query = msgspec.json.decode(request.body, type=_Question)
        except msgspec.DecodeError:
            return _reply(15)
        document = plain_document(str(query.document))
        if problem := _problem(query, document, second="/v2/" in request.path):
            return _reply(problem)
        if query.key is not None and self._keys.get(query.key, ("", 0))[0] != document:
            return _reply(14)
        if str(query.kind) == str(_RURAL_PROPERTY) or (
            len(document) == 14 and not exists(document)
        ):
            return _reply(8)
        good = partial(self._good, key=query.key, with_pdf=query.with_pdf is True)
        incomplete = partial(self._incomplete, with_pdf=query.with_pdf is True)
        replies = ReplyFactory("federal_certificate", document, good, incomplete)
        return await self._faults.reply(replies, self, receive)

    def maintenance(self) -> SimulatedReply:
        return _reply(6)

    def error(self) -> SimulatedReply:
        return _reply(99)

    def _good(self, document: str, *, key: str | None, with_pdf: bool) -> SimulatedReply:
        if is_of_class(document, INTERRUPTED):
            return _reply(5)
        processing = is_of_class(document, PROCESSING)
        if processing and (key := self._next(document, key)) is not None:
            return _reply(7, Chave=key)
        today = self._clock().astimezone(BRASILIA).date()
        if federal_in_maintenance(document, today):
            return self.maintenance()
        found = federal_certificate_of(document, today, new=processing)
        if found.kind is FederalKind.CPD:
            return _reply(3)
        if found.kind is FederalKind.IMPOSSIBLE:
            return _reply(4)
        status = 2 if found.issued_on == today else 1
        return _reply(status, Certidao=_certificate(found, with_pdf=with_pdf))

    def _incomplete(self, document: str, *, with_pdf: bool) -> SimulatedReply:
        today = self._clock().astimezone(BRASILIA).date()
        fields = _certificate(federal_certificate_of(document, today), with_pdf=with_pdf)
        del fields["TipoCertidao"], fields["CodigoControle"]
        return _reply(1, Certidao=fields)

    def _next(self, document: str, key: str | None) -> str | None:
        """Return the key for the next poll; None when the certificate is ready."""
        if key is None:
            self._key_count += 1
            numbers = draws(f"{document} key {self._key_count}")
            raw = b"".join(number.to_bytes(2) for number in numbers[:8])
            key = str(uuid.UUID(bytes=raw, version=4))
        fields = self._keys.pop(key, (document, 0))[1]
        if fields == PROCESSING_ANSWERS:
            return None
        self._keys[key] = document, fields + 1
        if len(self._keys) > KEYS_MAX:
            self._keys.popitem(last=False)
        return key


def _problem(query: _Question, document: str, *, second: bool) -> int | None:
    """Return the status of a parameter error, or None."""
    kinds = {str(kind): kind for kind in _IDENTIFICATIONS}
    if (kind := kinds.get(str(query.kind))) is None:
        return 9
    sizes = {_COMPANY: (14,), _PERSON: (11,), _RURAL_PROPERTY: range(1, 9)}
    if len(document) not in sizes[kind] or not document.isalnum():
        return 10
    if str(query.identification) != _IDENTIFICATIONS[kind][second]:
        return 11
    if not isinstance(query.with_pdf, bool | None):
        return 12
    if kind == _COMPANY and not is_cnpj(document):
        return 13
    if kind == _PERSON and not is_cpf(document):
        return 13
    return None


def _certificate(found: FederalFiction, *, with_pdf: bool) -> dict[str, object]:
    document = found.document
    assert found.issued_on is not None
    assert found.validity is not None
    # real replies have dates or date-times; here each document always has the same
    moments = draws(f"{document} dates")
    issued_at: date | datetime = found.issued_on
    valid_until: date | datetime = found.validity
    if moments[0] & 1:
        hour = time(8 + moments[1] % 12, moments[2] % 60, moments[3] % 60)
        issued_at = datetime.combine(found.issued_on, hour)
    if moments[0] & 2:
        valid_until = datetime.combine(found.validity, time(23, 59, 59))
    fields: dict[str, object] = {
        "TipoContribuinte": _COMPANY if len(document) == 14 else _PERSON,
        "ContribuinteCertidao": document,
        "TipoCertidão" if is_of_class(document, TILDE) else "TipoCertidao": _TYPES[found.kind],
        "CodigoControle": found.code,
        "DataEmissao": issued_at.isoformat(),
        "DataValidade": valid_until.isoformat(),
    }
    if with_pdf and found.receipt is ReceiptKind.PDF:
        fields["DocumentoPdf"] = base64.b64encode(pdf(found)).decode()
    return fields


def _reply(status: int, **more: object) -> SimulatedReply:
    http_status, message = _STATUSES[status]
    return json_reply(http_status, {"Status": status, "Mensagem": message, **more})
