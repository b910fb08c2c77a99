"""Writer of a treasury's replies: the message, its envelope, and errors.

Some documents get replies in an unusual form (`fiction/sandbox/registrations.py`): `with_form`
changes the content of such a reply, `encoded_in_form` its bytes.
"""

import gzip
import zlib
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from importlib.resources import files
from typing import Any

from lxml import etree

from balcao.core.federation import IBGE_CODES
from balcao.fiction import tables
from balcao.fiction.records import AddressFiction, RegistrationFiction
from balcao.fiction.sandbox.registrations import FORMS, PRODUCERS_COMPANY, Form
from balcao.providers.sefaz.simulator.request_reader import NFE, SERVICE, SOAP, CadastroRequest
from balcao.providers.sefaz.simulator.taxpayers import Taxpayer
from balcao.providers.sefaz.simulator.treasuries import Quirks, Treasury, quirks_of
from balcao.providers.simulation.messages import SimulatedReply, html_reply

_DATES = ("dIniAtiv", "dUltSit", "dBaixa")


def with_form(entries: Sequence[etree._Element], form: Form | None) -> Sequence[etree._Element]:
    """Return the registrations (`infCad`) of a reply, changed as the form requires."""
    match form:
        case Form.OTHER_DATES:
            return [_with_other_dates(entry) for entry in entries]
        case Form.TWICE:
            return [*entries, *map(deepcopy, entries)]
        case Form.TWO_MINDS:
            return [*entries, *(_with(entry, "cSit", "0") for entry in entries)]
        case Form.EXEMPT:
            return [_with(entry, "IE", "ISENTO") for entry in entries]
        case Form.EXEMPT_TOO:
            return [*(_with(entry, "IE", "ISENTO") for entry in entries), *entries]
        case Form.LATIN_1:  # a text that differs in UTF-8
            return [_with(entry, "xMun", "SÃO PAULO") for entry in entries]
        case Form.BY_COMPANY:
            return [_held_by_company(entry) for entry in entries]
        case _:
            return entries


def encoded_in_form(reply: SimulatedReply, form: Form | None) -> SimulatedReply:
    """Return the reply with its bytes as the form requires."""
    match form:
        case Form.GZIP:
            return _coded(reply, "gzip", gzip.compress(reply.body))
        case Form.DEFLATE:
            return _coded(reply, "deflate", zlib.compress(reply.body))
        case Form.NOT_GZIP:
            return _coded(reply, "gzip", reply.body)
        case Form.WHITE_SPACE:
            return replace(reply, body=b"\r\n  " + reply.body)
        case Form.LATIN_1:
            _, _, text = reply.body.decode("utf-8").partition("?>")
            content_type = reply.content_type.replace("utf-8", "ISO-8859-1")
            return replace(reply, body=text.encode("latin-1"), content_type=content_type)
        case _:
            return reply


def _coded(reply: SimulatedReply, coding: str, body: bytes) -> SimulatedReply:
    return replace(reply, body=body, headers={**reply.headers, "content-encoding": coding})


def _with(entry: etree._Element, name: str, text: str) -> etree._Element:
    changed = deepcopy(entry)
    for element in changed.iter(f"{{{NFE}}}{name}"):
        element.text = text
    return changed


def _with_other_dates(entry: etree._Element) -> etree._Element:
    changed = deepcopy(entry)
    for name in _DATES:
        for element in changed.iter(f"{{{NFE}}}{name}"):
            element.text = date.fromisoformat(element.text or "").strftime("%d/%m/%Y")
    return changed


def _held_by_company(entry: etree._Element) -> etree._Element:
    changed = deepcopy(entry)
    for element in changed.iter(f"{{{NFE}}}CPF"):
        element.tag = f"{{{NFE}}}CNPJ"
        element.text = PRODUCERS_COMPANY
    return changed


CONTENT_TYPE = "application/soap+xml; charset=utf-8"

# Their messages have no prefixes; the stubs do not allow None as a prefix.
_NFE_IS_DEFAULT: dict[Any, str] = {None: NFE}
_SERVICE_IS_DEFAULT: dict[Any, str] = {None: SERVICE}

_BRASILIA = timezone(timedelta(hours=-3))
_REJECTED = "Rejeicao: "
_ABROAD = "9999999"

# Without accents, as the manual has them (`sefaz-consulta-cadastro.md`, section 6).
TEXTS: Mapping[int, str] = {
    int(code): text for code, text in tables.descriptions("cstat", files(__package__)).items()
}


