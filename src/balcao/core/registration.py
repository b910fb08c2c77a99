"""State registrations, in the form of all sources and of the cache.

Fields: specification, "State tax registrations" and "Rural producer registrations"; spellings:
contract 8; code tables: `ccc.md` section 2.
"""

import re
from collections.abc import Mapping
from typing import Self, TypeVar

import msgspec

from balcao.core.personal import mask_cpf_in_text, with_masked_texts
from balcao.core.questions import Inquiry, Record
from balcao.core.state_registrations import is_valid
from balcao.core.text import unaccented

AnyRegistrations = TypeVar("AnyRegistrations", bound="Registrations")

_DIGIT = re.compile("[0-9]")
EXEMPTION_CHARACTERS_MAX = 60

REGISTRATIONS_MAX = 1_000  # in one answer of a source (contract 9.5)

# By code of the national base. Code 4 is ignored: its meaning depends on the vendor's version.
TYPE_TEXTS: Mapping[int, str] = {
    1: "IE Normal",
    2: "IE Substituto Tributário",
    3: "IE Não Contribuinte (Canteiro de Obras, IE Virtual, outros)",
    5: "IE de Produtor Rural",
    9: "IE Não Informada",
}
OTHER_UF_TYPE = "IE Contribuinte da UF com Endereço em Outra UF"
ALL_TYPE_TEXTS = (*TYPE_TEXTS.values(), OTHER_UF_TYPE)

SITUATION_TEXTS: Mapping[int, str] = {
    1: "Sem restrição",
    2: "Bloqueado como destinatário na UF",
    3: "Vedada operação como destinatário na UF",
    10: "Emitente bloqueado no destino",
}


class RegisteredAddress(msgspec.Struct, frozen=True, gc=False):
    """The address of a registration. Unknown parts are empty; only `complemento` may be null."""

    logradouro: str = ""
    numero: str = ""
    complemento: str | None = None
    bairro: str = ""
    municipio: str = ""
    codigo_municipio_ibge: str = ""  # 7 digits
    uf: str = ""
    cep: str = ""  # 8 digits


