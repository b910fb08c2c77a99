"""Handmade months: a few rows, in the publisher's zips."""

import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import apsw
from stdnum.br import cnpj as stdnum_cnpj

from balcao.core.company import Company
from balcao.core.documents import Cnpj
from balcao.opendata.importer import BuildReport, build
from balcao.opendata.layout import DOMAINS, PARTS_PER_TABLE, TABLES
from balcao.opendata.snapshot import Snapshot

TODAY = date(2026, 8, 20)
DAY = date(2026, 8, 8)

CODES: dict[str, dict[str, str]] = {
    "Cnaes": {"6204000": "Consultoria em TI", "6201501": "Desenvolvimento de software"},
    "Motivos": {"00": "SEM MOTIVO"},
    "Municipios": {"9701": "BRASILIA", "7107": "SAO PAULO", "9707": "EXTERIOR"},
    "Naturezas": {"2062": "Sociedade Empresária Limitada", "2011": "Empresa Pública"},
    "Paises": {"105": "BRASIL", "069": "ANGOLA"},
    "Qualificacoes": {"05": "Administrador", "49": "Sócio-Administrador", "00": "Não informada"},
}

# Default rows; tests override only relevant columns.
ESTABLISHMENT = {
    "cnpj_basico": "33683111",
    "cnpj_ordem": "0002",
    "identificador_matriz_filial": "2",
    "nome_fantasia": "REGIONAL",
    "situacao_cadastral": "02",
    "data_situacao_cadastral": "20040522",
    "motivo_situacao_cadastral": "00",
    "data_inicio_atividade": "19670630",
    "cnae_fiscal_principal": "6204000",
    "uf": "DF",
    "municipio": "9701",
}
COMPANY = {
    "cnpj_basico": "33683111",
    "razao_social": "SERVICO FEDERAL",
    "natureza_juridica": "2011",
    "qualificacao_responsavel": "16",
    "capital_social": "1000,00",
    "porte": "05",
}
PARTNER = {
    "cnpj_basico": "33683111",
    "identificador_socio": "2",
    "nome_socio": "FULANA DE TAL",
    "cnpj_cpf_socio": "***222333**",
    "qualificacao_socio": "49",
    "data_entrada_sociedade": "20160616",
    "representante_legal": "***000000**",
    "qualificacao_representante": "00",
    "faixa_etaria": "5",
}
SIMPLES = {
    "cnpj_basico": "33683111",
    "opcao_simples": "S",
    "data_opcao_simples": "20140101",
    "data_exclusao_simples": "00000000",
    "opcao_mei": "N",
    "data_opcao_mei": "00000000",
    "data_exclusao_mei": "00000000",
}
_DEFAULTS = {
    "Estabelecimentos": ESTABLISHMENT,
    "Empresas": COMPANY,
    "Socios": PARTNER,
    "Simples": SIMPLES,
}


def record(fields: Iterable[str]) -> bytes:
    """Encode in the publisher's form: all fields in quotes, quotes doubled, latin-1, line feed."""
    body = '";"'.join(text.replace('"', '""') for text in fields)
    return f'"{body}"\n'.encode("latin-1")


def row(table: str, **columns: str) -> bytes:
    """Build a row with these columns, the others as in the defaults above, or empty."""
    values = _DEFAULTS[table] | columns
    if table == "Estabelecimentos":
        key = values["cnpj_basico"] + values["cnpj_ordem"]
        values = {"cnpj_dv": stdnum_cnpj.calc_check_digits(key)} | values
    return record(values.get(name, "") for name in TABLES[table].columns)


def cnpj(root: str, order: str = "0001") -> Cnpj:
    """Return the CNPJ with its check digits."""
    return Cnpj(root + order + stdnum_cnpj.calc_check_digits(root + order))


def root(number: int) -> str:
    """Return a fictitious root; they are spread over all blocks."""
    return f"{number * 7919 % 100_000_000:08d}"


@dataclass
class Month:
    """The content of each zip, by its name without `.zip`."""

    folder: Path
    day: date = DAY
    files: dict[str, bytes] = field(default_factory=dict)
    codes: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: CODES)

    def __post_init__(self) -> None:
        for table, parts in PARTS_PER_TABLE.items():
            self.files.setdefault(table if parts == 1 else f"{table}0", row(table))
            for number in range(1, parts):
                self.files.setdefault(f"{table}{number}", b"")

    def write(self, **options: Any) -> Path:
        """Write the zips, including tables of codes."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self.folder.glob("*.zip"):
            old.unlink()
        contents = dict(self.files)
        for name, texts in self.codes.items():
            contents[name] = b"".join(record(pair) for pair in texts.items())
        for name, content in contents.items():
            write_zip(self.folder / f"{name}.zip", inner_name(name, self.day), content, **options)
        return self.folder

    def build(self, store: Path, **options: Any) -> BuildReport:
        """Write and import the month."""
        return build([self.write()], store, **{"today": TODAY} | options)


def dealt(table: str, rows: Sequence[bytes]) -> dict[str, bytes]:
    """Distribute rows over all parts of a table, in order and about as many in each."""
    cuts = [len(rows) * part // 10 for part in range(11)]
    return {f"{table}{part}": b"".join(rows[cuts[part] : cuts[part + 1]]) for part in range(10)}


def inner_name(name: str, day: date) -> str:
    """Return the publisher's name of the entry."""
    stamp = f"D{day.year % 10}{day:%m%d}"
    if name == "Simples":
        return f"F.K03200$W.SIMPLES.CSV.{stamp}"
    if name in DOMAINS:
        return f"F.K03200$Z.{stamp}.{DOMAINS[name].inner_mark}"
    return f"K3241.K03200Y{name[-1]}.{stamp}.{TABLES[name[:-1]].inner_mark}"


def write_zip(
    path: Path, inner: str, content: bytes, *, method: int = zipfile.ZIP_DEFLATED, **options: Any
) -> None:
    """Write a zip with one entry."""
    with zipfile.ZipFile(path, "w", method) as archive, archive.open(inner, "w", **options) as file:
        file.write(content)


def find(report: BuildReport, *expected: Cnpj) -> list[Company | None]:
    """Look CNPJs up in the snapshot."""
    snapshot = Snapshot.open(report.path)
    try:
        return [snapshot.find(one) for one in expected]
    finally:
        snapshot.close()


def company(report: BuildReport, one: Cnpj | None = None) -> Company:
    """Return a company that must exist: by default the establishment of the default row."""
    (found,) = find(report, one or cnpj("33683111", "0002"))
    assert found is not None
    return found


def content(path: Path) -> dict[str, Sequence[tuple[Any, ...]]]:
    """Return all rows of a snapshot that its reader can see, except the day it was built."""
    connection = apsw.Connection(
        f"file:{path}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )
    tables: dict[str, Sequence[tuple[Any, ...]]] = {
        name: list(connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2"))
        for name in ("establishment", "company", "domain")
    }
    tables["meta"] = list(
        connection.execute(
            "SELECT name, value FROM meta WHERE name LIKE 'dictionary%' OR name = 'info' ORDER BY 1"
        )
    )
    connection.close()
    return tables
