"""`balcao config`, and messages about invalid settings."""

import re
from pathlib import Path

import pytest
from pydantic.fields import FieldInfo

from balcao.cli.manual import type_in_words
from balcao.providers.minha_receita.settings import MinhaReceitaSettings
from balcao.settings import Settings
from balcao.settings.in_force import unknown_variables
from tests.cli.shell import Shell

ROOT = Path(__file__).parent.parent.parent


def test_the_manual_is_up_to_date(shell: Shell) -> None:
    manual = shell("config docs").out
    assert (ROOT / "docs" / "settings.md").read_text("utf-8") == manual, (
        "write it again: balcao config docs > docs/settings.md"
    )


def test_every_setting_is_in_the_manual(shell: Shell) -> None:
    manual = shell("config docs").out
    for name, field in Settings.model_fields.items():
        assert f"BALCAO_{name.upper()}" in manual
        assert str(field.description) in manual


# Content of the column "Tipo": plain words and the values themselves.
_ONE = r"(texto|inteiro|número|caminho|segredo|sim ou não)( [<>≤≥] [0-9.]+)*"
_CHOICE = r"`\w+`( ou `\w+`)*"
_MANY = r"lista de (UFs|textos|inteiros|endereços( ou redes)?|`\w+`(, `\w+`)*)"
_PER_UF = r"endereço por UF, em JSON: `\{\"SP\": \"https://\.\.\.\"\}`"
_TYPE = re.compile(f"{_ONE}|{_CHOICE}|{_MANY}|{_PER_UF}")


def test_types_are_described_in_words(shell: Shell) -> None:
    """Types are described without Python, and tables are well-formed."""
    rows = [line for line in shell("config docs").out.splitlines() if line.startswith("| `BALCAO_")]
    assert len(rows) >= len(Settings.model_fields)
    for row in rows:
        name, _, kind, *_ = cells = re.split(r"(?<!\\)\|", row.strip("|"))
        assert len(cells) == 5, f"{name}: a bar cuts the row"
        assert _TYPE.fullmatch(kind.strip()), f"{name} is called {kind}"


def test_a_type_without_description_is_an_error() -> None:
    with pytest.raises(TypeError, match="manual"):
        type_in_words(FieldInfo(annotation=tuple[complex, ...]))


def test_every_value_has_an_origin(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "balcao.toml").write_text(
        'host = "0.0.0.0"\nport = 8001\n[cnpja]\nkey = "segredo-do-arquivo"\n', "utf-8"
    )
    monkeypatch.setenv("BALCAO_PORT", "8002")
    monkeypatch.setenv("BALCAO_SERPRO__CONSUMER_SECRET", "segredo-do-ambiente")
    monkeypatch.setenv("BALCAO_MINHA_RECEITA__URL", "https://quem:senha@exemplo.com.br")
    found = shell("config show --json").json
    assert found["host"] == {"value": "0.0.0.0", "origin": "arquivo"}
    assert found["port"] == {"value": 8002, "origin": "ambiente"}
    assert found["log_level"] == {"value": "info", "origin": "padrão"}
    assert found["cnpja.key"] == {"value": "***", "origin": "arquivo"}
    assert found["cnpja.url"]["origin"] == "padrão"
    assert found["serpro.consumer_secret"] == {"value": "***", "origin": "ambiente"}
    assert found["minha_receita.url"]["value"] == "https://***@exemplo.com.br"
    for result in (shell("config show --json").out, shell("config show").out):
        for secret in ("segredo", "senha", "quem:"):
            assert secret not in result