class TreasuryReplies:
    """The replies of a treasury to one request for one state (None: an unreadable request)."""

    def __init__(self, treasury: Treasury, question: CadastroRequest | None, now: datetime) -> None:
        uf = question.uf if question is not None and question.uf in treasury.ufs else treasury.owner
        self._treasury = treasury
        self._uf = uf
        self._quirks = quirks_of(uf)
        self._question = question
        self._now = now.astimezone(_BRASILIA)

    def status_reply(self, status: int) -> SimulatedReply:
        """Return a reply with a status alone."""
        return _in_envelope(self._message(status, self._question), self._quirks)

    def registrations_reply(self, taxpayer: Taxpayer, *, complete: bool = True) -> SimulatedReply:
        """Return a taxpayer's registrations; with `complete=False` without a mandatory field."""
        form = FORMS.get(taxpayer.document)
        found = with_form(
            [
                _entry(registration, taxpayer, self._quirks)
                for registration in taxpayer.registrations
                if registration.uf == self._uf
            ],
            form,
        )
        status = 112 if len(found) > 1 else 111 if found else taxpayer.unknown
        requested = CadastroRequest(self._uf, taxpayer.kind, taxpayer.document)
        message = self._message(status, requested)
        answer = message[0]
        for entry in found:
            if not complete:
                entry.remove(entry[0])
            answer.append(entry)
        if not complete and not found:
            answer.remove(answer[1])  # without entries, remove cStat instead
        return encoded_in_form(_in_envelope(message, self._quirks), form)

    def maintenance(self) -> SimulatedReply:
        if self._quirks.page_when_down:
            return html_reply(503, "503 Service Unavailable")
        return self.status_reply(108)

    def error(self) -> SimulatedReply:
        return fault("Receiver", "Internal error of the service.")

    def _message(self, status: int, requested: CadastroRequest | None) -> etree._Element:
        now = self._now if self._quirks.has_offset else self._now.replace(tzinfo=None)
        root = etree.Element(f"{{{NFE}}}retConsCad", versao="2.00", nsmap=_NFE_IS_DEFAULT)
        _fill(
            etree.SubElement(root, f"{{{NFE}}}infCons"),
            [
                ("verAplic", f"{self._treasury.program}-SIMULADO-4.00"),
                ("cStat", str(status)),
                ("xMotivo", ("" if status < 200 else _REJECTED) + TEXTS[status]),
                ("UF", requested.uf if requested is not None else self._uf),
                *([(requested.kind, requested.argument)] if requested is not None else []),
                ("dhCons", now.isoformat(timespec="seconds")),
                ("cUF", IBGE_CODES[self._uf]),
            ],
        )
        return root


def fault(code: str, reason: str) -> SimulatedReply:
    """Return a fault of SOAP 1.2: `Sender`, `Receiver` or `VersionMismatch`."""
    envelope = etree.Element(f"{{{SOAP}}}Envelope", nsmap={"soap": SOAP})
    where = etree.SubElement(etree.SubElement(envelope, f"{{{SOAP}}}Body"), f"{{{SOAP}}}Fault")
    value = etree.SubElement(etree.SubElement(where, f"{{{SOAP}}}Code"), f"{{{SOAP}}}Value")
    value.text = f"soap:{code}"
    text = etree.SubElement(etree.SubElement(where, f"{{{SOAP}}}Reason"), f"{{{SOAP}}}Text")
    text.set("{http://www.w3.org/XML/1998/namespace}lang", "en")
    text.text = reason
    return SimulatedReply(500, _serialised(envelope), CONTENT_TYPE)


def _entry(registration: RegistrationFiction, taxpayer: Taxpayer, quirks: Quirks) -> etree._Element:
    address = registration.address
    active = registration.active
    located = address.municipality.uf if address is not None else registration.uf
    entry = etree.Element(f"{{{NFE}}}infCad", nsmap=_NFE_IS_DEFAULT)
    _fill(
        entry,
        [
            ("IE", registration.number),
            (taxpayer.kind, taxpayer.document),
            ("UF", located if located in IBGE_CODES else registration.uf),
            ("cSit", "1" if active else "0"),
            ("indCredNFe", "1" if active else "0"),
            ("indCredCTe", "4"),
            ("xNome", taxpayer.name),
            ("xFant", taxpayer.trade_name),
            ("xRegApur", taxpayer.regime),
            ("CNAE", _number(taxpayer.activity, quirks)),
            ("dIniAtiv", taxpayer.opened),
            ("dUltSit", registration.status_date.isoformat()),
            ("dBaixa", "" if active else registration.status_date.isoformat()),
            ("IEUnica", registration.number if quirks.has_single_number else ""),
            ("IEAtual", registration.number if quirks.has_single_number else ""),
        ],
    )
    if address is not None and quirks.has_address:
        _fill(etree.SubElement(entry, f"{{{NFE}}}ender"), _address(address, quirks))
    return entry


def _address(address: AddressFiction, quirks: Quirks) -> list[tuple[str, str]]:
    return [
        ("xLgr", f"{address.street_type} {address.street}"),
        ("nro", address.number),
        ("xCpl", address.complement),
        ("xBairro", address.district),
        ("cMun", address.municipality.ibge or _ABROAD),
        ("xMun", address.municipality.name),
        ("CEP", _number(address.cep, quirks)),
    ]


def _number(digits: str, quirks: Quirks) -> str:
    return digits.removeprefix("0") if quirks.drops_zeros else digits


def _fill(parent: etree._Element, fields: Iterable[tuple[str, str]]) -> None:
    """Add children with texts, cut at the schema's length; empty ones are omitted."""
    for name, text in fields:
        cleaned = " ".join(text.split())
        if cleaned:
            length = 255 if name in ("xMotivo", "xLgr") else 60
            etree.SubElement(parent, f"{{{NFE}}}{name}").text = cleaned[:length].rstrip()


def _in_envelope(message: etree._Element, quirks: Quirks) -> SimulatedReply:
    envelope = etree.Element(f"{{{SOAP}}}Envelope", nsmap={"soap": SOAP})
    body = etree.SubElement(envelope, f"{{{SOAP}}}Body")
    wrapper = etree.SubElement(body, f"{{{SERVICE}}}{quirks.wrapper}", nsmap=_SERVICE_IS_DEFAULT)
    if quirks.escaped:
        wrapper.text = _serialised(message).decode("utf-8")
    else:
        wrapper.append(message)
    return SimulatedReply(200, _serialised(envelope), CONTENT_TYPE)


def _serialised(element: etree._Element) -> bytes:
    return etree.tostring(element, encoding="UTF-8", xml_declaration=True)
