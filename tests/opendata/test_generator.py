"""A generated month, byte by byte: `rfb-open-data.md`, sections 2, 3, 4 and 11."""

import csv
import hashlib
import io
import re
import zipfile
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from stdnum.br import cnpj as stdnum_cnpj

from balcao.fiction import EXISTING_COMPANIES, codes, company_of, establishment_of, places
from balcao.fiction.month import dirt
from balcao.fiction.month.plan import GIANT_BRANCHES, plan
from balcao.opendata.generator import GeneratedMonth, generate

ESTABLISHMENTS = 20_000

LARGE = {"Empresas": 7, "Estabelecimentos": 30, "Socios": 11}
MARKS = {"Empresas": "EMPRECSV", "Estabelecimentos": "ESTABELE", "Socios": "SOCIOCSV"}
DOMAINS = {
    "Cnaes": "CNAECSV",
    "Motivos": "MOTICSV",
    "Municipios": "MUNICCSV",
    "Naturezas": "NATJUCSV",
    "Paises": "PAISCSV",
    "Qualificacoes": "QUALSCSV",
}

# One clean record of any table: quoted fields without quotes or line feeds in them.
CLEAN_RECORD = re.compile(rb'(?:"[^"\n\r]*")(?:;"[^"\n\r]*")*')


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> GeneratedMonth:
    """Generate a clean month with the sandbox's companies and more letters than usual."""
    return generate(
        tmp_path_factory.mktemp("month"),
        ESTABLISHMENTS,
        7,
        alphanumeric_share=0.01,
        clean=True,
        include=EXISTING_COMPANIES,
    )


def entry(folder: Path, name: str) -> zipfile.ZipInfo:
    with zipfile.ZipFile(folder / f"{name}.zip") as archive:
        (info,) = archive.infolist()
        return info


def raw(folder: Path, name: str) -> bytes:
    with zipfile.ZipFile(folder / f"{name}.zip") as archive:
        assert archive.testzip() is None
        (info,) = archive.infolist()
        return archive.read(info)


def rows(folder: Path, name: str) -> list[list[str]]:
    text = raw(folder, name).decode("latin-1")
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=";"))


def table(folder: Path, name: str) -> list[list[str]]:
    return [row for part in range(10) for row in rows(folder, f"{name}{part}")]


def fingerprints(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.zip")
    }


# --- names -------------------------------------------------------------------------------------


def test_there_are_37_zips_with_one_entry_each_and_the_publisher_s_names(
    month: GeneratedMonth,
) -> None:
    expected = {"Simples": "F.K03200$W.SIMPLES.CSV.D60808"}
    for name, mark in MARKS.items():
        for part in range(10):
            expected[f"{name}{part}"] = f"K3241.K03200Y{part}.D60808.{mark}"
    for name, mark in DOMAINS.items():
        expected[name] = f"F.K03200$Z.D60808.{mark}"

    found = {path.stem: entry(month.folder, path.stem) for path in month.folder.iterdir()}

    assert len(found) == 37
    assert {name: info.filename for name, info in found.items()} == expected
    assert [path.stem for path in month.files] == sorted(expected)
    for info in found.values():
        assert info.compress_type == zipfile.ZIP_DEFLATED
        assert info.date_time == (2026, 8, 8, 0, 0, 0)


def test_the_extraction_date_is_in_the_names(tmp_path: Path) -> None:
    generate(tmp_path, 100, 1, extraction_date=date(2031, 1, 2))

    assert entry(tmp_path, "Simples").filename == "F.K03200$W.SIMPLES.CSV.D10102"
    assert entry(tmp_path, "Socios3").filename == "K3241.K03200Y3.D10102.SOCIOCSV"


# --- bytes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "columns"), [*LARGE.items(), ("Simples", 7)])
def test_every_field_is_quoted_and_every_line_ends_in_lf(
    month: GeneratedMonth, name: str, columns: int
) -> None:
    for part in range(10) if name != "Simples" else [""]:
        content = raw(month.folder, f"{name}{part}")
        assert content.endswith(b'"\n')
        for line in content.removesuffix(b"\n").split(b"\n"):
            assert CLEAN_RECORD.fullmatch(line), line
            assert line.count(b'";"') == columns - 1, line
            assert not re.search(rb"[\x00-\x1f\x80-\x9f]", line), line