def test_all_errors_are_reported_together_without_values(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BALCAO_PORT", "segredo-1")
    monkeypatch.setenv("BALCAO_LOG_FORMAT", "segredo-2")
    monkeypatch.setenv("BALCAO_SERPRO", "segredo-3")
    monkeypatch.setenv("BALCAO_CNPJA__CHAVE", "segredo-4")
    monkeypatch.setenv("BALCAO_LIMITS_GRATUITO__PER_MINUTE", "0")
    monkeypatch.setenv("BALCAO_COMPANY_SOURCES", "segredo-5")
    monkeypatch.setenv("BALCAO_TRUSTED_PROXIES", '["10.0.0.0/8", segredo-7]')
    for line in ("config show", "account list", "serve", "doctor"):
        result = shell(line, code=1)
        text = result.out + result.err
        assert "BALCAO_COMPANY_SOURCES: deve ser 'snapshot'" in text
        assert "BALCAO_TRUSTED_PROXIES: deve ser uma lista" in text
        assert "BALCAO_PORT: deve ser um número inteiro" in text
        assert "segredo" not in text
    monkeypatch.setenv("BALCAO_RECEIPTS", "s3//segredo-6")
    result = shell("config show", code=1)
    assert "segredo" not in result.err
    for complaint in (
        "BALCAO_PORT: deve ser um número inteiro",
        "BALCAO_LOG_FORMAT: deve ser 'auto', 'json' ou 'console'",
        "BALCAO_SERPRO: tem partes",
        "BALCAO_CNPJA__CHAVE: não existe",
        "BALCAO_LIMITS_GRATUITO__PER_MINUTE: deve ser 1 ou mais",
        "BALCAO_RECEIPTS: parece um endereço mal escrito: use s3://bucket",
    ):
        assert complaint in result.err


def test_parts_by_uf(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_SEFAZ__ENDPOINTS", '{"MA": "https://quem:senha@exemplo.com.br"}')
    monkeypatch.setenv("BALCAO_SEFAZ__CPF_UFS", '["SP"]')
    found = shell("config show --json").json
    assert found["sefaz.endpoints"]["value"] == {"MA": "https://***@exemplo.com.br"}
    monkeypatch.setenv("BALCAO_SEFAZ__ENDPOINTS", '{"XX": "segredo-1"}')
    monkeypatch.setenv("BALCAO_SEFAZ__CPF_UFS", '["segredo-2"]')
    monkeypatch.setenv("BALCAO_STATE_REGISTRATION_UFS", "[]")
    result = shell("config show", code=1)
    assert "BALCAO_SEFAZ__ENDPOINTS__XX: não é a sigla de uma UF" in result.err
    assert "BALCAO_SEFAZ__CPF_UFS: não é a sigla de uma UF" in result.err
    assert "BALCAO_STATE_REGISTRATION_UFS: não pode ser vazia" in result.err
    assert "segredo" not in result.err
    monkeypatch.setenv("BALCAO_SEFAZ__HEADER_UFS", "segredo-3")
    monkeypatch.setenv("BALCAO_SEFAZ__ENDPOINTS", "segredo-4")
    result = shell("config show", code=1)
    assert "BALCAO_SEFAZ__HEADER_UFS: não é a sigla de uma UF" in result.err
    assert "BALCAO_SEFAZ__ENDPOINTS: deve ser uma tabela; no ambiente em JSON" in result.err
    assert "segredo" not in result.err


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("10.0.0.0/8", ["10.0.0.0/8"]),
        ("10.0.0.0/8, 192.0.2.1 ,2001:db8::/32", ["10.0.0.0/8", "192.0.2.1/32", "2001:db8::/32"]),
        ('["10.0.0.0/8", "192.0.2.1"]', ["10.0.0.0/8", "192.0.2.1/32"]),
        ("[]", []),
    ],
)
def test_a_list_in_the_environment(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, written: str, read: list[str]
) -> None:
    monkeypatch.setenv("BALCAO_TRUSTED_PROXIES", written)
    monkeypatch.setenv("BALCAO_SEFAZ__CPF_UFS", "SP, RJ")
    found = shell("config show --json").json
    assert found["trusted_proxies"]["value"] == read
    assert found["trusted_proxies"]["origin"] == "ambiente"
    assert found["sefaz.cpf_ufs"]["value"] == ["SP", "RJ"]


@pytest.mark.parametrize("nothing", ["", " ", "10.0.0.0/8,"])
def test_a_blank_value_is_no_empty_list(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, nothing: str
) -> None:
    monkeypatch.setenv("BALCAO_TRUSTED_PROXIES", nothing)
    assert "  BALCAO_TRUSTED_PROXIES: " in shell("config show", code=1).err


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("CNPJA__URL", "segredo", "deve começar com http://"),
        ("MINHA_RECEITA__URL", "ftp://segredo", "deve começar com http://"),
        ("MINHA_RECEITA__URL", "http://segredo:80000", "tem uma porta"),
        ("PUBLIC_URL", "http://[segredo", "um endereço IPv6"),
        ("OPENDATA_SHARES", "segredo", "deve começar com http://"),
        ("OPENDATA_SHARES", "[]", "não pode ser vazia"),
        ("SEFAZ__ENDPOINTS", '{"SP": "segredo"}', "deve começar com http://"),
        ("HOST", "", "não pode ser vazio"),
        ("KEEP_ALIVE_SECONDS", "inf", "deve ser um número"),
        ("OPENDATA_CONTACT", "segredo\nsegredo", "não pode ter espaços"),
    ],
)
def test_invalid_values_are_refused(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, name: str, value: str, complaint: str
) -> None:
    monkeypatch.setenv(f"BALCAO_{name}", value)
    result = shell("config show", code=1)
    assert complaint in result.err
    assert result.err.count("  BALCAO_") == 1
    assert "segredo" not in result.err


@pytest.mark.parametrize(
    ("given", "on", "address"),
    [
        ({}, False, "https://minhareceita.org"),
        ({"url": ""}, False, "https://minhareceita.org"),
        ({"flavour": "brasilapi"}, True, "https://brasilapi.com.br"),
        ({"flavour": "brasilapi", "url": "http://aqui"}, True, "http://aqui"),
        ({"url": "http://aqui"}, True, "http://aqui"),
    ],
)
def test_minha_receita_is_on_if_configured(given: dict[str, str], on: bool, address: str) -> None:
    settings = MinhaReceitaSettings.model_validate(given)
    assert (settings.is_on, settings.address) == (on, address)


