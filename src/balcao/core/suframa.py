"""The record of the Manaus free-trade-zone authority (Suframa), as cached and sent.

Fields: specification, "Free-trade-zone registry record"; status codes: contract 8. Unknown fields
are absent.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Self

import msgspec

from balcao.core.check_digits import zone_check_digit
from balcao.core.described import described, doc
from balcao.core.personal import mask_cpf_in_text, with_masked_texts
from balcao.core.questions import Inquiry, Record

STATUS_TEXTS: Mapping[int, str] = {
    1: "Ativa",
    2: "Inativa",
    3: "Bloqueada",
    4: "Cancelada",
    5: "Cancelada Ag. Rec.",
}


@described("CodigoNumerico", "Um código numérico e sua descrição.")
class NumberedText(msgspec.Struct, frozen=True):
    """An integer code and its text."""

    codigo: Annotated[int, doc("O código.")]
    descricao: Annotated[str, doc("A descrição.")]


@described("Pais", "Um país.")
class ZoneCountry(msgspec.Struct, frozen=True):
    """Country of an address."""

    nome: Annotated[str, doc("Nome do país.")]


@described("EnderecoSuframa", "Endereço registrado na Suframa.")
class ZoneAddress(msgspec.Struct, frozen=True, omit_defaults=True):
    """The registered address."""

    codigo_municipio: Annotated[int | None, doc("Código IBGE do município.")] = None
    logradouro: Annotated[str | None, doc("Logradouro.")] = None
    numero: Annotated[str | None, doc("Número.")] = None
    bairro: Annotated[str | None, doc("Bairro.")] = None
    cidade: Annotated[str | None, doc("Município.")] = None
    estado: Annotated[str | None, doc("Sigla da UF.")] = None
    cep: Annotated[str | None, doc("CEP, só dígitos.")] = None
    pais: Annotated[ZoneCountry | None, doc("País.")] = None


@described("TelefoneSuframa", "Um telefone.")
class ZonePhone(msgspec.Struct, frozen=True):
    """A telephone number."""

    ddd: Annotated[str, doc("Código de área.")]
    numero: Annotated[str, doc("Número, só dígitos.")]


@described("EmailSuframa", "Um e-mail.")
class ZoneEmail(msgspec.Struct, frozen=True):
    """An e-mail address and its domain."""

    endereco: Annotated[str, doc("Endereço completo.")]
    dominio: Annotated[str, doc("Domínio.")]


@described("AtividadeSuframa", "Uma atividade econômica.")
class ZoneActivity(msgspec.Struct, frozen=True):
    """An economic activity and whether it is exercised."""

    codigo: Annotated[int, doc("Código CNAE.")]
    atividade_exercida: Annotated[bool, doc("`true` se a atividade é exercida.")]
    descricao: Annotated[str, doc("Descrição.")]


@described("Incentivo", "Um incentivo fiscal.")
class Incentive(msgspec.Struct, frozen=True):
    """A tax incentive granted."""

    fundamento_legal: Annotated[str, doc("Fundamento legal.")]
    beneficio: Annotated[str, doc("Benefício: isenção, redução, …")]
    finalidade: Annotated[str, doc("Finalidade.")]
    tributo: Annotated[str, doc("Tributo: IPI, ICMS, …")]


class ZoneRecord(Record, frozen=True, omit_defaults=True):
    """A company in the authority's registry."""

    cnpj: Annotated[str, doc("CNPJ consultado, sem pontuação.")]
    inscricao: Annotated[str, doc("Número da inscrição na Suframa.")]
    nome: Annotated[str, doc("Razão social.")]
    matriz: Annotated[bool, doc("`true` se o estabelecimento é a matriz.")]
    aprovado: Annotated[bool, doc("`true` se a inscrição está aprovada.")]
    status: Annotated[NumberedText, doc("Situação atual da inscrição.")]
    atualizado_em: Annotated[
        str | None, doc("Última atualização do registro.", format="date-time")
    ] = None
    desde: Annotated[str | None, doc("Início da inscrição.", format="date")] = None
    data_aprovacao: Annotated[str | None, doc("Data da aprovação.", format="date")] = None
    natureza_juridica: Annotated[NumberedText | None, doc("Natureza jurídica.")] = None
    endereco: Annotated[ZoneAddress | None, doc("Endereço registrado.")] = None
    telefones: Annotated[tuple[ZonePhone, ...] | None, doc("Telefones registrados.")] = None
    emails: Annotated[tuple[ZoneEmail, ...] | None, doc("E-mails registrados.")] = None
    atividade_principal: Annotated[ZoneActivity | None, doc("Atividade principal.")] = None
    atividades_secundarias: Annotated[
        tuple[ZoneActivity, ...] | None, doc("Atividades secundárias.")
    ] = None
    incentivos: Annotated[tuple[Incentive, ...] | None, doc("Incentivos fiscais concedidos.")] = (
        None
    )

    def flaw(self, inquiry: Inquiry) -> str | None:
        if (another := self.another(self.cnpj, inquiry, ("inscricao", "nome"))) is not None:
            return another
        return None if is_zone_number(self.inscricao) else "inscrição com dígito verificador errado"

    def as_allowed(self, inquiry: Inquiry) -> Self:
        """Return the record with the CPF of a sole trader masked, in name, address and e-mails."""
        name, address, emails = (self.nome,), self.endereco, self.emails
        return msgspec.structs.replace(
            self,
            nome=mask_cpf_in_text(self.nome),
            endereco=address and with_masked_texts(address, _FREE_TEXTS, name),
            emails=emails
            and tuple([with_masked_texts(each, ("endereco", "dominio"), name) for each in emails]),
        )


_FREE_TEXTS = ("logradouro", "numero", "bairro")
_ZONE_NUMBER = re.compile(r"[0-9]{8,9}", re.ASCII)
_PUNCTUATION = str.maketrans("", "", ".- ")


def is_zone_number(text: str) -> bool:
    """Return whether this is a valid Suframa number: `SS.NNNN.LLD`, nine digits (ADR 0049).

    Points and a leading zero may be missing.
    """
    bare = text.translate(_PUNCTUATION)
    if not _ZONE_NUMBER.fullmatch(bare) or not bare.strip("0"):
        return False
    number = bare.rjust(9, "0")
    return zone_check_digit(number[:8]) == number[8]
