"""Content of a lookup's answer: `rfb-open-data.md`, sections 4, 8 and 12."""

from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import apsw
import pytest

from balcao.core.company import Coded, Company, Partner, TaxOption
from balcao.opendata.current import CurrentSnapshot
from balcao.opendata.errors import OpenDataError
from balcao.opendata.importer import BuildReport
from balcao.opendata.snapshot import Snapshot
from tests.opendata.months import DAY, Month, cnpj, company, content, dealt, find, root, row

SERPRO = cnpj("33683111", "0002")


def answer(folder: Path, table: str = "Estabelecimentos", **columns: str) -> Any:
    name = table if table == "Simples" else f"{table}0"
    return company(Month(folder / "month", files={name: row(table, **columns)}).build(folder))


def test_an_empty_field_is_null(tmp_path: Path) -> None:
    found = answer(
        tmp_path, nome_fantasia="", uf="", municipio="", cnae_fiscal_principal="", cep=""
    )
    assert found.nome_fantasia is None
    assert found.uf is None
    assert found.municipio is None
    assert found.cep is None
    assert found.atividade_economica_principal is None
    assert found.atividades_economicas_secundarias == ()
    assert found.telefone is None
    assert found.situacao_especial is None
    assert found.ente_federativo_responsavel is None


def test_activities_keep_their_order_and_their_code_without_a_text(tmp_path: Path) -> None:
    found = answer(
        tmp_path,
        cnae_fiscal_principal="8888888",
        cnae_fiscal_secundaria="9999999,6201501,6204000",
    )
    assert found.atividade_economica_principal == Coded("8888888", None)
    assert found.atividades_economicas_secundarias == (
        Coded("9999999", None),
        Coded("6201501", "Desenvolvimento de software"),
        Coded("6204000", "Consultoria em TI"),
    )


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("01", "NULA"),
        ("02", "ATIVA"),
        ("03", "SUSPENSA"),
        ("04", "INAPTA"),
        ("08", "BAIXADA"),
        ("2", "ATIVA"),
        ("07", None),
        ("", None),
    ],
)
def test_the_status(tmp_path: Path, code: str, text: str | None) -> None:
    assert answer(tmp_path, situacao_cadastral=code).situacao_cadastral == text


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("00", Coded("00", "SEM MOTIVO")),
        ("0", Coded("00", "SEM MOTIVO")),
        ("93", Coded("93", None)),
        ("", None),
    ],
)
def test_the_reason_of_the_status(tmp_path: Path, code: str, reason: Coded | None) -> None:
    found = answer(tmp_path, motivo_situacao_cadastral=code)
    assert found.motivo_situacao_cadastral == reason


@pytest.mark.parametrize(
    ("code", "ibge"), [("9701", "5300108"), ("7107", "3550308"), ("9707", None), ("", None)]
)
def test_the_municipality_has_the_code_of_ibge(tmp_path: Path, code: str, ibge: str | None) -> None:
    assert answer(tmp_path, municipio=code).codigo_municipio_ibge == ibge


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        ("1000,00", Decimal("1000.00")),
        ("000000000000,50", Decimal("0.50")),
        ("-1,00", Decimal("-1.00")),
        ("1" * 17 + ",00", None),
        ("NaN", None),
        ("", None),
    ],
)
def test_the_capital(tmp_path: Path, written: str, amount: Decimal | None) -> None:
    assert answer(tmp_path, "Empresas", capital_social=written).capital_social == amount


def test_simples_and_mei(tmp_path: Path) -> None:
    dates = {"data_opcao_simples": "20140101", "data_exclusao_simples": "20201231"}
    left = answer(tmp_path, "Simples", opcao_simples="N", opcao_mei="", **dates)
    assert left.simples == TaxOption(False, "2014-01-01", "2020-12-31")
    assert left.mei == TaxOption()


def test_a_company_without_a_row_in_simples_has_unknown_options(tmp_path: Path) -> None:
    found = answer(tmp_path, "Simples", cnpj_basico=root(1))
    assert (found.simples, found.mei) == (None, None)


def test_the_special_status(tmp_path: Path) -> None:
    found = answer(
        tmp_path, situacao_especial="RECUPERACAO JUDICIAL", data_situacao_especial="20250131"
    )
    assert found.situacao_especial == "RECUPERACAO JUDICIAL"
    assert found.data_da_situacao_especial == "2025-01-31"


@pytest.mark.parametrize(
    ("written", "answered"),
    [
        ("70836900", "70836900"),
        ("1310100", "01310100"),
        ("0", None),
        ("       0", None),
        ("00000000", None),
        ("ABCDEFGH", None),
    ],
)
def test_the_postal_code(tmp_path: Path, written: str, answered: str | None) -> None:
    assert answer(tmp_path, cep=written).cep == answered


