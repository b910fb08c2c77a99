"""Hostile and broken answers of sources, generated here and not stored as files.

`READERS` are the readers of answers, each with a good one; `CORPUS` has broken variants of these,
all of which must be failures of their source. `EDGES` are the largest answers that are accepted.
"""

import copy
import gzip
import html
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from balcao.core.company import PARTNERS_MAX
from balcao.core.documents import Cnpj, Cpf
from balcao.core.federation import UFS
from balcao.core.questions import Inquiry, Subject
from balcao.core.registration import REGISTRATIONS_MAX
from balcao.core.state_registrations import completed, length
from balcao.core.text import TEXT_CHARACTERS_MAX
from balcao.operations import OPERATIONS
from tests.records import CNPJ as OTHER_CNPJ
from tests.sources import (
    test_cnpja,
    test_cnpja_registrations,
    test_cnpja_suframa,
    test_minha_receita,
    test_serpro,
    test_serpro_cnd,
)
from tests.sources import test_infosimples_federal_cert as infosimples_federal
from tests.sources import test_infosimples_fgts as infosimples_fgts
from tests.sources import test_infosimples_labour_cert as infosimples_labour
from tests.sources import test_infosimples_registrations as infosimples_registrations
from tests.sources import test_infosimples_state_cert as infosimples_state
from tests.sources.adapters import CNPJ
from tests.sources.sefaz import world as sefaz

CPF = "11122233396"
OTHER_CPF = "90010000100"

Path: TypeAlias = Sequence[str | int]
JsonValue: TypeAlias = Any  # JSON

_SOON = datetime.now(UTC) + timedelta(days=60)
_LATELY = datetime.now(UTC) - timedelta(days=5)


@dataclass(frozen=True)
class Answer:
    """An answer of a source. `chunks_of`: bytes per chunk; `by_uf`: a body for each UF instead."""

    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    chunks_of: int = 0
    by_uf: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Reader:
    """One provider's format for one subject, with a good answer and the paths of some fields."""

    name: str
    provider: str
    subject: Subject
    good: JsonValue
    holder: Path  # the document
    text: Path  # a text that is read
    number: Path  # a number that is read
    lists: Mapping[str, tuple[Path, int]] = field(default_factory=dict)  # path, and one too many

    @property
    def inquiry(self) -> Inquiry:
        document = Cpf(CPF) if self.subject == "rural_producer" else Cnpj(CNPJ)
        registered = self.subject in ("state_registration", "rural_producer")
        uf = "SC" if registered else "SP" if self.subject == "state_certificate" else None
        return Inquiry(self.subject, document, uf)


@dataclass(frozen=True)
class Case:
    """One answer to one reader."""

    name: str
    reader: Reader
    make: Callable[[], Answer]


def changed(body: JsonValue, path: Path, value: Any) -> JsonValue:
    """Return a copy with another value at a path."""
    body = copy.deepcopy(body)
    place = body
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return body


def at(body: JsonValue, path: Path) -> Any:
    for step in path:
        body = body[step]
    return body


def json_of(body: JsonValue) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


def _enveloped(*data: Any) -> JsonValue:
    """Return an envelope of Infosimples."""
    return {
        "code": 200 if len(data) == 1 else 201,
        "code_message": "",
        "errors": [],
        "header": {
            "billable": True,
            "elapsed_time_in_milliseconds": 4210,
            "parameters": {"cnpj": CNPJ},
        },
        "data_count": len(data),
        "data": list(data),
        "site_receipts": [],
    }


def _lasting(body: Mapping[str, Any], begins: str, *ends: str) -> dict[str, Any]:
    """Return a certificate that is in force when the tests run, without a receipt."""
    form = "%d/%m/%Y"
    dates = dict.fromkeys(ends, _SOON.strftime(form)) | {begins: _LATELY.strftime(form)}
    return {**body, **dates, "site_receipt": None}


_CND = copy.deepcopy(test_serpro_cnd.SAVED)
_CND["Certidao"] |= {
    "DataEmissao": _LATELY.date().isoformat(),
    "DataValidade": _SOON.date().isoformat(),
    "DocumentoPdf": None,
}
_OF_A_PERSON = {"normalizado_cnpj": "", "cnpj": "", "normalizado_cpf": CPF}

