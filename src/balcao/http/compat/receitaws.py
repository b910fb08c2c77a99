"""ReceitaWS: `GET /v1/cnpj/{cnpj}`, optionally with `/days/{n}`. Nearly all values are text."""

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from balcao.core.company import NO_REASON, Coded, Partner, TaxOption
from balcao.core.documents import Cnpj
from balcao.core.errors import CnpjNotFound, InvalidCnpj, InvalidParameter
from balcao.core.month_detail import PartnerDetail, partners_with_details
from balcao.core.questions import Strategy
from balcao.http.compat.api import CompatAnswer, CompatApi, CompatInput, RefusedLookup, as_json
from balcao.http.compat.formats import activity, midnight, phones_of, slashed
from balcao.operations.parameters import CACHE

_DAYS = "/days/"
_BEARER = b"bearer "
_TEXT = b"text/plain; charset=utf-8"


class TextActivity(msgspec.Struct, frozen=True):
    """An activity."""

    code: str
    text: str


# Their values in place of missing ones.
_NO_ACTIVITY = TextActivity("00.00-0-00", "Não informada")


class TextPartner(msgspec.Struct, frozen=True, omit_defaults=True):
    """A partner. Missing fields are left out."""

    nome: str
    qual: str
    pais_origem: str | None = None
    nome_rep_legal: str | None = None
    qual_rep_legal: str | None = None


class TextRegime(msgspec.Struct, frozen=True):
    """The company's option for Simples or for MEI."""

    optante: bool | None
    data_opcao: str | None
    data_exclusao: str | None
    ultima_atualizacao: str | None


class TextBilling(msgspec.Struct, frozen=True):
    """How the answer is billed: whether it was free, and whether it was cached."""

    free: bool
    database: bool


class TextExtra(msgspec.Struct, frozen=True):
    """Always empty, as theirs is."""


class TextCompany(msgspec.Struct, frozen=True, kw_only=True):
    """The body."""

    abertura: str
    situacao: str
    tipo: str
    nome: str
    fantasia: str
    porte: str
    natureza_juridica: str
    atividade_principal: Sequence[TextActivity]
    atividades_secundarias: Sequence[TextActivity]
    qsa: Sequence[TextPartner]
    logradouro: str
    numero: str
    complemento: str
    municipio: str
    bairro: str
    uf: str
    cep: str
    email: str
    telefone: str
    data_situacao: str
    cnpj: str
    ultima_atualizacao: str | None
    status: str = "OK"
    efr: str
    motivo_situacao: str
    situacao_especial: str
    data_situacao_especial: str
    capital_social: str
    simples: TextRegime
    simei: TextRegime
    extra: TextExtra = TextExtra()
    billing: TextBilling