def test_accents_are_in_latin_1(month: GeneratedMonth) -> None:
    content = b"".join(raw(month.folder, f"Estabelecimentos{part}") for part in range(10))

    assert "NOVA BRASÍLIA".encode("latin-1") in content
    assert b"DR\xaa " in content
    accented = sum(not line.isascii() for line in content.split(b"\n"))
    assert 0.005 < accented / ESTABLISHMENTS < 0.02


def test_every_line_of_simples_has_63_bytes(month: GeneratedMonth) -> None:
    lengths = {len(line) for line in raw(month.folder, "Simples").splitlines(keepends=True)}

    assert lengths == {63}


def test_records_and_zips_are_as_large_as_the_real_ones(month: GeneratedMonth) -> None:
    bytes_per_record = {"Empresas": 79, "Estabelecimentos": 234, "Socios": 103}
    for name, expected in bytes_per_record.items():
        infos = [entry(month.folder, f"{name}{part}") for part in range(10)]
        plain = sum(info.file_size for info in infos)
        assert plain / month.records[name] == pytest.approx(expected, rel=0.05)
        large = infos[0]
        assert 3 < large.file_size / large.compress_size < 4.5


def test_key_columns_have_their_widths(month: GeneratedMonth) -> None:
    for row in table(month.folder, "Estabelecimentos"):
        root, order, digits, kind = row[:4]
        assert stdnum_cnpj.is_valid(root + order + digits)
        assert (len(root), len(order), len(digits)) == (8, 4, 2)
        assert kind in ("1", "2")
    for row in table(month.folder, "Empresas"):
        assert re.fullmatch(r"[0-9]+,[0-9]{2}", row[4])
    for row in table(month.folder, "Socios"):
        kind, document, representative = row[1], row[3], row[7]
        shape = {"1": r"[0-9A-Z]{12}[0-9]{2}", "2": r"\*{3}[0-9]{6}\*{2}", "3": ""}[kind]
        assert re.fullmatch(shape, document)
        assert re.fullmatch(r"\*{3}[0-9]{6}\*{2}", representative)
        assert (representative == "***000000**") == (row[8] == "")


def test_domain_tables_are_those_of_the_fiction(month: GeneratedMonth) -> None:
    assert ["7107", "SAO PAULO"] in rows(month.folder, "Municipios")
    assert ["9707", "EXTERIOR"] in rows(month.folder, "Municipios")
    assert ["2062", "Sociedade Empresária Limitada"] in rows(month.folder, "Naturezas")
    assert ["49", "Sócio-Administrador"] in rows(month.folder, "Qualificacoes")
    assert ["105", "BRASIL"] in rows(month.folder, "Paises")
    assert ["00", "SEM MOTIVO"] in rows(month.folder, "Motivos")
    assert dict(rows(month.folder, "Cnaes")) == codes.ACTIVITIES


def test_some_codes_have_no_description_as_in_the_real_tables() -> None:
    assert codes.REASON_WITHOUT_DESCRIPTION not in codes.REASONS
    assert codes.COUNTRY_WITHOUT_DESCRIPTION not in codes.COUNTRIES
    assert codes.QUALIFICATION_WITHOUT_DESCRIPTION not in codes.QUALIFICATIONS


# --- rows and parts ----------------------------------------------------------------------------


def test_the_month_has_as_many_rows_as_were_asked_for(month: GeneratedMonth) -> None:
    counted = {name: len(table(month.folder, name)) for name in LARGE}

    assert counted["Estabelecimentos"] == ESTABLISHMENTS
    assert counted == {name: month.records[name] for name in LARGE}
    assert len(rows(month.folder, "Simples")) == month.records["Simples"]
    assert counted["Empresas"] == pytest.approx(ESTABLISHMENTS / 1.047, abs=2)
    assert counted["Socios"] / counted["Empresas"] == pytest.approx(0.405, abs=0.03)
    assert month.records["Simples"] / counted["Empresas"] == pytest.approx(0.72, abs=0.02)