@pytest.mark.parametrize(
    ("fields", "answered"),
    [
        (("61", "33445566", "", ""), "6133445566"),
        (("61", "33445566", "61", "99887766"), "6133445566 / 6199887766"),
        (("", "", "61", "99887766"), "6199887766"),
        (("011", "33445566", "", ""), "1133445566"),
        (("0021", "33445566", "", ""), "2133445566"),
        (("0", "0", "0000", "00000000"), None),
        (("61", "", "", ""), None),
        (("", "33445566", "", ""), "33445566"),
        (("61", "3344-5566", "", ""), "6133445566"),
        (("61", "-", "", ""), None),
    ],
)
def test_phones(tmp_path: Path, fields: tuple[str, ...], answered: str | None) -> None:
    names = ("ddd_1", "telefone_1", "ddd_2", "telefone_2")
    assert answer(tmp_path, **dict(zip(names, fields, strict=True))).telefone == answered


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("01", "MICRO EMPRESA"),
        ("03", "EMPRESA DE PEQUENO PORTE"),
        ("05", "DEMAIS"),
        ("", None),
        ("00", None),
    ],
)
def test_the_size(tmp_path: Path, code: str, text: str | None) -> None:
    assert answer(tmp_path, "Empresas", porte=code).porte == text


def test_the_nature_keeps_its_code_without_punctuation(tmp_path: Path) -> None:
    found = answer(tmp_path / "1", "Empresas", natureza_juridica="2062")
    assert found.natureza_juridica == Coded("2062", "Sociedade Empresária Limitada")
    found = answer(tmp_path / "2", "Empresas", natureza_juridica="9999")
    assert found.natureza_juridica == Coded("9999", None)


def test_names_are_not_masked_here(tmp_path: Path) -> None:
    found = answer(tmp_path, "Empresas", razao_social="FULANA DE TAL 12345678901")
    assert found.nome_empresarial == "FULANA DE TAL 12345678901"


def test_an_entity_is_answered(tmp_path: Path) -> None:
    found = answer(tmp_path, "Empresas", ente_federativo_responsavel="MACEIO - AL")
    assert found.ente_federativo_responsavel == "MACEIO - AL"


def partner(folder: Path, **columns: str) -> Partner:
    (found,) = answer(folder, "Socios", **columns).socios
    assert isinstance(found, Partner)
    return found


def test_a_partner(tmp_path: Path) -> None:
    assert partner(tmp_path) == Partner(
        nome="FULANA DE TAL",
        cpf_cnpj_socio="***222333**",
        qualificacao_socio="Sócio-Administrador",
        pais=None,
        documento_representante_legal=None,
        nome_representante_legal=None,
        faixa_etaria="Entre 41 a 50 anos",
        data_entrada_sociedade="2016-06-16 00:00:00",
    )


def test_a_foreign_partner_with_a_representative(tmp_path: Path) -> None:
    found = partner(
        tmp_path,
        identificador_socio="3",
        cnpj_cpf_socio="",
        pais="69",  # lost its leading zero
        representante_legal="***456789**",
        nome_representante="BELTRANO",
        qualificacao_socio="36",  # legacy, not in the table
        data_entrada_sociedade="0",
        faixa_etaria="0",
    )
    assert found == Partner(
        nome="FULANA DE TAL",
        cpf_cnpj_socio=None,
        qualificacao_socio=None,
        pais="ANGOLA",
        documento_representante_legal="***456789**",
        nome_representante_legal="BELTRANO",
        faixa_etaria="Não se aplica",
        data_entrada_sociedade=None,
    )


def test_all_establishments_of_a_root_have_its_partners(tmp_path: Path) -> None:
    branches = [cnpj("33683111", f"{n:04d}") for n in range(1, 40)]
    report = Month(
        tmp_path / "month",
        files={
            **dealt(
                "Estabelecimentos",
                [row("Estabelecimentos", cnpj_ordem=branch.text[8:12]) for branch in branches],
            ),
            **dealt("Socios", [row("Socios", nome_socio=f"SOCIO {n}") for n in range(150)]),
        },
    ).build(tmp_path)
    for found in find(report, *branches):
        assert found is not None
        assert [one.nome for one in found.socios] == [f"SOCIO {n}" for n in range(150)]