class ReceitaWs(CompatApi):
    """Errors are `{"status","message"}`, those about a CNPJ with status 200."""

    name = "receitaws"
    path = "v1/cnpj/"
    key_headers = (b"authorization",)

    def bare(self, sent: bytes) -> bytes:
        """Remove the scheme `Bearer`."""
        return sent[len(_BEARER) :].strip() if sent[: len(_BEARER)].lower() == _BEARER else sent

    def document(self, rest: str) -> str:
        """Return the text before `/days/{n}`."""
        return rest.partition(_DAYS)[0]

    def query(self, rest: str) -> bytes:
        """Translate `/days/{n}`, the greatest age of a cached answer (contract 16.2)."""
        _, days, age = rest.partition(_DAYS)
        if not days:
            return b""
        if not CACHE.FORM.fullmatch(age) or int(age) > CACHE.largest:
            raise InvalidParameter(
                f"Depois de /days/ vem um número inteiro de dias, de 0 a {CACHE.largest}."
            )
        return f"cache={age}&cache_strategy={Strategy.CACHE_PREFERENCIAL}".encode()

    def body(self, found: CompatInput) -> TextCompany:
        company, month = found.company, found.month
        main = company.atividade_economica_principal
        updated = midnight(found.day)
        return TextCompany(
            abertura=slashed(company.data_de_abertura) or "",
            situacao=company.situacao_cadastral or "",
            tipo=company.identificador_matriz_filial or "",
            nome=company.nome_empresarial or "",
            fantasia=company.nome_fantasia or "",
            porte=company.porte or "",
            natureza_juridica=_nature(company.natureza_juridica),
            atividade_principal=[_activity(main) if main else _NO_ACTIVITY],
            atividades_secundarias=[
                _activity(each) for each in company.atividades_economicas_secundarias
            ]
            or [_NO_ACTIVITY],
            qsa=[_partner(*each) for each in partners_with_details(company, month)],
            logradouro=" ".join(filter(None, (company.tipo_logradouro, company.logradouro))),
            numero=company.numero or "",
            complemento=company.complemento or "",
            municipio=company.municipio or "",
            bairro=company.bairro or "",
            uf=company.uf or "",
            cep=_postal_code(company.cep),
            email=company.endereco_eletronico or "",
            telefone="/ ".join([_phone(*phone) for phone in phones_of(company)]),
            data_situacao=slashed(company.data_da_situacao_cadastral) or "",
            cnpj=Cnpj(company.cnpj).punctuated,
            ultima_atualizacao=updated,
            efr=company.ente_federativo_responsavel or "",
            motivo_situacao=_reason(company.motivo_situacao_cadastral),
            situacao_especial=company.situacao_especial or "",
            data_situacao_especial=slashed(company.data_da_situacao_especial) or "",
            capital_social=_amount(company.capital_social),
            simples=_regime(company.simples, found.simples_day),
            simei=_regime(company.mei, found.simples_day),
            billing=TextBilling(found.free, found.kept),
        )

    def refuse(self, refused: RefusedLookup) -> CompatAnswer:
        """Return a refusal; too many requests get a plain sentence."""
        if refused.status == 429:
            return CompatAnswer(429, refused.message.encode(), _TEXT)
        message = _SENTENCES.get(refused.code, refused.message)
        status = 200 if refused.code in _SENTENCES else refused.status
        return as_json(status, {"status": "ERROR", "message": message})


# Errors that their clients expect with status 200.
_SENTENCES = {
    InvalidCnpj.code: "CNPJ inválido",
    CnpjNotFound.code: "CNPJ rejeitado pela Receita Federal",
}


def _activity(coded: Coded) -> TextActivity:
    return TextActivity(activity(coded.codigo, "##.##-#-##") or "", coded.descricao or "")


def _regime(option: TaxOption | None, day: str | None) -> TextRegime:
    if option is None:
        return TextRegime(None, None, None, None)
    return TextRegime(option.optante, slashed(option.desde), slashed(option.ate), midnight(day))


def _nature(coded: Coded | None) -> str:
    if coded is None or coded.codigo is None:
        return ""
    code = coded.codigo
    return f"{code[:3]}-{code[3:]} - {coded.descricao}" if coded.descricao else code


def _partner(partner: Partner, known: PartnerDetail | None) -> TextPartner:
    role = known.representative_qualification if known else None
    represented = partner.nome_representante_legal
    return TextPartner(
        nome=partner.nome or "",
        qual=_role(known.qualification if known else None, partner.qualificacao_socio),
        pais_origem=partner.pais,
        nome_rep_legal=represented,
        qual_rep_legal=(_role(role, None) or None) if represented else None,
    )


def _role(coded: Coded | None, text: str | None) -> str:
    """Return `49-Sócio-Administrador`, or the text alone if the code is unknown."""
    if coded is None:
        return text or ""
    text = text or coded.descricao
    return f"{coded.codigo}-{text}" if text else str(coded.codigo)


def _reason(coded: Coded | None) -> str:
    if coded is None or coded.codigo == NO_REASON:
        return ""
    return coded.descricao or ""


def _postal_code(code: str | None) -> str:
    return f"{code[:2]}.{code[2:5]}-{code[5:]}" if code and len(code) == 8 else code or ""


def _phone(area: str, number: str) -> str:
    shown = f"{number[:-4]}-{number[-4:]}"
    return f"({area}) {shown}" if area else shown


def _amount(amount: Decimal | None) -> str:
    return "" if amount is None else f"{amount:.2f}"