def test_parts_1_to_9_have_one_row_count_and_part_0_the_rest(month: GeneratedMonth) -> None:
    for name in LARGE:
        counts = [len(rows(month.folder, f"{name}{part}")) for part in range(10)]
        total = sum(counts)
        assert len(set(counts[1:])) == 1
        assert counts[1] == total * 653 // 10_000
        assert counts[0] == total - 9 * counts[1]


def test_documents_are_unique_and_every_root_has_its_company(month: GeneratedMonth) -> None:
    documents = ["".join(row[:3]) for row in table(month.folder, "Estabelecimentos")]
    roots = [row[0] for row in table(month.folder, "Empresas")]
    heads = Counter(row[0] for row in table(month.folder, "Estabelecimentos") if row[3] == "1")

    assert sorted(documents) == sorted(month.documents())
    assert len(set(documents)) == len(documents)
    assert len(set(roots)) == len(roots)
    assert {document[:8] for document in documents} == set(roots)
    assert {row[0] for row in table(month.folder, "Socios")} <= set(roots)
    assert max(heads.values()) == 1
    assert sum(heads.values()) / ESTABLISHMENTS == pytest.approx(0.957, abs=0.005)


def test_each_table_is_distributed_differently(month: GeneratedMonth) -> None:
    companies = [row[0] for row in rows(month.folder, "Empresas1")]
    establishments = [row[0] for row in rows(month.folder, "Estabelecimentos1")]
    together = len(set(companies) & set(establishments)) / len(companies)

    assert together == pytest.approx(0.0653, abs=0.03)
    assert companies != sorted(companies)


def test_branches_are_concentrated(month: GeneratedMonth) -> None:
    per_root = Counter(row[0] for row in table(month.folder, "Estabelecimentos"))
    several = [count for count in per_root.values() if count > 1]

    assert len(several) < 0.03 * len(per_root)
    assert max(several) >= 10


def test_a_large_month_has_a_giant_and_a_company_of_1000_partners() -> None:
    large = plan(300_000, 1, 0.001, ())
    roots = Counter(root for chunk in range(large.chunks) for root, _ in large.branches_of(chunk))
    ((giant, branches), *_) = roots.most_common(1)
    orders = {large.branch_cnpj(giant, n) for n in range(GIANT_BRANCHES)}

    assert branches == len(orders) == 4_999
    assert {c[:8] for c in large.explicit} > {giant}
    assert max(len(company_of(c[:8]).partners) for c in large.explicit) == 1_000
    assert large.establishments == len(large.explicit) + large.drawn_roots + large.branches
    assert not plan(20_000, 1, 0.001, ()).giant


# --- content of rows ---------------------------------------------------------------------------


def day(value: date | None, none: str = "") -> str:
    return none if value is None else value.strftime("%Y%m%d")


def test_establishments_match_the_fiction(month: GeneratedMonth) -> None:
    for row in table(month.folder, "Estabelecimentos"):
        e = establishment_of("".join(row[:3]))
        phones = [part for phone in e.phones for part in (phone.area_code, phone.number)]
        fax = [e.fax.area_code, e.fax.number] if e.fax else ["", ""]
        assert row[3:] == [
            "1" if e.head_office else "2",
            e.trade_name,
            e.status,
            day(e.status_date),
            e.reason,
            e.city_abroad,
            e.country,
            day(e.opened),
            e.activity,
            ",".join(e.side_activities),
            e.address.street_type,
            e.address.street,
            e.address.number,
            e.address.complement,
            e.address.district,
            e.address.cep,
            e.address.municipality.uf,
            e.address.municipality.tom,
            *[*phones, "", "", "", ""][:4],
            *fax,
            e.email,
            e.special_status,
            day(e.special_status_date),
        ]