def test_neighbours_in_a_block_are_not_mixed_up(tmp_path: Path) -> None:
    """A few blocks of companies: each finds its own rows, and unknown roots find nothing."""
    numbers = range(1, 200)
    report = Month(
        tmp_path / "month",
        files={
            **dealt(
                "Estabelecimentos",
                [
                    row("Estabelecimentos", cnpj_basico=root(n), nome_fantasia=f"LOJA {n}")
                    for n in numbers
                ],
            ),
            **dealt(
                "Empresas",
                [
                    row("Empresas", cnpj_basico=root(n), razao_social=f"EMPRESA {n}")
                    for n in numbers
                ],
            ),
            **dealt(
                "Socios",
                [
                    row("Socios", cnpj_basico=root(n), nome_socio=f"SOCIO {n}")
                    for n in numbers
                    if n % 3 == 0
                ],
            ),
            "Simples": b"".join(row("Simples", cnpj_basico=root(n)) for n in numbers),
        },
    ).build(tmp_path)
    found = find(report, *(cnpj(root(n), "0002") for n in numbers))
    for n, one in zip(numbers, found, strict=True):
        assert one is not None
        assert (one.nome_fantasia, one.nome_empresarial) == (f"LOJA {n}", f"EMPRESA {n}")
        assert [p.nome for p in one.socios] == ([f"SOCIO {n}"] if n % 3 == 0 else [])
    absent = (*(cnpj(root(n), "0002") for n in range(200, 300)), cnpj(root(1)), cnpj(root(2)))
    assert find(report, *absent) == [None] * len(absent)


def test_letters_in_roots_and_orders(tmp_path: Path) -> None:
    keys = [("00000000", "E08G"), ("12ABC345", "01DE"), ("93ZB0VRY", "V6KA"), ("ZZZZZZZZ", "ZZZZ")]
    report = Month(
        tmp_path / "month",
        files={
            "Estabelecimentos0": b"".join(
                row("Estabelecimentos", cnpj_basico=r, cnpj_ordem=o, nome_fantasia=r + o)
                for r, o in keys
            ),
            "Empresas0": b"".join(
                row("Empresas", cnpj_basico=r, razao_social=f"DE {r}") for r, _ in keys
            ),
            "Socios0": row("Socios", cnpj_basico="12ABC345", cnpj_cpf_socio="00000000E08G12"),
        },
    ).build(tmp_path)
    for (r, o), found in zip(keys, find(report, *(cnpj(r, o) for r, o in keys)), strict=True):
        assert found is not None
        assert found.cnpj == cnpj(r, o).text
        assert found.nome_fantasia == r + o
        assert found.nome_empresarial == f"DE {r}"
    (found,) = find(report, cnpj("12ABC345", "01DE"))
    assert found is not None
    assert found.cnpj == "12ABC34501DE35"
    assert found.socios[0].cpf_cnpj_socio == "00000000E08G12"


def test_metadata_of_a_snapshot(tmp_path: Path) -> None:
    report = Month(tmp_path / "month").build(tmp_path)
    snapshot = Snapshot.open(report.path)
    info = snapshot.info()
    assert snapshot.extraction_date == info.extraction_date == DAY
    assert info.built_on == date(2026, 8, 20)
    assert info.rows["Estabelecimentos"] == 1
    assert info.domains["Cnaes"] == DAY
    assert info.bytes_on_disk == report.path.stat().st_size == report.bytes_on_disk
    assert "Empresas0.zip" in info.files
    snapshot.close()


def test_a_file_that_is_no_snapshot_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "2026-08-08.snapshot"
    with pytest.raises(OpenDataError, match="não é um mês importado"):
        Snapshot.open(path)
    path.write_bytes(b"")
    with pytest.raises(OpenDataError):
        Snapshot.open(path)
    path.write_bytes(b"SQLite format 3\0" + b"\0" * 5000)
    with pytest.raises(OpenDataError):
        Snapshot.open(path)


