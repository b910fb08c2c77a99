"""The record of the Manaus free-trade-zone authority, as it is kept and sent.

Fields: specification, "Free-trade-zone registry record"; status codes: contract 8. What the
source does not say is absent.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Self

import msgspec

from balcao.core.check_digits import zone_check_digit
from balcao.core.described import described, said
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

    codigo: Annotated[int, said("O código.")]
    descricao: Annotated[str, said("A descrição.")]


@described("Pais", "Um país.")
class ZoneCountry(msgspec.Struct, frozen=True):
    """Country of an address."""

    nome: Annotated[str, said("Nome do país.")]


@described("EnderecoSuframa", "Endereço registrado na Suframa.")
class ZoneAddress(msgspec.Struct, frozen=True, omit_defaults=True):
    """The registered address."""

    codigo_municipio: Annotated[int | None, said("Código IBGE do município.")] = None
    logradouro: Annotated[str | None, said("Logradouro.")] = None
    numero: Annotated[str | None, said("Número.")] = None
    bairro: Annotated[str | None, said("Bairro.")] = None
    cidade: Annotated[str | None, said("Município.")] = None
    estado: Annotated[str | None, said("Sigla da UF.")] = None
    cep: Annotated[str | None, said("CEP, só dígitos.")] = None
    pais: Annotated[ZoneCountry | None, said("País.")] = None


@described("TelefoneSuframa", "Um telefone.")
class ZonePhone(msgspec.Struct, frozen=True):
    """A telephone number."""

    ddd: Annotated[str, said("Código de área.")]
    numero: Annotated[str, said("Número, só dígitos.")]


@described("EmailSuframa", "Um e-mail.")
class ZoneEmail(msgspec.Struct, frozen=True):
    """An e-mail address and its domain."""

    endereco: Annotated[str, said("Endereço completo.")]
    dominio: Annotated[str, said("Domínio.")]


@described("AtividadeSuframa", "Uma atividade econômica.")
class ZoneActivity(msgspec.Struct, frozen=True):
    """An economic activity and whether it is exercised."""

    codigo: Annotated[int, said("Código CNAE.")]
    atividade_exercida: Annotated[bool, said("`true` se a atividade é exercida.")]
    descricao: Annotated[str, said("Descrição.")]


@described("Incentivo", "Um incentivo fiscal.")
class Incentive(msgspec.Struct, frozen=True):
    """A tax incentive granted."""

    fundamento_legal: Annotated[str, said("Fundamento legal.")]
    beneficio: Annotated[str, said("Benefício: isenção, redução, …")]
    finalidade: Annotated[str, said("Finalidade.")]
    tributo: Annotated[str, said("Tributo: IPI, ICMS, …")]


class ZoneRecord(Record, frozen=True, omit_defaults=True):
    """One company in the authority's registry."""

    cnpj: Annotated[str, said("CNPJ consultado, sem pontuação.")]
    inscricao: Annotated[str, said("Número da inscrição na Suframa.")]
    nome: Annotated[str, said("Razão social.")]
    matriz: Annotated[bool, said("`true` se o estabelecimento é a matriz.")]
    aprovado: Annotated[bool, said("`true` se a inscrição está aprovada.")]
    status: Annotated[NumberedText, said("Situação atual da inscrição.")]
    atualizado_em: Annotated[
        str | None, said("Última atualização do registro.", format="date-time")
    ] = None
    desde: Annotated[str | None, said("Início da inscrição.", format="date")] = None
    data_aprovacao: Annotated[str | None, said("Data da aprovação.", format="date")] = None
    natureza_juridica: Annotated[NumberedText | None, said("Natureza jurídica.")] = None
    endereco: Annotated[ZoneAddress | None, said("Endereço registrado.")] = None
    telefones: Annotated[tuple[ZonePhone, ...] | None, said("Telefones registrados.")] = None
    emails: Annotated[tuple[ZoneEmail, ...] | None, said("E-mails registrados.")] = None
    atividade_principal: Annotated[ZoneActivity | None, said("Atividade principal.")] = None
    atividades_secundarias: Annotated[
        tuple[ZoneActivity, ...] | None, said("Atividades secundárias.")
    ] = None
    incentivos: Annotated[tuple[Incentive, ...] | None, said("Incentivos fiscais concedidos.")] = (
        None
    )

    def flaw(self, inquiry: Inquiry) -> str | None:
        """See `Record`."""
        if (another := self.another(self.cnpj, inquiry, ("inscricao", "nome"))) is not None:
            return another
        return None if is_zone_number(self.inscricao) else "inscrição com dígito verificador errado"

    def as_allowed(self, inquiry: Inquiry) -> Self:
        """A sole trader's name ends with the CPF, which may stand in address and e-mail, too."""
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
    """Whether this is a number of Suframa's: `SS.NNNN.LLD`, nine digits (ADR 0049).

    With its points or without them; a zero in front may be missing.
    """
    bare = text.translate(_PUNCTUATION)
    if not _ZONE_NUMBER.fullmatch(bare) or not bare.strip("0"):
        return False
    number = bare.rjust(9, "0")
    return zone_check_digit(number[:8]) == number[8]