def test_companies_partners_and_options_match_the_fiction(month: GeneratedMonth) -> None:
    partners: dict[str, list[list[str]]] = {}
    for row in table(month.folder, "Socios"):
        partners.setdefault(row[0], []).append(row)
    simples = {row[0]: row for row in rows(month.folder, "Simples")}
    for row in table(month.folder, "Empresas"):
        c = company_of(row[0])
        reais = f"{c.capital_cents // 100},{c.capital_cents % 100:02d}"
        assert row[1:] == [
            c.name,
            c.nature,
            c.responsible,
            reais,
            c.size,
            c.federative_entity,
        ]
        expected = [
            [
                c.root,
                p.kind,
                p.name,
                f"***{p.document[3:9]}**" if p.kind == "2" else p.document,
                p.qualification,
                day(p.entered),
                p.country,
                f"***{p.representative[3:9]}**" if p.representative else "***000000**",
                p.representative_name,
                p.representative_qualification,
                p.age_band,
            ]
            for p in c.partners
        ]
        assert sorted(partners.get(c.root, [])) == sorted(expected)
        if c.simples is None:
            assert c.root not in simples
        else:
            s = c.simples
            assert simples[c.root][1:] == [
                "S" if s.opted else "N",
                day(s.opted_on, "00000000"),
                day(s.left_on, "00000000"),
                "S" if s.mei else "N",
                day(s.mei_on, "00000000"),
                day(s.mei_left_on, "00000000"),
            ]


def test_municipalities_fit_their_uf(month: GeneratedMonth) -> None:
    for row in table(month.folder, "Estabelecimentos"):
        assert places.BY_TOM[row[20]].uf == row[19]


# --- arguments ---------------------------------------------------------------------------------


def test_included_documents_are_there(month: GeneratedMonth) -> None:
    documents = {"".join(row[:3]) for row in table(month.folder, "Estabelecimentos")}

    assert documents >= set(EXISTING_COMPANIES)
    assert not [d for d in documents if d.startswith("9002") or d == "99999999000191"]


@pytest.mark.parametrize("refused", ["90020001000190", "90020010000181", "99999999000191"])
def test_documents_without_a_company_are_refused(tmp_path: Path, refused: str) -> None:
    with pytest.raises(ValueError, match=refused):
        generate(tmp_path, 100, 1, include=[refused])


def test_arguments_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="não é um CNPJ"):
        generate(tmp_path, 100, 1, include=["11222333000182"])
    with pytest.raises(ValueError, match="ao menos 31"):
        generate(tmp_path, 14, 1, include=EXISTING_COMPANIES)
    with pytest.raises(ValueError, match="de 0 a 1"):
        generate(tmp_path, 100, 1, alphanumeric_share=1.5)


@pytest.mark.parametrize("establishments", [1, 2, 15, 16, 40, 1000])
def test_small_months_are_exact_too(tmp_path: Path, establishments: int) -> None:
    include = EXISTING_COMPANIES[: min(15, establishments)]
    generate(tmp_path, establishments, 3, clean=True, include=include)
    documents = ["".join(row[:3]) for row in table(tmp_path, "Estabelecimentos")]

    assert len(documents) == len(set(documents)) == establishments
    assert set(include) <= set(documents)


def test_letters_come_at_the_given_share(month: GeneratedMonth, tmp_path: Path) -> None:
    generate(tmp_path, 2_000, 1, alphanumeric_share=0.0, clean=True)
    none = ["".join(row[:3]) for row in table(tmp_path, "Estabelecimentos")]
    assert all(document.isdigit() for document in none)

    companies = table(month.folder, "Empresas")
    roots = sum(not row[0].isdigit() for row in companies) / len(companies)
    orders = sum(not row[1].isdigit() for row in table(month.folder, "Estabelecimentos"))
    assert roots == pytest.approx(0.01, abs=0.004)
    assert orders / ESTABLISHMENTS == pytest.approx(0.01, abs=0.004)

    all_letters = generate(tmp_path, 2_000, 1, alphanumeric_share=1.0, clean=True)
    documents = ["".join(row[:3]) for row in table(all_letters.folder, "Estabelecimentos")]
    assert all(not document[:8].isdigit() for document in documents)
    assert all(stdnum_cnpj.is_valid(document) for document in documents)
    assert len(set(documents)) == 2_000


# --- determinism -------------------------------------------------------------------------------


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        generate(tmp_path / name, 3_000, seed)

    assert fingerprints(tmp_path / "a") == fingerprints(tmp_path / "b")
    changed = [
        name
        for name, digest in fingerprints(tmp_path / "c").items()
        if digest != fingerprints(tmp_path / "a")[name]
    ]
    assert len(changed) == 31  # all but the domain tables


