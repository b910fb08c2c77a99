"""`balcao opendata fetch`, from a share on loopback to the month in use."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from balcao.cli import opendata
from balcao.opendata.fetching.state import StateFile
from balcao.opendata.generator import EXTRACTION_DATE
from balcao.service.clock import system_now_ms
from tests.cli.shell import Shell
from tests.opendata.fetching import zips_of
from tests.opendata.share import Share, served

MONTH = "2026-08"


@pytest.fixture(scope="module")
def zips(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return dict(zips_of(tmp_path_factory.mktemp("month"), EXTRACTION_DATE))


@pytest.fixture
def share(zips: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[Share]:
    """A configured share; waiting takes no time."""

    async def at_once(seconds: float) -> None:
        pass

    monkeypatch.setattr(opendata, "_sleep_with_note", at_once)
    share = Share({MONTH: dict(zips)})
    with served(share) as address:
        shares = [f"{address}/index.php/s/espelho"]
        monkeypatch.setenv("BALCAO_OPENDATA_SHARES", json.dumps(shares))
        monkeypatch.setenv("BALCAO_OPENDATA_CONTACT", "ti@empresa.com.br")
        yield share


def store_of(shell: Shell) -> Path:
    return shell.path / "opendata" / "live"


def finding(shell: Shell) -> tuple[str, str] | None:
    checks = shell("doctor --json", code=0).json["checks"]
    found = [(c["status"], c["text"]) for c in checks if c["name"] == "download do mês"]
    return found[0] if found else None


def test_a_month_is_fetched(shell: Shell, share: Share) -> None:
    assert finding(shell) is None
    result = shell("opendata fetch")
    assert result.out == "O mês 2026-08 foi baixado, verificado e colocado em uso.\n"
    found = shell("opendata status --json").json
    assert found["live"]["extraction_date"] == "2026-08-08"
    assert found["fetch"]["standing"] == "trocado"
    assert found["fetch"]["percent"] == 100
    assert "O mês 2026-08 foi baixado" in shell("opendata status").out
    assert (finding(shell) or ("", ""))[0] == "ok"
    assert {agent.partition(" ")[2] for agent in share.agents} == {"(+ti@empresa.com.br)"}
    again = shell("opendata fetch --json").json
    assert (again["standing"], again["month"]) == ("esperando_mes", None)


def test_an_incomplete_month(shell: Shell, share: Share) -> None:
    del share.months[MONTH]["Paises.zip"]
    result = shell("opendata fetch")
    assert "Aguardando o mês 2026-08 ficar completo: há 36 dos 37 arquivos" in result.out
    state = shell("opendata fetch --json").json
    assert (state["standing"], state["running"]) == ("incompleto", False)
    assert state["again_at"] > state["updated_at"]
    assert shell("opendata status --json").json["live"] is None


def test_failures_are_reported(shell: Shell, share: Share) -> None:
    share.token = "outro"
    result = shell("opendata fetch", code=1)
    assert result.err.startswith("erro: Dados abertos: 127.0.0.1 respondeu 40")
    assert (finding(shell) or ("", ""))[0] == "warn"
    assert "Não foi possível procurar um mês" in shell("opendata status").out


def test_usage(shell: Shell, share: Share, tmp_path: Path) -> None:
    assert "2026-10" in shell("opendata fetch --month outubro", code=2).err
    into = tmp_path / "espelho"
    assert shell(f"opendata fetch --month {MONTH} --into {into} --json").json["month"] == MONTH
    assert len(list((into / MONTH).glob("*.zip"))) == 37


def test_a_mirror_instead(
    shell: Shell, share: Share, zips: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(Share({MONTH: zips})) as address:
        monkeypatch.setenv("BALCAO_OPENDATA_URL", f"{address}/lista/")
        assert shell("opendata fetch --json").json["standing"] == "trocado"
    assert share.requests == []


def test_one_at_a_time(shell: Shell, share: Share) -> None:
    with StateFile(store_of(shell), system_now_ms) as state_file:
        state_file.update("baixando", month=MONTH, bytes_done=3, bytes_total=10)
        assert "outro processo já está baixando" in shell("opendata fetch", code=1).err
        assert "Baixando o mês 2026-08: 30%" in shell("opendata status").out
    assert "interrompido em 30%" in shell("opendata status").out


def test_a_month_of_another_size_can_be_accepted(
    shell: Shell, share: Share, tmp_path: Path
) -> None:
    zips_of(tmp_path / "maior", EXTRACTION_DATE.replace(month=7), establishments=300)
    shell("opendata build maior")
    result = shell("opendata fetch", code=1)
    command = result.err[result.err.index("opendata build") :].strip()
    assert command.endswith("--force")
    shell(command)
    assert shell("opendata status --json").json["live"]["extraction_date"] == "2026-08-08"


def test_invalid_addresses_in_settings(fresh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("BALCAO_OPENDATA_URL", "espelho/cnpj"),
        ("BALCAO_OPENDATA_URL", "https://eu:segredo@espelho/cnpj"),
        ("BALCAO_OPENDATA_SHARES", "[]"),
        ("BALCAO_OPENDATA_CONTACT", "a b"),
    ):
        with monkeypatch.context() as patched:
            patched.setenv(name, value)
            result = fresh("opendata fetch", code=1).err
            assert name in result or name.removeprefix("BALCAO_").lower() in result
            assert "segredo" not in result