def test_the_manual_shows_no_python(shell: Shell) -> None:
    manual = shell("config docs").out
    assert "| lista de UFs | todas as 27 |" in manual
    assert "| lista de UFs | todas, menos PR |" in manual
    assert (
        '`sefaz.endpoints` | endereço por UF, em JSON: `{"SP": "https://..."}` | `{}` |' in manual
    )
    for word in ("<class", "function", "Annotated", "Literal", "dict", "tuple"):
        assert word not in manual


def test_an_unknown_source_is_refused(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_COMPANY_SOURCES", '["snapshot", "minha_recieta"]')
    result = shell("config show", code=1).err
    assert "BALCAO_COMPANY_SOURCES: deve ser 'snapshot', 'minha_receita', 'cnpja' ou" in result


def test_an_invalid_toml_file(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "balcao.toml").write_text("port = 1\nporta = = 1", "utf-8")
    assert "balcao.toml, linha 2: o arquivo não é TOML válido" in shell("config show", code=1).err


def test_a_file_saved_by_windows_editors(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "balcao.toml"
    file.write_bytes("# configuração\r\nport = 8123\r\n".encode("utf-8-sig"))
    assert "8123" in shell("config show").out
    file.write_bytes("# configuração\r\nporta = 1\r\n".encode("utf-8-sig"))
    assert "balcao.toml, linha 2: porta: não existe" in shell("config show", code=1).err
    for content in (
        "port = 1\r\n# configuração\r\n".encode("windows-1252"),
        "port = 1\r\n".encode("utf-16-le"),
        "port = 1\r\n".encode("utf-16"),
    ):
        file.write_bytes(content)
        result = shell("config show", code=1).err
        line = 2 if content.startswith(b"port = ") else 1
        assert f"balcao.toml, linha {line}: o arquivo não está em UTF-8" in result
        assert "salve em UTF-8" in result


def test_errors_in_the_file_have_their_line(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "balcao.toml").write_text(
        """\
log_format = "segredo-1"  # port = 1
prot = 8000
port = "segredo-2"
trusted_proxies = "10.0.0.0/8"
limits_gratuito = { per_minute = 0, per_day = 1 }
limits_pre_pago.per_minute = 1

[ cnpja ]
chave = "segredo-3"

[sefaz]
cpf_ufs = ["SP", "segredo-4"]
"""
    )
    monkeypatch.setenv("BALCAO_PORT", "segredo-5")  # takes precedence, and is invalid
    result = shell("config show", code=1).err
    assert "segredo" not in result
    for complaint in (
        "balcao.toml, linha 1: log_format: deve ser 'auto'",
        "balcao.toml, linha 2: prot: não existe. Seria port?",
        "  BALCAO_PORT: deve ser um número inteiro",
        "balcao.toml, linha 4: trusted_proxies: deve ser uma lista",
        "balcao.toml, linha 5: limits_gratuito.per_minute: deve ser 1 ou mais",
        "balcao.toml, linha 9: cnpja.chave: não existe",
        "balcao.toml, linha 12: sefaz.cpf_ufs: não é a sigla de uma UF",
    ):
        assert complaint in result
    assert "linha 3" not in result


def test_ignored_variables_are_reported(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_PROT", "8000")
    result = shell("config show --json")
    assert result.json["port"]["origin"] == "padrão"
    assert "aviso: BALCAO_PROT não é uma configuração e foi ignorada" in result.err


def test_a_missing_file(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_CONFIG", "/nada/balcao.toml")
    assert "não existe" in shell("config show", code=1).err


def test_a_former_name_of_a_setting_is_refused(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BALCAO_LANE", "false")
    said = shell("config show", code=1).err
    assert "BALCAO_LANE: agora se chama BALCAO_FAST_PATH" in said
    monkeypatch.delenv("BALCAO_LANE")
    (tmp_path / "balcao.toml").write_text("lane = false\n")
    monkeypatch.setenv("BALCAO_CONFIG", str(tmp_path / "balcao.toml"))
    assert (
        "balcao.toml, linha 1: lane: agora se chama fast_path" in shell("config show", code=1).err
    )


def test_a_typing_error_in_a_variable_is_detected() -> None:
    (complaint,) = unknown_variables(
        {
            "BALCAO_PROT": "8000",
            "BALCAO_PORT": "8000",
            "BALCAO_CNPJA__KEY": "x",
            "BALCAO_CONFIG": "x",
            "PATH": "x",
        }
    )
    assert complaint == "BALCAO_PROT não é uma configuração e foi ignorada. Seria BALCAO_PORT?"