READERS: Mapping[str, Reader] = {
    reader.name: reader
    for reader in (
        Reader(
            "minha_receita: company",
            "minha_receita",
            "company",
            json.loads(test_minha_receita.SAVED),
            ["cnpj"],
            ["razao_social"],
            ["situacao_cadastral"],
            {
                "partners": (["qsa"], PARTNERS_MAX + 1),
                "activities": (["cnaes_secundarios"], 1_001),
            },
        ),
        Reader(
            "cnpja: company",
            "cnpja",
            "company",
            test_cnpja.SAVED,
            ["taxId"],
            ["company", "name"],
            ["status", "id"],
            {
                "partners": (["company", "members"], PARTNERS_MAX + 1),
                "activities": (["sideActivities"], 1_001),
                "telephones": (["phones"], 1_001),
            },
        ),
        Reader(
            "serpro: company",
            "serpro",
            "company",
            test_serpro.SAVED,
            ["ni"],
            ["nomeEmpresarial"],
            ["situacaoCadastral", "codigo"],
            {
                "partners": (["socios"], PARTNERS_MAX + 1),
                "activities": (["cnaeSecundarias"], 1_001),
            },
        ),
        Reader(
            "cnpja: state_registration",
            "cnpja",
            "state_registration",
            test_cnpja_registrations.SAVED,
            ["taxId"],
            ["registrations", 0, "number"],
            ["registrations", 0, "type", "id"],
            {"registrations": (["registrations"], REGISTRATIONS_MAX + 1)},
        ),
        Reader(
            "cnpja: suframa",
            "cnpja",
            "suframa",
            test_cnpja_suframa.SAVED,
            ["taxId"],
            ["name"],
            ["status", "id"],
            {"incentives": (["incentives"], 1_001), "activities": (["sideActivities"], 1_001)},
        ),
        Reader(
            "infosimples: state_registration",
            "infosimples",
            "state_registration",
            _enveloped(infosimples_registrations.SAVED),
            ["data", 0, "normalizado_cnpj"],
            ["data", 0, "inscricao_estadual"],
            ["code"],
            {"registrations": (["data"], REGISTRATIONS_MAX + 1)},
        ),
        Reader(
            "infosimples: rural_producer",
            "infosimples",
            "rural_producer",
            _enveloped(infosimples_registrations.SAVED | _OF_A_PERSON),
            ["data", 0, "normalizado_cpf"],
            ["data", 0, "inscricao_estadual"],
            ["code"],
            {"registrations": (["data"], REGISTRATIONS_MAX + 1)},
        ),
        Reader(
            "infosimples: federal_certificate",
            "infosimples",
            "federal_certificate",
            _enveloped(
                _lasting(infosimples_federal.SAVED, "emissao_data", "validade", "validade_data")
            ),
            ["data", 0, "normalizado_cnpj"],
            ["data", 0, "certidao"],
            ["code"],
        ),
        Reader(
            "infosimples: state_certificate",
            "infosimples",
            "state_certificate",
            _enveloped(
                _lasting(infosimples_state.SAVED, "emissao_data", "validade_data")
                | {"normalizado_cnpj": CNPJ}
            ),
            ["data", 0, "normalizado_cnpj"],
            ["data", 0, "certidao_mensagem"],
            ["code"],
        ),
        Reader(
            "infosimples: labour_certificate",
            "infosimples",
            "labour_certificate",
            _enveloped(
                _lasting(infosimples_labour.SAVED, "emissao_data", "validade", "validade_data")
            ),
            ["data", 0, "normalizado_cnpj"],
            ["data", 0, "nome"],
            ["code"],
        ),
        Reader(
            "infosimples: fgts_regularity",
            "infosimples",
            "fgts_regularity",
            _enveloped(
                _lasting(infosimples_fgts.SAVED, "validade_inicio_data", "validade_fim_data")
            ),
            ["data", 0, "inscricao"],
            ["data", 0, "razao_social"],
            ["code"],
        ),
        Reader(
            "serpro_cnd: federal_certificate",
            "serpro",
            "federal_certificate",
            _CND,
            ["Certidao", "ContribuinteCertidao"],
            ["Certidao", "CodigoControle"],
            ["Status"],
        ),
        Reader("sefaz: state_registration", "sefaz", "state_registration", None, (), (), ()),
        Reader("sefaz: rural_producer", "sefaz", "rural_producer", None, (), (), ()),
    )
}

