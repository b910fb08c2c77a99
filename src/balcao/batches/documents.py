"""Documents in cells of batches: the reader's results with the codes and texts of rows."""

from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias

import msgspec

from balcao.core.document_reader import DocumentKind, Flaw, Reading, read
from balcao.core.documents import Cnpj, Cpf

DocumentFlaw: TypeAlias = Literal[
    "sem_documento",
    "nao_e_documento",
    "documento_invalido",
    "tamanho_errado",
    "raiz_de_cnpj",
    "varios_documentos",
    "documento_de_outro_tipo",
    "cpf_em_coluna_de_cnpj",  # the operation takes both kinds, this column does not
    "cnpj_em_coluna_de_cpf",
    "documento_ambiguo",
    "numero_cortado_pela_planilha",
]

_FLAWS: Mapping[Flaw, DocumentFlaw] = {
    "nothing": "sem_documento",
    "words": "nao_e_documento",
    "length": "tamanho_errado",
    "digits": "documento_invalido",
    "root": "raiz_de_cnpj",
    "several": "varios_documentos",
    "ambiguous": "documento_ambiguo",
    "other_kind": "documento_de_outro_tipo",
    "cut": "numero_cortado_pela_planilha",
}

# Remedies for flaws that the page explains once for all rows.
REMEDIES: Mapping[str, str] = {
    "cpf_em_coluna_de_cnpj": "Para pessoas, use uma coluna “CPF” e outra “Data de nascimento”.",
    "cnpj_em_coluna_de_cpf": "Para empresas, use uma coluna “CNPJ” ou “Documento”.",
    "raiz_de_cnpj": "Informe o número completo, com 14 caracteres.",
    "varios_documentos": "Deixe só um documento por linha.",
    "documento_ambiguo": "Informe o número completo, com todos os zeros.",
    "numero_cortado_pela_planilha": "Formate a coluna como texto e preencha de novo.",
}
MISPLACED: Mapping[str, DocumentFlaw] = {
    "cnpj": "cpf_em_coluna_de_cnpj",
    "cpf": "cnpj_em_coluna_de_cpf",
}
# Messages of rows; each follows the place of the cell.
SENTENCES: Mapping[DocumentFlaw, str] = {
    "sem_documento": "não há documento nesta linha.",
    "nao_e_documento": "não há um CNPJ nem um CPF nesta célula.",
    "documento_invalido": "os dígitos verificadores não conferem.",
    "tamanho_errado": "faltam ou sobram dígitos. Um CNPJ tem 14 caracteres; um CPF, 11 dígitos.",
    "raiz_de_cnpj": "a célula só tem a raiz do CNPJ, os 8 primeiros caracteres."
    f" {REMEDIES['raiz_de_cnpj']}",
    "varios_documentos": f"há mais de um documento na célula. {REMEDIES['varios_documentos']}",
    "documento_de_outro_tipo": "o documento é de outro tipo. Esta operação usa {kinds}.",
    "cpf_em_coluna_de_cnpj": f"esta coluna é de CNPJ. {REMEDIES['cpf_em_coluna_de_cnpj']}",
    "cnpj_em_coluna_de_cpf": f"esta coluna é de CPF. {REMEDIES['cnpj_em_coluna_de_cpf']}",
    "documento_ambiguo": "sem os zeros à esquerda, há mais de um documento possível."
    f" {REMEDIES['documento_ambiguo']}",
    "numero_cortado_pela_planilha": "a planilha cortou o número (notação científica) e os últimos"
    f" dígitos se perderam. {REMEDIES['numero_cortado_pela_planilha']}",
}


class CellDocument(msgspec.Struct, frozen=True, gc=False):
    """A document read from a cell. `padded`: leading zeros were restored."""

    document: Cnpj | Cpf
    padded: bool = False


def read_document(
    text: str, kinds: Collection[DocumentKind], *, only: bool = True
) -> CellDocument | DocumentFlaw:
    """Return the document of one of these kinds in a cell, or its flaw.

    `only`: the column's name excludes other kinds.
    """
    return row_result(read(text, kinds, only=only))


def row_result(reading: Reading) -> CellDocument | DocumentFlaw:
    """Return the reader's result with the codes of rows (contract 13.4)."""
    if reading.document is not None:
        return CellDocument(reading.document, reading.padded)
    assert reading.flaw is not None
    return _FLAWS[reading.flaw]
