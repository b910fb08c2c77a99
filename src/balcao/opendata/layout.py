"""The files of a month: tables, columns, closed lists of values.

Source: `rfb-open-data.md`, sections 2 and 4. The official layout is not a contract, so the
importer counts what it meets against these lists (section 10) and reports what is unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

QUOTE = 0x22
SEMICOLON = 0x3B
LINE_FEED = 0x0A

# A stored row is a tag letter and the fields joined by this byte. Fields never hold C0
# controls (they are stripped on the way in), so splitting a stored row is exact.
SEPARATOR = 0x1F


@dataclass(frozen=True, slots=True)
class TableLayout:
    """A table whose rows are stored. Column numbers count from 0."""

    name: str  # as in the outer name: Empresas3.zip
    inner_mark: str  # occurs in the inner name
    tag: str  # first byte of its stored rows
    columns: tuple[str, ...]
    key_widths: tuple[int, ...]  # characters of the first columns, which are the key
    dates: tuple[int, ...]
    closed: Mapping[int, frozenset[str]] = field(default_factory=dict)

    @property
    def width(self) -> int:
        return len(self.columns)


@dataclass(frozen=True, slots=True)
class Domain:
    """A table of codes and their texts."""

    name: str
    inner_mark: str
    code_width: int


def _columns(text: str) -> tuple[str, ...]:
    return tuple(text.split())


EMPRESAS = TableLayout(
    name="Empresas",
    inner_mark="EMPRECSV",
    tag="C",
    columns=_columns(
        "cnpj_basico razao_social natureza_juridica qualificacao_responsavel capital_social "
        "porte ente_federativo_responsavel"
    ),
    key_widths=(8,),
    dates=(),
    closed={5: frozenset(("01", "03", "05", ""))},
)

ESTABELECIMENTOS = TableLayout(
    name="Estabelecimentos",
    inner_mark="ESTABELE",
    tag="E",
    columns=_columns(
        "cnpj_basico cnpj_ordem cnpj_dv identificador_matriz_filial nome_fantasia "
        "situacao_cadastral data_situacao_cadastral motivo_situacao_cadastral "
        "nome_cidade_exterior pais data_inicio_atividade cnae_fiscal_principal "
        "cnae_fiscal_secundaria tipo_logradouro logradouro numero complemento bairro cep uf "
        "municipio ddd_1 telefone_1 ddd_2 telefone_2 ddd_fax fax correio_eletronico "
        "situacao_especial data_situacao_especial"
    ),
    key_widths=(8, 4, 2),
    dates=(6, 10, 29),
    closed={3: frozenset(("1", "2")), 5: frozenset(("01", "02", "03", "04", "08"))},
)

SOCIOS = TableLayout(
    name="Socios",
    inner_mark="SOCIOCSV",
    tag="P",
    columns=_columns(
        "cnpj_basico identificador_socio nome_socio cnpj_cpf_socio qualificacao_socio "
        "data_entrada_sociedade pais representante_legal nome_representante "
        "qualificacao_representante faixa_etaria"
    ),
    key_widths=(8,),
    dates=(5,),
    closed={1: frozenset(("1", "2", "3")), 10: frozenset("0123456789")},
)

SIMPLES = TableLayout(
    name="Simples",
    inner_mark="SIMPLES",
    tag="S",
    columns=_columns(
        "cnpj_basico opcao_simples data_opcao_simples data_exclusao_simples opcao_mei "
        "data_opcao_mei data_exclusao_mei"
    ),
    key_widths=(8,),
    dates=(2, 3, 5, 6),
    closed={1: frozenset(("S", "N", "")), 4: frozenset(("S", "N", ""))},
)

# Optional, and in files of another form (`tax_regimes.py`); these are the columns that are stored.
TAX_REGIMES = TableLayout(
    name="RegimeTributario",
    inner_mark="",
    tag="R",
    columns=_columns("cnpj_basico ano forma_de_tributacao quantidade_de_escrituracoes cnpj_da_scp"),
    key_widths=(8,),
    dates=(),
)
TAX_REGIME_FILES = ("Imunes e Isentas", "Lucro Arbitrado", "Lucro Presumido", "Lucro Real")

TABLES = {table.name: table for table in (EMPRESAS, ESTABELECIMENTOS, SOCIOS, SIMPLES)}
LAYOUTS = TABLES | {TAX_REGIMES.name: TAX_REGIMES}

# Tables with any number of rows for a key.
SEVERAL_ROWS = (SOCIOS, TAX_REGIMES)

DOMAINS = {
    domain.name: domain
    for domain in (
        Domain("Cnaes", "CNAECSV", 7),
        Domain("Motivos", "MOTICSV", 2),
        Domain("Municipios", "MUNICCSV", 4),
        Domain("Naturezas", "NATJUCSV", 4),
        Domain("Paises", "PAISCSV", 3),
        Domain("Qualificacoes", "QUALSCSV", 2),
    )
}

PARTS_PER_TABLE = {"Empresas": 10, "Estabelecimentos": 10, "Socios": 10, "Simples": 1}


@dataclass(frozen=True, slots=True)
class TableGroup:
    """Tables whose rows are stored together, in blocks found by one key.

    Establishments are separate from their companies, so that a root with thousands of them does not
    make thousands of lookups read a block of megabytes.
    """

    name: str  # of its table in the snapshot
    title: str  # for people
    tables: tuple[TableLayout, ...]  # rows of one key are kept in this order
    key_characters: int


ESTABLISHMENT_GROUP = TableGroup("establishment", "estabelecimentos", (ESTABELECIMENTOS,), 12)
COMPANY_GROUP = TableGroup("company", "empresas", (EMPRESAS, SIMPLES, SOCIOS, TAX_REGIMES), 8)
GROUPS = (ESTABLISHMENT_GROUP, COMPANY_GROUP)