# ---- JSON ----


def _spliced(reader: Reader, path: Path, raw: bytes) -> bytes:
    """Return the good answer with raw bytes instead of the value at a path."""
    body = changed(reader.good, path, "<here>")
    return json_of(body).replace(b'"<here>"', raw)


def _with(reader: Reader, raw: bytes) -> bytes:
    """Return the good answer with an additional field, which is ignored."""
    return json_of(reader.good)[:-1] + b',"alheio":' + raw + b"}"


def _typed(body: JsonValue, value: Any) -> JsonValue:
    """Return a copy with every text, number and Boolean replaced."""
    if isinstance(body, dict):
        return {name: _typed(each, value) for name, each in body.items()}
    if isinstance(body, list):
        return [_typed(each, value) for each in body]
    return value


def _utf16(reader: Reader) -> Answer:
    return Answer(json_of(reader.good).decode().encode("utf-16"))


def _other(reader: Reader) -> Any:
    return OTHER_CPF if reader.subject == "rural_producer" else OTHER_CNPJ


def _duplicate_key(reader: Reader) -> Answer:
    """Return an answer with a duplicate key: the last one counts, as in other JSON parsers."""
    name = json.dumps(reader.holder[-1]).encode() + b":"
    raw = json_of(reader.good).replace(b'": ', b'":')
    return Answer(
        raw.replace(name, name + b'"1",' + name + b'"' + _other(reader).encode() + b'",' + b'"x":')
    )


