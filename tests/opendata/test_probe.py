"""Special cases that are looked up after an import (`rfb-open-data.md`, section 10.4)."""

import pytest

from balcao.opendata.importer import BuildReport
from balcao.opendata.probe import ProbeTask, check_witnesses, probe
from balcao.opendata.snapshot import Snapshot
from balcao.opendata.tally import ABROAD, ALPHANUMERIC, MANY_ACTIVITIES, MEI
from balcao.opendata.verify import ProbeResult
from tests.opendata.months import Month, cnpj, root, row

MANY = ",".join(f"{n:07d}" for n in range(50))
ORDINARY = cnpj("33683111", "0002").text


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> BuildReport:
    """Import one case of each kind."""
    folder = tmp_path_factory.mktemp("month")
    return Month(
        folder / "month",
        files={
            "Estabelecimentos0": row("Estabelecimentos")
            + row("Estabelecimentos", cnpj_basico=root(1), uf="EX", municipio="9707")
            + row("Estabelecimentos", cnpj_basico=root(2), cnae_fiscal_secundaria=MANY)
            + row("Estabelecimentos", cnpj_basico="12ABC345", cnpj_ordem="01DE")
            + row("Estabelecimentos", cnpj_basico=root(3), cnae_fiscal_principal="8888888")
            + row("Estabelecimentos", cnpj_basico=root(4), cnae_fiscal_principal="7777777"),
            "Empresas0": b"".join(
                row("Empresas", cnpj_basico=key)
                for key in ("33683111", root(1), root(2), root(3), "12ABC345")
            ),
            "Simples": row("Simples", cnpj_basico=root(3), opcao_mei="S"),
        },
    ).build(folder)


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        (ABROAD, cnpj(root(1), "0002").text, ORDINARY),
        (MANY_ACTIVITIES, cnpj(root(2), "0002").text, ORDINARY),
        (ALPHANUMERIC, "12ABC34501DE35", cnpj("12ABC345").text),
        (MEI, root(3), "33683111"),
        (MEI, root(3), root(1)),
    ],
)
def test_a_special_case_must_be_found(
    report: BuildReport, kind: str, right: str, wrong: str
) -> None:
    snapshot = Snapshot.open(report.path)
    assert check_witnesses(snapshot, {kind: right}, (1, "33683111")).problems == []
    (problem,) = check_witnesses(snapshot, {kind: wrong}, (0, "")).problems
    assert wrong in problem
    assert kind in problem
    snapshot.close()


def test_the_largest_list_of_partners_must_come_back_whole(report: BuildReport) -> None:
    snapshot = Snapshot.open(report.path)
    (problem,) = check_witnesses(snapshot, {}, (2, "33683111")).problems
    assert "33683111" in problem
    snapshot.close()


def test_a_sample_is_counted(report: BuildReport) -> None:
    cnpjs = tuple(
        one.text
        for one in (cnpj("33683111", "0002"), *(cnpj(root(n), "0002") for n in range(1, 6)))
    )
    probed = probe(ProbeTask(report.path, cnpjs), lambda *_: None)
    assert probed == ProbeResult(
        looked_up=6,
        missing=(cnpjs[5],),
        without_company=1,
        without_city=0,
        without_activity=1,  # the code for "not informed" does not count
    )
