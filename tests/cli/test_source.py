"""`balcao source`: the list of sources, and the check whether they respond."""

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socket import create_server

import pytest
from rich.console import Console

from balcao.cli import source as command
from balcao.core.errors import HomeInUse
from balcao.core.federation import UFS
from balcao.examination.inventory import SNAPSHOT, SWITCHES, configured
from balcao.operations import OPERATIONS
from balcao.settings import Settings
from tests.cli.shell import CommandResult, Shell, exports, free_port, simulating
from tests.sources.sefaz.certificates import PASSWORD, a_certificate, of_cnpj, saved

# Probes of each source, with all enabled; treasuries have one per UF.
PROBES = {
    ("minha_receita", "company"),
    ("cnpja", "company state_registration rural_producer suframa"),
    ("serpro", "company"),
    ("serpro_cnd", "federal_certificate"),
    ("infosimples", "state_registration rural_producer"),
    ("infosimples", "federal_certificate"),
    ("infosimples", "state_certificate"),
    ("infosimples", "labour_certificate"),
    ("infosimples", "fgts_regularity"),
}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Variables that point to the simulator, run as a server with mutual TLS."""
    folder = tmp_path_factory.mktemp("simulator")
    options = f"--tls-port {free_port()} --certificates {folder / 'a1'}"
    with simulating(folder, free_port(), options) as simulator:
        yield exports(simulator.out)
        assert simulator.terminate() == 0
        assert "Traceback" not in simulator.err


@pytest.fixture
def all_sources(simulated: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    for name, value in simulated.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("BALCAO_SERPRO__CND", "true")
    return simulated


def probes(expected: CommandResult) -> list[tuple[str, str, str | None, str]]:
    return [
        (each["source"], " ".join(each["subjects"]), each["uf"], each["status"])
        for each in expected.json["probes"]
    ]


def section(text: str, subject: str) -> str:
    """Return the section of one subject in the output of `list`."""
    headings = re.split(r"^\S.* \((\w+)\)$", text, flags=re.MULTILINE)
    return headings[headings.index(subject) + 1]


def test_every_source_of_the_settings_can_be_named() -> None:
    names = {name for names in configured.order(Settings()).values() for name in names}
    assert set(command.ONLINE) == set(SWITCHES) == names - {SNAPSHOT}


# List


def test_disabled_sources_are_shown_with_their_switch(fresh: Shell) -> None:
    result = fresh("source list")
    for variable in (
        "BALCAO_MINHA_RECEITA__URL",
        "BALCAO_CNPJA__KEY",
        "com BALCAO_SERPRO__CONSUMER_KEY e BALCAO_SERPRO__CONSUMER_SECRET",
        "BALCAO_SERPRO__CND, BALCAO_SERPRO__CONSUMER_KEY e BALCAO_SERPRO__CONSUMER_SECRET",
        "BALCAO_SEFAZ__CERTIFICATE e BALCAO_SEFAZ__PASSWORD",
        "BALCAO_INFOSIMPLES__TOKEN",
        "nada importado",
    ):
        assert variable in result.out
    warned = len(OPERATIONS)
    assert result.out.count("aviso: ") == result.out.count("nenhuma fonte ativa; ative") == warned
    assert not fresh.path.exists()


def test_sources_are_listed_in_their_order(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_CNPJA__KEY", "abre-te")
    monkeypatch.setenv("BALCAO_SEFAZ__URL", "http://quem:senha@127.0.0.1:9/sefaz")
    monkeypatch.setenv("BALCAO_SEFAZ__CPF_UFS", '["SP", "RS"]')
    monkeypatch.setenv("BALCAO_STATE_REGISTRATION_SOURCES", '["sefaz", "cnpja"]')
    result = shell("source list")
    assert "senha" not in result.out + result.err
    assert "abre-te" not in result.out + result.err
    rows = [line.split() for line in section(result.out, "state_registration").splitlines()]
    assert [row[:3] for row in rows if row and row[0].isdecimal()] == [
        ["1", "sefaz", "sim"],
        ["2", "cnpja", "sim"],
    ]
    companies = section(result.out, "state_registration")
    assert re.search(
        r"http://\*\*\*@127.0.0.1:9/sefaz +26 UFs \(menos MA\) +endereço +sim", companies
    )
    assert re.search(r"https://api.cnpja.com +todas \(27\) +tipo e situação +não", companies)
    producers = section(result.out, "rural_producer")
    assert re.search(r"sefaz +RS, SP +endereço", producers)
    assert "aviso" not in companies + producers
    assert result.out.count("aviso: ") == 4  # for certificates


def test_an_unserved_uf_is_a_warning(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_SEFAZ__URL", "http://127.0.0.1:9/sefaz")
    monkeypatch.setenv("BALCAO_RURAL_PRODUCER_UFS", '["SP"]')
    result = shell("source list")
    assert "aviso: inscrições estaduais: nenhuma fonte para MA\n" in result.out
    assert "aviso: produtor rural" not in result.out
    found = shell("source list --json").json
    assert found["state_registration"]["unserved_ufs"] == ["MA"]
    assert found["rural_producer"]["unserved_ufs"] == []
    (sefaz,) = [one for one in found["rural_producer"]["sources"] if one["source"] == "sefaz"]
    assert (sefaz["on"], sefaz["ufs"], sefaz["parts"]) == (True, ["SP"], ["addresses"])
    assert sefaz["addresses"]["SP"].startswith("http://127.0.0.1:9/sefaz/")


def test_contracts_and_letters(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_SERPRO__CONSUMER_KEY", "a")
    monkeypatch.setenv("BALCAO_SERPRO__CONSUMER_SECRET", "b")
    monkeypatch.setenv("BALCAO_SERPRO__FULL_PARTNERS", "true")
    shell("opendata sample mes --establishments 50 --seed 7 --clean")
    shell("opendata build mes")
    sources = shell("source list --json").json["company"]["sources"]
    on = {one["source"]: one for one in sources if one["on"]}
    assert list(on) == ["snapshot", "serpro"]
    assert on["snapshot"]["address"].startswith("mês de ")
    assert [one["full_partners"] for one in on.values()] == [False, True]
    assert [one["alphanumeric"] for one in on.values()] == [True, True]


def test_a_damaged_month_is_off(shell: Shell) -> None:
    shell("opendata sample mes --establishments 50 --seed 7 --clean")
    path = Path(shell("opendata build mes --json").json["path"])
    path.write_bytes(b"nothing")
    assert "Dados abertos" in shell("source list").out


def test_sources_of_certificates(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_INFOSIMPLES__TOKEN", "abre-te")
    monkeypatch.setenv("BALCAO_INFOSIMPLES__CERTIFICATE_UFS", '["SP", "RJ"]')
    monkeypatch.setenv("BALCAO_SERPRO__URL", "http://quem:senha@127.0.0.1:9/serpro")
    for name in ("CND", "CONSUMER_KEY", "CONSUMER_SECRET"):
        monkeypatch.setenv(f"BALCAO_SERPRO__{name}", "1")
    result = shell("source list").out
    assert "senha" not in result
    federal, state = section(result, "federal_certificate"), section(result, "state_certificate")
    # Columns: for people, new issuance, receipt, CNPJ with letters.
    assert re.search(r"infosimples +sim +https://\S+ +sim +sim +não +não", federal)
    assert re.search(r"serpro_cnd +sim +http://\*{3}@\S+ +não +não +sim +sim", federal)
    assert "aviso: certidão federal: infosimples vem sem comprovantes" in federal
    assert re.search(r"infosimples +sim +https://\S+ +RJ, SP +não +não", state)
    assert "aviso: certidões estaduais: nenhuma fonte para AC, AL" in state

    monkeypatch.setenv("BALCAO_INFOSIMPLES__RECEIPT_ORIGINS", '["https://armazem.example"]')
    found = shell("source list --json").json
    issuers = found["federal_certificate"]["sources"]
    assert [(one["source"], one["people"], one["reissues"]) for one in issuers] == [
        ("infosimples", True, True),
        ("serpro_cnd", False, False),
    ]
    assert all(one["receipts"] for one in issuers)
    assert found["federal_certificate"]["warnings"] == []
    assert found["state_certificate"]["sources"][0]["ufs"] == ["RJ", "SP"]


@pytest.mark.parametrize("days", [None, -1])
def test_an_unusable_certificate_is_only_reported(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, days: int | None
) -> None:
    last = datetime.now(UTC) + timedelta(days=days or 1)
    path = saved(tmp_path, a_certificate(of_cnpj(), not_after=last))
    monkeypatch.setenv("BALCAO_SEFAZ__CERTIFICATE", str(path))
    monkeypatch.setenv("BALCAO_SEFAZ__PASSWORD", PASSWORD if days else "outra")
    sources = shell("source list --json").json["state_registration"]["sources"]
    (sefaz,) = [one for one in sources if one["source"] == "sefaz"]
    assert sefaz["on"] is False
    assert ("venceu em" if days else "senha recusada") in sefaz["missing"]
    result = shell("source check --json", code=1)
    ((name, subjects, uf, status),) = probes(result)
    assert (name, uf, status) == ("sefaz", None, "fail")
    assert subjects == "state_registration rural_producer"
    assert PASSWORD not in result.out + result.err


# Check


def test_every_source_is_probed_without_duplicates(
    fresh: Shell, all_sources: Mapping[str, str]
) -> None:
    result = fresh("source check --json")
    found = probes(result)
    assert result.json["ok"] is True
    assert result.err == ""
    assert {status for *_, status in found} == {"ok"}
    others = [(name, subjects) for name, subjects, uf, _ in found if uf is None]
    assert set(others) == PROBES
    assert others.count(("serpro", "company")) == 2  # partners in full are another product
    treasuries = {uf: subjects for name, subjects, uf, _ in found if name == "sefaz"}
    assert list(treasuries) == [uf for uf in UFS if uf != "MA"]
    assert treasuries["PR"] == "state_registration"  # it has no producers
    assert treasuries["SP"] == "state_registration rural_producer"
    assert all(each["took_ms"] > 0 for each in result.json["probes"])
    assert not fresh.path.exists()


def test_the_table(shell: Shell, all_sources: Mapping[str, str]) -> None:
    result = shell("source check --subject company --subject suframa")
    assert re.search(
        r"cnpja +cadastro de empresas, Suframa +— +ok +\d+ +respondeu; saldo", result.out
    )
    assert "cadastro de empresas com optin=1" in result.out
    assert "sefaz" not in result.out


def test_while_a_server_runs(shell: Shell, all_sources: Mapping[str, str]) -> None:
    shell("account create acme --plan pre_pago")
    before = {path.name: path.stat().st_mtime_ns for path in shell.path.iterdir()}
    with closing(shell.home.lock()):
        with pytest.raises(HomeInUse):
            shell.home.lock()
        shell("source check --source cnpja")
    after = {path.name: path.stat().st_mtime_ns for path in shell.path.iterdir()}
    assert {name: after[name] for name in before} == before


def test_only_the_selected_sources(shell: Shell, all_sources: Mapping[str, str]) -> None:
    line = "source check --json --source sefaz --subject rural_producer"
    assert probes(shell(f"{line} --uf sp --uf RJ")) == [
        ("sefaz", "rural_producer", "RJ", "ok"),
        ("sefaz", "rural_producer", "SP", "ok"),
    ]
    assert probes(shell(f"{line} --uf SP --uf MA")) == [
        ("sefaz", "rural_producer", "MA", "warn"),
        ("sefaz", "rural_producer", "SP", "ok"),
    ]
    assert probes(shell("source check --json --uf MA --source infosimples")) == [
        ("infosimples", "state_registration rural_producer", None, "ok"),
        ("infosimples", "federal_certificate", None, "ok"),
        ("infosimples", "state_certificate", None, "ok"),
        ("infosimples", "labour_certificate", None, "ok"),
        ("infosimples", "fgts_regularity", None, "ok"),
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--source serpro", "serpro: ative com BALCAO_SERPRO__CONSUMER_KEY e"),
        (
            "--subject suframa",
            "Nenhuma fonte ativa atende a essa consulta. Fontes de cada consulta: ",
        ),
    ],
)
def test_no_source_to_probe(shell: Shell, line: str, expected: str) -> None:
    assert expected in shell(f"source check {line}", code=1).err
    assert "Nenhuma fonte ativa. Fontes existentes: " in shell("source check").out


@pytest.mark.parametrize("line", ["--source foo", "--subject foo", "--uf foo"])
def test_unknown_values(shell: Shell, line: str) -> None:
    assert "'foo' não é um destes: " in shell(f"source check {line}", code=2).err


def test_a_source_that_is_down_fails_alone(
    shell: Shell, all_sources: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BALCAO_CNPJA__URL", f"http://quem:senha@127.0.0.1:{free_port()}")
    monkeypatch.setenv("BALCAO_CNPJA__KEY", "abre-te")
    result = shell("source check --subject company --json", code=1)
    assert result.json["ok"] is False
    assert {name: status for name, _, _, status in probes(result)} == {
        "minha_receita": "ok",
        "cnpja": "fail",
        "serpro": "ok",
    }
    assert "sem conexão (ConnectError)" in result.out
    for secret in ("abre-te", "senha", "quem"):
        assert secret not in result.out + result.err


def test_a_silent_source_has_the_timeout_of_a_lookup(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(create_server(("127.0.0.1", 0))) as silent:
        monkeypatch.setenv(
            "BALCAO_MINHA_RECEITA__URL", f"http://127.0.0.1:{silent.getsockname()[1]}"
        )
        monkeypatch.setenv("BALCAO_SOURCE_DEADLINE_SECONDS", "0.5")
        assert "tempo esgotado" in shell("source check", code=1).out


def test_a_slow_source_is_a_warning(
    shell: Shell, all_sources: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BALCAO_SOURCE_TIMEOUT_SECONDS", "0.000001")
    result = shell("source check --source minha_receita")
    assert re.search(r"aviso +\d+ +respondeu; lenta", result.out)


def test_a_refused_certificate_is_reported_without_names(
    shell: Shell, all_sources: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = Path(all_sources["BALCAO_SEFAZ__CERTIFICATE"])
    monkeypatch.setenv("BALCAO_SEFAZ__CERTIFICATE", str(good.with_name("cliente-recusado.p12")))
    result = shell("source check --source sefaz --uf SP", code=1)
    assert "cStat 257" in result.out
    assert not re.search(r"\d{11,14}", result.out + result.err)


def test_progress_is_shown_on_a_terminal(
    shell: Shell, all_sources: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(command, "console", lambda stderr: terminal)
    shell("source check --source sefaz --uf SP --uf RJ --json")
    assert "Perguntando" in screen.getvalue()
    assert "2/2" in screen.getvalue()