class Registration(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One registration. Unknown fields are absent."""

    inscricao_estadual: str
    uf: str  # the UF of the inquiry
    ativa: bool
    tipo_ie: str | None = None
    situacao_pj: str | None = None
    data_status: str | None = None  # YYYY-MM-DD, of the last change of status
    updated_at: str | None = None  # YYYY-MM-DD HH:mm:ss, in Brasília
    endereco: RegisteredAddress | None = None


class Registrations(Record, frozen=True, omit_defaults=True):
    """All registrations of a document in one UF. An empty `inscricoes` is a result, too."""

    documento: str  # CNPJ or CPF, without punctuation
    uf: str
    nome: str | None = None
    uf_principal: str | None = None  # the company's own UF, if the source gives it
    com_endereco: bool = False  # a source with addresses was asked (contract 4.5)
    inscricoes: tuple[Registration, ...] = ()
    omitidas: int = 0  # registrations of unknown status

    def flaw(self, inquiry: Inquiry) -> str | None:
        if len(self.inscricoes) > REGISTRATIONS_MAX:
            return "resposta com inscrições demais"
        if self.uf != inquiry.uf or any(each.uf != inquiry.uf for each in self.inscricoes):
            return "respondeu sobre outra UF"
        if not all(is_valid(each.uf, each.inscricao_estadual) for each in self.inscricoes):
            return f"inscrição com tamanho ou dígito verificador que não são os de {self.uf}"
        if once_each(self) is None:
            return "a mesma inscrição com dados diferentes"
        return self.another(self.documento, inquiry)

    def as_allowed(self, inquiry: Inquiry) -> Self:
        """Return the record with the CPF of a sole trader masked, in name and addresses."""
        once = once_each(self) or self
        registrations = tuple([_masked(each, self.nome) for each in once.inscricoes])
        return msgspec.structs.replace(
            once, nome=mask_cpf_in_text(self.nome), inscricoes=registrations
        )


_FREE_TEXTS = ("logradouro", "numero", "complemento", "bairro")


def _masked(registration: Registration, name: str | None) -> Registration:
    address = registration.endereco
    if address is None or (masked := with_masked_texts(address, _FREE_TEXTS, (name,))) is address:
        return registration
    return msgspec.structs.replace(registration, endereco=masked)


def type_text(text: str | None, code: int | None = None) -> str | None:
    """Return `tipo_ie` in the contract's spelling, by text first: codes changed over time."""
    return _TYPES_BY_TEXT.get(_plain(text)) or TYPE_TEXTS.get(code or 0)


def situation_text(text: str | None, code: int | None = None) -> str | None:
    """Return `situacao_pj` in the contract's spelling, by text first."""
    return _SITUATIONS_BY_TEXT.get(_plain(text)) or SITUATION_TEXTS.get(code or 0)


def merged(main: Registrations, helper: Registrations) -> Registrations:
    """Return `main` with missing fields filled in from `helper`, by registration number.

    Both are about the same UF. `main` alone determines which registrations exist and are active.
    """
    known = {bare_number(each.inscricao_estadual): each for each in helper.inscricoes}
    return msgspec.structs.replace(
        main,
        nome=main.nome or helper.nome,
        uf_principal=main.uf_principal or helper.uf_principal,
        com_endereco=main.com_endereco or helper.com_endereco,
        inscricoes=tuple(
            _filled(each, known.get(bare_number(each.inscricao_estadual)))
            for each in main.inscricoes
        ),
    )


def has_number(number: str | None) -> bool:
    """Return False for `ISENTO`, `NAO CONTRIBUINTE` and other short texts without a digit.

    Such an item is ignored (contract 9.7). An empty or long text is not: its number is missing or
    wrong.
    """
    text = (number or "").strip()
    return not 0 < len(text) <= EXEMPTION_CHARACTERS_MAX or _DIGIT.search(text) is not None


def once_each(record: AnyRegistrations) -> AnyRegistrations | None:
    """Return the record with every registration once; None if repeated ones contradict each other.

    A field that only one of them has does not contradict (ADR 0024).
    """
    found: dict[str, Registration] = {}
    for each in record.inscricoes:
        number = bare_number(each.inscricao_estadual)
        earlier = found.get(number)
        if earlier is not None and _contradict(earlier, each):
            return None
        found[number] = each if earlier is None else _filled(earlier, each)
    if len(found) == len(record.inscricoes):
        return record
    return msgspec.structs.replace(record, inscricoes=tuple(found.values()))


def _contradict(one: Registration, other: Registration) -> bool:
    return one.ativa is not other.ativa or any(
        (mine := getattr(one, field)) is not None
        and (theirs := getattr(other, field)) is not None
        and mine != theirs
        for field in ("tipo_ie", "situacao_pj", "data_status", "endereco")
    )


def _filled(main: Registration, helper: Registration | None) -> Registration:
    if helper is None:
        return main
    return msgspec.structs.replace(
        main,
        tipo_ie=main.tipo_ie or helper.tipo_ie,
        situacao_pj=main.situacao_pj or helper.situacao_pj,
        data_status=main.data_status or helper.data_status,
        updated_at=main.updated_at or helper.updated_at,
        endereco=main.endereco or helper.endereco,
    )


def bare_number(text: str) -> str:
    """Return a number without leading zeros and punctuation, which differ by source."""
    return re.sub(r"[^0-9A-Z]", "", text.upper()).lstrip("0")


def _plain(text: str | None) -> str:
    """Return the letters and digits of a text, without accents and case."""
    return re.sub(r"[^a-z0-9]", "", unaccented(text or ""))


_TYPES_BY_TEXT = {_plain(text): text for text in ALL_TYPE_TEXTS}
_SITUATIONS_BY_TEXT = {_plain(text): text for text in SITUATION_TEXTS.values()}