def test_the_number_of_workers_changes_nothing(tmp_path: Path) -> None:
    """With enough roots for two chunks."""
    alone = generate(tmp_path / "1", 53_000, 5)
    together = generate(tmp_path / "2", 53_000, 5, workers=2)

    assert alone.records == together.records
    assert fingerprints(alone.folder) == fingerprints(together.folder)


def test_another_seed_gives_the_same_facts(month: GeneratedMonth, tmp_path: Path) -> None:
    """A document that is in two months has the same content in both."""
    generate(tmp_path, 1_000, 99, clean=True, include=["11222333000181"])
    (row,) = [r for r in table(tmp_path, "Empresas") if r[0] == "11222333"]

    assert row[1] == "LUIS DA FICCAO RIBEIRO 98009288646"


# --- dirt --------------------------------------------------------------------------------------


def test_dirt_comes_at_its_rate(tmp_path: Path) -> None:
    generate(tmp_path, ESTABLISHMENTS, 7, include=EXISTING_COMPANIES)
    establishments = table(tmp_path, "Estabelecimentos")

    short_ceps = sum(len(row[18]) == 7 for row in establishments if len(row) == 30)
    counts = [len(rows(tmp_path, f"Estabelecimentos{part}")) for part in range(10)]
    assert len(set(counts[1:])) == 1
    no_dates = sum(row[6] == "0" for row in establishments if len(row) == 30)
    assert short_ceps == pytest.approx(20, abs=1)  # 0.1 %
    assert no_dates == pytest.approx(60, abs=2)  # 3 in a thousand
    sandbox = {"".join(row[:3]): row for row in establishments if row[:1] and row[0][:4] == "9001"}
    assert len(sandbox) == 13
    assert all(re.fullmatch(r"20[0-9]{6}", row[6]) for row in sandbox.values())


def test_one_file_ends_in_a_blank_line(tmp_path: Path) -> None:
    generate(tmp_path, 1_000, 7)
    blank = [path.stem for path in tmp_path.iterdir() if raw(tmp_path, path.stem).endswith(b"\n\n")]

    assert blank == ["Socios7"]


def test_every_kind_of_dirt_occurs_at_high_rates(tmp_path: Path) -> None:
    """Dirt too rare for a small month, at many times its rate."""
    generate(tmp_path, 4_000, 7, dirt_times=5_000)
    establishments = b"".join(raw(tmp_path, f"Estabelecimentos{part}") for part in range(10))
    companies = b"".join(raw(tmp_path, f"Empresas{part}") for part in range(10))

    assert re.search(rb'[^"]\n";', establishments)  # a line feed at the end of a field
    assert b"\x8f" in establishments
    assert b"\0" in establishments
    assert b'\\";"' in establishments
    assert b'"LOJA "B" TERREO"' in establishments
    assert b'"SALA ""A"""' in establishments
    assert b'";"       0";"' in establishments
    assert b'";"2021221";"' in establishments
    assert b'"999999999999,00"' in companies
    assert b'";"-' in companies
    assert b'";"";"0000";"00";"0,00";"";""\n' in companies  # a ghost
    assert re.search(rb"II'\n\";", companies)


def test_rows_are_lost_and_doubled() -> None:
    clean = [dirt.written([f"{n:08d}", "NOME", "2062"]) for n in range(1_000)]
    doubled, lost = list(clean), list(clean)
    kinds = {kind.name: kind for kind in dirt.COMPANY_DIRT}

    dirt.add_dirt(doubled, [kinds["whole row twice"]], 1, 5_000)
    dirt.add_dirt(lost, [kinds["root without company"]], 1, 5_000)

    assert len(doubled) == 1_005
    assert len(lost) == 995
    assert set(doubled) == set(clean)
    assert set(lost) < set(clean)


def test_a_row_is_cut_only_while_it_is_clean() -> None:
    rows = [dirt.written(["12345678", "A", "B;C"])]
    broken = dirt.Dirt("line feed", 1e6, lambda fields, draw: ['"12345678";"A\n";"B;C"\n'])

    dirt.add_dirt(rows, [broken, dirt.COMPANY_DIRT[0]], 1, 1)

    assert rows == ['"12345678";"A\n";"B;C"\n']
