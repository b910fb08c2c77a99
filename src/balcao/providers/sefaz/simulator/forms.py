"""Answers in forms that clients trip over, each for one document (`fiction/sandbox/treasuries.py`).

`retold` changes what stands in an answer, `rewritten` how it travels.
"""

import gzip
import zlib
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import date

from lxml import etree

from balcao.fiction.sandbox.treasuries import PRODUCERS_COMPANY, Form
from balcao.providers.sefaz.simulator.reading import NFE
from balcao.providers.simulation.exchange import SimulatedReply

_DATES = ("dIniAtiv", "dUltSit", "dBaixa")


def retold(entries: Sequence[etree._Element], form: Form | None) -> Sequence[etree._Element]:
    """The registrations (`infCad`) of an answer in a form."""
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
        case Form.LATIN_1:  # there must be something that is written otherwise in UTF-8
            return [_with(entry, "xMun", "SÃO PAULO") for entry in entries]
        case Form.BY_COMPANY:
            return [_held_by_company(entry) for entry in entries]
        case _:
            return entries


def rewritten(reply: SimulatedReply, form: Form | None) -> SimulatedReply:
    """A reply in a form, byte by byte."""
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