JSON: Mapping[str, Callable[[Reader], Answer]] = {
    "nothing": lambda r: Answer(b""),
    "blanks": lambda r: Answer(b" " * 60_000),
    "a page": lambda r: Answer(b"<html><body>Em manuten\xc3\xa7\xc3\xa3o</body></html>"),
    "another root": lambda r: Answer(b"[" + json_of(r.good) + b"]"),
    "cut short": lambda r: Answer(json_of(r.good)[:-30]),
    "twice": lambda r: Answer(json_of(r.good) * 2),
    "one byte too long": lambda r: Answer(
        json_of(r.good).ljust(OPERATIONS[r.subject].answer_bytes_max + 1), {}
    ),
    "too long, in pieces": lambda r: Answer(
        json_of(r.good).ljust(OPERATIONS[r.subject].answer_bytes_max + 1), {}, chunks_of=997
    ),
    "byte by byte": lambda r: Answer(json_of(r.good).ljust(30_000), {}, chunks_of=1),
    "deep lists": lambda r: Answer(_with(r, b"[" * 90_000 + b"]" * 90_000)),
    "deep objects": lambda r: Answer(_with(r, b'{"a":' * 50_000 + b"1" + b"}" * 50_000)),
    "too many objects": lambda r: Answer(_with(r, b"[" + b"{}," * 150_000 + b"{}]")),
    "too many values": lambda r: Answer(_with(r, b"[" + b"1," * 400_000 + b"1]")),
    "a wrong byte": lambda r: Answer(_spliced(r, r.text, b'"A\xffB"')),
    "a wrong byte in an ignored field": lambda r: Answer(_with(r, b'"\xed\xa0\x80"')),
    "half a pair": lambda r: Answer(_spliced(r, r.text, b'"A\\ud800 B"')),
    "a raw NUL": lambda r: Answer(_spliced(r, r.text, b'"A\x00B"')),
    "UTF-16": _utf16,
    "a mark of byte order": lambda r: Answer(b"\xef\xbb\xbf" + json_of(r.good)),
    "a long text": lambda r: Answer(
        json_of(changed(r.good, r.text, "A\u0301 " * TEXT_CHARACTERS_MAX))
    ),
    "an enormous text": lambda r: Answer(
        _spliced(r, r.text, b'"' + b"7\\n" * (OPERATIONS[r.subject].answer_bytes_max // 4) + b'"')
    ),
    "an infinite number": lambda r: Answer(_spliced(r, r.number, b"1e400")),
    "a number of 100,000 digits": lambda r: Answer(_spliced(r, r.number, b"9" * 100_000)),
    "no number": lambda r: Answer(_spliced(r, r.number, b"NaN")),
    "lists everywhere": lambda r: Answer(json_of(_typed(r.good, [["x"]]))),
    "objects everywhere": lambda r: Answer(json_of(_typed(r.good, {"x": {"y": 1}}))),
    "a duplicate key, about another document": _duplicate_key,
    "about another document": lambda r: Answer(json_of(changed(r.good, r.holder, _other(r)))),
    "a bomb": lambda r: Answer(
        gzip.compress(json_of(r.good).ljust(50_000_000), 9), {"content-encoding": "gzip"}
    ),
}


def _too_many(reader: Reader, path: Path, count: int) -> Answer:
    (first, *_) = at(reader.good, path)
    return Answer(json_of(changed(reader.good, path, [first] * count)))


def _too_many_bare(reader: Reader, path: Path) -> Answer:
    return Answer(_spliced(reader, path, b"[" + b"{}," * 90_000 + b"{}]"))


def _json_cases() -> Iterator[Case]:
    for reader in READERS.values():
        if reader.good is None:
            continue
        for name, make in JSON.items():
            yield Case(name, reader, lambda make=make, reader=reader: make(reader))  # type: ignore[misc]
        for name, (path, count) in reader.lists.items():
            yield Case(
                f"too many {name}",
                reader,
                lambda r=reader, p=path, c=count: _too_many(r, p, c),  # type: ignore[misc]
            )
            yield Case(
                f"far too many bare {name}",
                reader,
                lambda r=reader, p=path: _too_many_bare(r, p),  # type: ignore[misc]
            )


# ---- XML ----


def soap(inner: str, wrapper: str = "nfeResultMsg") -> bytes:
    return sefaz.enveloped(inner, wrapper)


def entries(count: int, reader: Reader, uf: str = "SC", **changes: str | None) -> str:
    """Return registrations of the reader's document."""
    own: dict[str, str | None] = {}
    if reader.subject == "rural_producer":
        own = {"CNPJ": None, "CPF": CPF}
    return "".join(sefaz.an_entry({"IE": a_number(uf, n), **own, **changes}) for n in range(count))


def a_number(uf: str, n: int) -> str:
    """Return the nth of ten thousand valid numbers of a state."""
    return completed(uf, f"1{n:04}".ljust(length(uf), "0"))


def answer_xml(reader: Reader, inner: str, code: str = "111") -> str:
    who: dict[str, str | None] = {}
    if reader.subject == "rural_producer":
        who = {"CNPJ": None, "CPF": CPF}
    return sefaz.an_answer(code, inner, changes=who)


def _good(reader: Reader) -> str:
    return answer_xml(reader, entries(1, reader))


def _escaped(text: str, times: int) -> str:
    for _ in range(times):
        text = html.escape(text)
    return text


def _entity_bomb(depth: int = 9) -> str:
    names = "".join(f"<!ENTITY a{n + 1} '" + f"&a{n};" * 10 + "'>" for n in range(depth))
    return f'<!DOCTYPE b [<!ENTITY a0 "ha">{names}]><b>&a{depth};</b>'


XML: Mapping[str, Callable[[Reader], Answer]] = {
    "nothing": lambda r: Answer(b""),
    "blanks": lambda r: Answer(b" " * 60_000),
    "a page": lambda r: Answer(b"<html><body>Em manuten\xc3\xa7\xc3\xa3o<br></body></html>"),
    "cut short": lambda r: Answer(soap(_good(r))[:-40]),
    "twice": lambda r: Answer(soap(_good(r)) * 2),
    "one byte too long": lambda r: Answer(soap(_good(r)).ljust(1_000_001)),
    "9.8 MB of registrations": lambda r: Answer(soap(answer_xml(r, entries(1, r) * 18_000, "112"))),
    "49,000 registrations": lambda r: Answer(
        soap(answer_xml(r, "<infCad><IE>1</IE></infCad>" * 49_000, "112"))
    ),
    "too long, in pieces": lambda r: Answer(soap(_good(r)).ljust(1_000_001), {}, chunks_of=97),
    "byte by byte": lambda r: Answer(soap(_good(r)).ljust(30_000), {}, chunks_of=1),
    "1,001 registrations": lambda r: Answer(soap(answer_xml(r, entries(1_001, r), "112"))),
    "30,000 bare registrations": lambda r: Answer(soap(answer_xml(r, "<infCad/>" * 30_000, "112"))),
    "200,000 elements": lambda r: Answer(soap(answer_xml(r, entries(1, r) + "<a/>" * 200_000))),
    "elements in a registration": lambda r: Answer(
        soap(
            answer_xml(
                r, entries(1, r, IE=None).replace("<infCad>", "<infCad>" + "<a>1</a>" * 90_000)
            )
        )
    ),
    "escaped in every element": lambda r: Answer(soap("<a>&lt;b/&gt;</a>" * 40_000)),
    "escaped in an unknown wrapper": lambda r: Answer(
        soap(f"<a>{_escaped(_good(r), 1)}</a>", "envelope")
    ),
    "escaped twice": lambda r: Answer(soap(_escaped(_good(r), 2))),
    "escaped ten times": lambda r: Answer(soap(_escaped("<a/>", 10))),
    "200,000 escaped elements": lambda r: Answer(soap(_escaped("<a/>" * 60_000, 1))),
    "many wrappers": lambda r: Answer(
        soap("<nfeResultMsg>&lt;a/&gt;</nfeResultMsg>" * 15_000, "envelope")
    ),
    "deep": lambda r: Answer(b"<a>" * 90_000 + b"</a>" * 90_000),
    "deep in the answer": lambda r: Answer(soap(answer_xml(r, "<a>" * 300 + "</a>" * 300))),
    "an entity bomb": lambda r: Answer(_entity_bomb().encode()),
    "an entity bomb in the wrapper": lambda r: Answer(soap(_escaped(_entity_bomb(), 1))),
    "a type in another encoding": lambda r: Answer(_entity_bomb().encode("utf-16")),
    "an external file": lambda r: Answer(
        b'<!DOCTYPE b [<!ENTITY x SYSTEM "file:///etc/hostname">]><b>&x;</b>'
    ),
    "an unknown entity": lambda r: Answer(soap(answer_xml(r, entries(1, r, xNome="&nada;")))),
    "only comments": lambda r: Answer(soap("<!---->" * 130_000)),
    "comments in a registration": lambda r: Answer(
        soap(answer_xml(r, entries(1, r, IE="<!---->" * 120_000)))
    ),
    "instructions": lambda r: Answer(soap("<?a b?>" * 130_000)),
    "attributes": lambda r: Answer(
        soap("<a " + " ".join(f'a{n}="1"' for n in range(80_000)) + "/>"),
    ),
    "the same attribute again": lambda r: Answer(soap("<a " + 'a="1" ' * 100_000 + "/>")),
    "namespaces": lambda r: Answer(
        soap("<a " + " ".join(f'xmlns:a{n}="urn:{n}"' for n in range(30_000)) + "/>")
    ),
    "references": lambda r: Answer(soap(answer_xml(r, entries(1, r, xNome="&#65;" * 150_000)))),
    "a wrong byte": lambda r: Answer(soap(_good(r)).replace(b"CENTRO", b"\xff")),
    "a NUL": lambda r: Answer(soap(answer_xml(r, entries(1, r, xNome="A&#0;B")))),
    "half a pair": lambda r: Answer(soap(answer_xml(r, entries(1, r, xNome="A&#xD800;B")))),
    "a long text": lambda r: Answer(
        soap(answer_xml(r, entries(1, r, xNome="A\u0301 " * TEXT_CHARACTERS_MAX)))
    ),
    "an enormous text": lambda r: Answer(soap(answer_xml(r, entries(1, r, IE="7" * 900_000)))),
    "an enormous code": lambda r: Answer(soap(answer_xml(r, entries(1, r), "1" * 900_000))),
    "an enormous instant": lambda r: Answer(
        soap(_good(r).replace("2026-08-05T10:15:30", "2" * 900_000))
    ),
    "another situation": lambda r: Answer(soap(answer_xml(r, entries(1, r, cSit="9" * 5_000)))),
    "a fault": lambda r: Answer(soap("<Fault><a>x</a></Fault>")),
    "without registrations": lambda r: Answer(soap(answer_xml(r, ""))),
    "about another document": lambda r: Answer(
        soap(
            _good(r).replace(
                CPF if r.subject == "rural_producer" else CNPJ,
                OTHER_CPF if r.subject == "rural_producer" else OTHER_CNPJ,
            )
        )
    ),
    "a bomb": lambda r: Answer(
        zlib.compress(soap(_good(r)).ljust(50_000_000), 9), {"content-encoding": "deflate"}
    ),
}


def _xml_cases() -> Iterator[Case]:
    for reader in READERS.values():
        if reader.good is not None:
            continue
        for name, make in XML.items():
            yield Case(name, reader, lambda make=make, reader=reader: make(reader))  # type: ignore[misc]


CORPUS: Sequence[Case] = [*_json_cases(), *_xml_cases()]


def good(reader: Reader) -> Answer:
    """Return the reader's good answer."""
    return Answer(soap(_good(reader)) if reader.good is None else json_of(reader.good))


def unclean(reader: Reader) -> Answer:
    """Return the good answer with control characters and line breaks in all texts."""
    if reader.good is None:
        return Answer(soap(re.sub(">([^<>]+)<", _unclean_element, _good(reader))))
    return Answer(json_of(_unclean(reader.good)))


def _unclean_element(match: re.Match[str]) -> str:
    # XML allows only three characters below the blank
    broken = match[1].replace(" ", "&#13;&#10;&#9;")
    return f">&#127;&#10;{broken[0]}&#x9f;{broken[1:]}&#133;&#128;<"


def _unclean(body: JsonValue) -> JsonValue:
    if isinstance(body, dict):
        return {name: _unclean(each) for name, each in body.items()}
    if isinstance(body, list):
        return [_unclean(each) for each in body]
    if not isinstance(body, str) or not body:
        return body
    broken = body.replace(" ", "\r\n\t")
    return f"\x00\n{broken[0]}\x1b\x07{broken[1:]}\x85\x9f\v"


# ---- The largest answers ----


def _partners(reader: Reader, count: int) -> Answer:
    path, _ = reader.lists["partners"]
    (first, *_) = at(reader.good, path)
    short = re.sub(r"\s+", " ", json.dumps(first, ensure_ascii=False, separators=(",", ":")))
    many = b"[" + b",".join([short.encode()] * count) + b"]"
    return Answer(_spliced(reader, path, many))


def _registered(reader: Reader, count: int) -> Answer:
    if reader.good is None:
        return Answer(soap(answer_xml(reader, entries(count, reader), "112")))
    path, _ = reader.lists["registrations"]
    (first, *_) = at(reader.good, path)
    number = reader.text[-1]
    many = [first | {number: a_number("SC", n)} for n in range(count)]
    return Answer(json_of(changed(reader.good, path, many)))


def largest_everywhere(reader: Reader) -> Answer:
    """Return the highest number of registrations for every treasury."""
    bodies = {
        uf: soap(answer_xml(reader, entries(REGISTRATIONS_MAX, reader, uf, UF=uf), "112")).replace(
            b"</xMotivo><UF>SC</UF>", b"</xMotivo>", 1
        )
        for uf in UFS
    }
    return Answer(b"", by_uf=bodies)


_NEEDED = {  # fields of a partner: with all fields, answers would exceed 4 MB
    "minha_receita: company": ("nome_socio", "cnpj_cpf_do_socio", "qualificacao_socio",
                               "data_entrada_sociedade", "codigo_faixa_etaria"),
    "cnpja: company": ("since", "role", "person"),
    "serpro: company": ("cpf", "nome", "qualificacao", "dataInclusao", "representanteLegal"),
}  # fmt: skip


def _edges() -> Iterator[Case]:
    for reader in READERS.values():
        if reader.subject == "company":
            path, _ = reader.lists["partners"]
            first = at(reader.good, path)[0]
            lean = {name: first[name] for name in _NEEDED[reader.name]}
            slim = Reader(
                reader.name, reader.provider, reader.subject,
                changed(reader.good, path, [lean]), reader.holder, reader.text, reader.number,
                reader.lists,
            )  # fmt: skip
            yield Case(
                f"{PARTNERS_MAX} partners",
                slim,
                lambda r=slim: _partners(r, PARTNERS_MAX),  # type: ignore[misc]
            )
        elif reader.subject in ("state_registration", "rural_producer"):
            yield Case(
                f"{REGISTRATIONS_MAX} registrations",
                reader,
                lambda r=reader: _registered(r, REGISTRATIONS_MAX),  # type: ignore[misc]
            )


# The largest answers that are accepted.
EDGES: Sequence[Case] = [*_edges()]