def test_a_month_without_ranges_is_read_but_nothing_is_derived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a month of one range, which in full size would not fit into memory."""
    report = Month(tmp_path / "month").build(tmp_path)
    right = company(report)
    with closing(apsw.Connection(str(report.path))) as connection:
        connection.execute("DELETE FROM meta WHERE name = 'bounds'")
        connection.execute(
            """UPDATE meta SET value = CAST(replace(value, '"format":2', '"format":1') AS BLOB)"""
            " WHERE name = 'info'"
        )
    with closing(Snapshot.open(report.path)) as snapshot:
        assert snapshot.info().format == 1
        assert snapshot.ranges == 1
    assert company(report) == right
    monkeypatch.setattr("balcao.opendata.snapshot._RANGE_ROWS_MAX", 0)
    assert company(report) == right
    with (
        closing(Snapshot.open(report.path)) as snapshot,
        pytest.raises(OpenDataError, match="novo"),
    ):
        assert snapshot.ranges


def test_a_damaged_block_is_an_error(tmp_path: Path) -> None:
    """Whichever bit flips: the right answer or none, never another one."""
    report = Month(tmp_path / "month").build(tmp_path)
    right = company(report)
    raw = report.path.read_bytes()
    errors = 0
    for table in ("establishment", "company"):
        (block,) = content(report.path)[table]
        at = raw.index(block[1])
        for position in range(at, at + len(block[1])):
            turned = bytes([raw[position] ^ (1 << position % 8)])
            report.path.write_bytes(raw[:position] + turned + raw[position + 1 :])
            result = company_or_error(report)
            assert result == right or f"linhas de {table} estão danificadas" in str(result)
            errors += result != right
    assert errors > 100


def company_or_error(report: BuildReport) -> Company | str:
    try:
        return company(report)
    except OpenDataError as error:
        return str(error)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_running_server_follows_the_store(tmp_path: Path) -> None:
    clock = Clock()
    store = tmp_path / "store"
    current = CurrentSnapshot(store, clock)
    assert current.extraction_date is None
    assert current.find(SERPRO) is None

    Month(tmp_path / "1", day=date(2026, 7, 11)).build(store)
    assert current.find(SERPRO) is None  # checked less than a second ago
    clock.now += 1
    found = current.find(SERPRO)
    assert found is not None
    assert found.nome_fantasia == "REGIONAL"
    assert current.extraction_date == date(2026, 7, 11)

    changed = row("Estabelecimentos", nome_fantasia="NOVO NOME")
    Month(tmp_path / "2", files={"Estabelecimentos0": changed}).build(store)
    clock.now += 0.5
    assert current.extraction_date == date(2026, 7, 11)
    clock.now += 0.5
    found = current.find(SERPRO)
    assert found is not None
    assert found.nome_fantasia == "NOVO NOME"
    assert current.extraction_date == DAY
    current.close()


def test_the_same_month_built_again_is_followed_too(tmp_path: Path) -> None:
    clock = Clock()
    current = CurrentSnapshot(tmp_path, clock)
    for name in ("ANTES", "DEPOIS"):
        changed = row("Estabelecimentos", nome_fantasia=name)
        Month(tmp_path / "month", files={"Estabelecimentos0": changed}).build(tmp_path)
        clock.now += 1
        found = current.find(SERPRO)
        assert found is not None
        assert found.nome_fantasia == name
    current.close()


def test_a_month_that_cannot_be_opened_leaves_the_old_one_serving(tmp_path: Path) -> None:
    clock = Clock()
    current = CurrentSnapshot(tmp_path, clock)
    Month(tmp_path / "month", day=date(2026, 7, 11)).build(tmp_path)
    assert current.find(SERPRO) is not None
    good = (tmp_path / "current").read_text()
    for pointer in ("2026-08-08.snapshot\n", "../../etc/passwd\n", ""):
        (tmp_path / "new").write_text(pointer)
        (tmp_path / "new").replace(tmp_path / "current")
        clock.now += 1
        assert current.find(SERPRO) is not None
        assert current.extraction_date == date(2026, 7, 11)
    (tmp_path / "current").unlink()
    clock.now += 1
    assert current.find(SERPRO) is not None
    (tmp_path / "current").write_text(good)
    clock.now += 1
    assert current.find(SERPRO) is not None
    current.close()


def a_moved_company(folder: Path) -> BuildReport:
    """Build a company with 40 establishments, the 29th of them its head office."""
    rows = [
        row(
            "Estabelecimentos",
            cnpj_ordem=f"{order:04}",
            identificador_matriz_filial="1" if order == 29 else "2",
        )
        for order in range(1, 41)
    ]
    roots = [f"{number:08}" for number in range(50)]
    rows += [row("Estabelecimentos", cnpj_basico=each, cnpj_ordem="0001") for each in roots]
    companies = [row("Empresas"), *(row("Empresas", cnpj_basico=each) for each in roots)]
    files = dealt("Estabelecimentos", rows) | dealt("Empresas", companies)
    return Month(folder / "month", files=files).build(folder)


def test_a_head_office_is_found_by_its_flag(tmp_path: Path) -> None:
    report = a_moved_company(tmp_path)
    with closing(Snapshot.open(report.path)) as snapshot:
        assert snapshot.is_head_office(cnpj("33683111", "0001")) is False
        assert snapshot.is_head_office(cnpj("33683111", "0029")) is True
        assert snapshot.is_head_office(cnpj("33683111", "0099")) is None
        assert snapshot.find_head_office("33683111") == cnpj("33683111", "0029")
        assert snapshot.find_head_office("00000007") is None
        assert snapshot.find_head_office("99999999") is None


def test_head_offices_of_the_published_month(tmp_path: Path) -> None:
    """The search opens its own files: it runs in a thread."""
    with closing(CurrentSnapshot(tmp_path, lambda: 0.0)) as empty:
        assert empty.is_head_office(cnpj("33683111", "0001")) is None
        assert not empty.has_company("33683111")
    a_moved_company(tmp_path)
    with closing(CurrentSnapshot(tmp_path, lambda: 0.0)) as month:
        assert month.is_head_office(cnpj("33683111", "0029")) is True
        assert (month.has_company("33683111"), month.has_company("99999999")) == (True, False)
        assert month.find_head_office("33683111") == cnpj("33683111", "0029")
