"""`balcao source`: who answers what, and whether they would answer now."""

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
from balcao.settings import Settings
from tests.cli.shell import Said, Shell, exports, free_port, simulating
from tests.sources.sefaz.certificates import PASSWORD, a_certificate, of_cnpj, saved

# What each source is asked, with everything on. The treasuries come UF by UF.
PROBES = {
    ("minha_receita", "company"),
    ("cnpja", "company state_registration rural_producer suframa"),
    ("serpro", "company"),
    ("serpro_cnd", "federal_certificate"),
    ("infosimples", "state_registration rural_producer"),
    ("infosimples", "federal_certificate"),
    ("infosimples", "state_certificate"),
}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """The variables that lead to the simulator, a server of its own with mutual TLS."""
    folder = tmp_path_factory.mktemp("simulator")
    options = f"--tls-port {free_port()} --certificates {folder / 'a1'}"
    with simulating(folder, free_port(), options) as simulator:
        yield exports(simulator.out)
        assert simulator.terminate() == 0
        assert "Traceback" not in simulator.err


@pytest.fixture
def everything(simulated: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    for name, value in simulated.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("BALCAO_SERPRO__CND", "true")
    return simulated


def probes(said: Said) -> list[tuple[str, str, str | None, str]]:
    return [
        (each["source"], " ".join(each["subjects"]), each["uf"], each["status"])
        for each in said.json["probes"]
    ]


def section(text: str, subject: str) -> str:
    """What `list` says of one subject."""
    headings = re.split(r"^\S.* \((\w+)\)$", text, flags=re.MULTILINE)
    return headings[headings.index(subject) + 1]


def test_every_source_of_the_settings_can_be_named() -> None:
    names = {name for names in configured.order(Settings()).values() for name in names}
    assert set(command.ONLINE) == set(SWITCHES) == names - {SNAPSHOT}


# List.


def test_what_is_off_is_shown_with_its_switch(fresh: Shell) -> None:
    said = fresh("source list")
    for variable in (
        "BALCAO_MINHA_RECEITA__URL",
        "BALCAO_CNPJA__KEY",
        "com BALCAO_SERPRO__CONSUMER_KEY e BALCAO_SERPRO__CONSUMER_SECRET",
        "BALCAO_SERPRO__CND, BALCAO_SERPRO__CONSUMER_KEY e BALCAO_SERPRO__CONSUMER_SECRET",
        "BALCAO_SEFAZ__CERTIFICATE e BALCAO_SEFAZ__PASSWORD",
        "BALCAO_INFOSIMPLES__TOKEN",
        "nada importado",
    ):
        assert variable in said.out
    assert said.out.count("aviso: ") == said.out.count("ninguém responde; ligue") == 6
    assert not fresh.path.exists()


def test_who_answers_in_the_order_of_asking(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_CNPJA__KEY", "abre-te")
    monkeypatch.setenv("BALCAO_SEFAZ__URL", "http://quem:senha@127.0.0.1:9/sefaz")
    monkeypatch.setenv("BALCAO_SEFAZ__CPF_UFS", '["SP", "RS"]')
    monkeypatch.setenv("BALCAO_STATE_REGISTRATION_SOURCES", '["sefaz", "cnpja"]')
    said = shell("source list")
    assert "senha" not in said.out + said.err
    assert "abre-te" not in said.out + said.err
    rows = [line.split() for line in section(said.out, "state_registration").splitlines()]
    assert [row[:3] for row in rows if row and row[0].isdecimal()] == [
        ["1", "sefaz", "sim"],
        ["2", "cnpja", "sim"],
    ]
    companies = section(said.out, "state_registration")
    assert re.search(
        r"http://\*\*\*@127.0.0.1:9/sefaz +26 UFs \(menos MA\) +endereço +sim", companies
    )
    assert re.search(r"https://api.cnpja.com +todas \(27\) +tipo e situação +não", companies)
    producers = section(said.out, "rural_producer")
    assert re.search(r"sefaz +RS, SP +endereço", producers)
    assert "aviso" not in companies + producers
    assert said.out.count("aviso: ") == 2  # of certificates


def test_a_uf_that_nobody_serves_is_a_warning(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BALCAO_SEFAZ__URL", "http://127.0.0.1:9/sefaz")
    monkeypatch.setenv("BALCAO_RURAL_PRODUCER_UFS", '["SP"]')
    said = shell("source list")
    assert "aviso: inscrições estaduais: ninguém responde por MA\n" in said.out
    assert "aviso: produtor rural" not in said.out
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


def test_a_month_that_is_damaged_is_off(shell: Shell) -> None:
    shell("opendata sample mes --establishments 50 --seed 7 --clean")
    path = Path(shell("opendata build mes --json").json["path"])
    path.write_bytes(b"nothing")
    assert "Dados abertos" in shell("source list").out


def test_who_answers_certificates(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_INFOSIMPLES__TOKEN", "abre-te")
    monkeypatch.setenv("BALCAO_INFOSIMPLES__CERTIFICATE_UFS", '["SP", "RJ"]')
    monkeypatch.setenv("BALCAO_SERPRO__URL", "http://quem:senha@127.0.0.1:9/serpro")
    for name in ("CND", "CONSUMER_KEY", "CONSUMER_SECRET"):
        monkeypatch.setenv(f"BALCAO_SERPRO__{name}", "1")
    said = shell("source list").out
    assert "senha" not in said
    federal, state = section(said, "federal_certificate"), section(said, "state_certificate")
    # For people, a new issuance, the receipt, a CNPJ with letters.
    assert re.search(r"infosimples +sim +https://\S+ +sim +sim +não +não", federal)
    assert re.search(r"serpro_cnd +sim +http://\*{3}@\S+ +não +não +sim +sim", federal)
    assert "aviso: certidão federal: infosimples vem sem comprovantes" in federal
    assert re.search(r"infosimples +sim +https://\S+ +RJ, SP +não +não", state)
    assert "aviso: certidões estaduais: ninguém responde por AC, AL" in state

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
def test_a_certificate_that_cannot_be_used_is_told_and_no_obstacle(
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
    said = shell("source check --json", code=1)
    ((name, subjects, uf, status),) = probes(said)
    assert (name, uf, status) == ("sefaz", None, "fail")
    assert subjects == "state_registration rural_producer"
    assert PASSWORD not in said.out + said.err


# Check.


def test_everybody_is_asked_and_no_question_twice(
    fresh: Shell, everything: Mapping[str, str]
) -> None:
    said = fresh("source check --json")
    found = probes(said)
    assert said.json["ok"] is True
    assert said.err == ""
    assert {status for *_, status in found} == {"ok"}
    others = [(name, subjects) for name, subjects, uf, _ in found if uf is None]
    assert set(others) == PROBES
    assert others.count(("serpro", "company")) == 2  # partners in full are another product
    treasuries = {uf: subjects for name, subjects, uf, _ in found if name == "sefaz"}
    assert list(treasuries) == [uf for uf in UFS if uf != "MA"]
    assert treasuries["PR"] == "state_registration"  # producers are not asked for there
    assert treasuries["SP"] == "state_registration rural_producer"
    assert all(each["took_ms"] > 0 for each in said.json["probes"])
    assert not fresh.path.exists()


def test_the_table(shell: Shell, everything: Mapping[str, str]) -> None:
    said = shell("source check --subject company --subject suframa")
    assert re.search(
        r"cnpja +cadastro de empresas, Suframa +— +ok +\d+ +respondeu; saldo", said.out
    )
    assert "cadastro de empresas com optin=1" in said.out
    assert "sefaz" not in said.out


def test_beside_a_running_server(shell: Shell, everything: Mapping[str, str]) -> None:
    shell("account create acme --plan pre_pago")
    before = {path.name: path.stat().st_mtime_ns for path in shell.path.iterdir()}
    with closing(shell.home.lock()):
        with pytest.raises(HomeInUse):
            shell.home.lock()
        shell("source check --source cnpja")
    after = {path.name: path.stat().st_mtime_ns for path in shell.path.iterdir()}
    assert {name: after[name] for name in before} == before


def test_only_what_was_asked_for(shell: Shell, everything: Mapping[str, str]) -> None:
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
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--source serpro", "serpro: ligue com BALCAO_SERPRO__CONSUMER_KEY e"),
        ("--subject suframa", "Nenhuma fonte ligada responde por isso. Quem responde o quê: "),
    ],
)
def test_nobody_to_ask(shell: Shell, line: str, said: str) -> None:
    assert said in shell(f"source check {line}", code=1).err
    assert "Nenhuma fonte ligada. As que existem: " in shell("source check").out


@pytest.mark.parametrize("line", ["--source foo", "--subject foo", "--uf foo"])
def test_words_that_nobody_knows(shell: Shell, line: str) -> None:
    assert "'foo' não é um destes: " in shell(f"source check {line}", code=2).err


def test_one_that_is_down_fails_alone(
    shell: Shell, everything: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BALCAO_CNPJA__URL", f"http://quem:senha@127.0.0.1:{free_port()}")
    monkeypatch.setenv("BALCAO_CNPJA__KEY", "abre-te")
    said = shell("source check --subject company --json", code=1)
    assert said.json["ok"] is False
    assert {name: status for name, _, _, status in probes(said)} == {
        "minha_receita": "ok",
        "cnpja": "fail",
        "serpro": "ok",
    }
    assert "sem conexão (ConnectError)" in said.out
    for secret in ("abre-te", "senha", "quem"):
        assert secret not in said.out + said.err


def test_one_that_never_answers_is_waited_for_no_longer_than_in_a_lookup(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(create_server(("127.0.0.1", 0))) as silent:
        monkeypatch.setenv(
            "BALCAO_MINHA_RECEITA__URL", f"http://127.0.0.1:{silent.getsockname()[1]}"
        )
        monkeypatch.setenv("BALCAO_SOURCE_DEADLINE_SECONDS", "0.5")
        assert "tempo esgotado" in shell("source check", code=1).out


def test_one_that_is_slow_is_a_warning(
    shell: Shell, everything: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BALCAO_SOURCE_TIMEOUT_SECONDS", "0.000001")
    said = shell("source check --source minha_receita")
    assert re.search(r"aviso +\d+ +respondeu; devagar", said.out)


def test_a_refused_certificate_is_told_without_naming_anybody(
    shell: Shell, everything: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = Path(everything["BALCAO_SEFAZ__CERTIFICATE"])
    monkeypatch.setenv("BALCAO_SEFAZ__CERTIFICATE", str(good.with_name("cliente-recusado.p12")))
    said = shell("source check --source sefaz --uf SP", code=1)
    assert "cStat 257" in said.out
    assert not re.search(r"\d{11,14}", said.out + said.err)


def test_a_person_sees_how_far_it_is(
    shell: Shell, everything: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(command, "console", lambda stderr: terminal)
    shell("source check --source sefaz --uf SP --uf RJ --json")
    assert "Perguntando" in screen.getvalue()
    assert "2/2" in screen.getvalue()
