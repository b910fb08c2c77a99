"""Settings as operators write them."""

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from balcao.core.federation import UFS
from balcao.providers import sefaz
from balcao.settings import Settings, config_file

ROOT = Path(__file__).parent.parent


def test_no_test_and_no_process_of_one_sees_the_checkout_s_own_settings() -> None:
    """Whoever follows the README's example has `.balcao/balcao.toml` where the tests are."""
    assert not Path.cwd().is_relative_to(ROOT)
    assert config_file() is None
    script = (
        "from balcao.settings import Settings, config_file; print(config_file(), Settings().home)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["None", ".balcao"]


def test_ufs_are_put_in_the_contract_s_order() -> None:
    """The answer to `uf=BR` is in UF order, whatever the order of the setting."""
    chosen = Settings.model_validate({"state_registration_ufs": ("SP", "rj", "AC")})
    assert chosen.ufs_of("state_registration") == ("AC", "RJ", "SP")
    assert Settings().ufs_of("state_registration") == UFS


def test_a_uf_given_twice_would_be_charged_twice() -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate({"rural_producer_ufs": ("SP", "RJ", "SP")})


def test_an_empty_variable_is_no_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of settings for containers pass on what is not set as empty text."""
    monkeypatch.setenv("BALCAO_SEFAZ__CERTIFICATE", "")
    monkeypatch.setenv("BALCAO_SEFAZ__CA_FILE", "")
    monkeypatch.setenv("BALCAO_TLS_KEY", "")
    settings = Settings()
    treasuries = sefaz.PROVIDER.settings_in(settings)
    assert treasuries is not None
    assert (treasuries.certificate, treasuries.ca_file, settings.tls_key) == (None,) * 3
    assert not treasuries.is_on


def test_files_are_looked_for_beside_the_toml_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "balcao.toml"
    file.write_text(
        'tls_key = "chave.pem"\n[sefaz]\ncertificate = "empresa.pfx"\nca_file = "/raizes.pem"\n'
    )
    monkeypatch.setenv("BALCAO_CONFIG", str(file))
    settings = Settings()
    treasuries = sefaz.PROVIDER.settings_in(settings)
    assert treasuries is not None
    assert treasuries.certificate == tmp_path / "empresa.pfx"
    assert treasuries.ca_file == Path("/raizes.pem")
    assert settings.tls_key == tmp_path / "chave.pem"


@pytest.mark.parametrize(
    "typo",
    [
        "s3//balde/prefixo",
        "s3:/bucket/prefixo",
        "s3:bucket/prefixo",
        "S3:/balde",
        "GS//balde",
        "file:/var/recibos",
        "file//var/recibos",
        "https:/exemplo.com.br/recibos",
        "s3://",
        "s3;//balde",
        '"s3://bucket"',
        "'s3://bucket/prefixo'",
    ],
)
def test_receipts_do_not_go_into_a_folder_named_like_an_address(typo: str) -> None:
    with pytest.raises(ValidationError, match="s3://bucket/prefixo"):
        Settings(receipts=typo)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("", ""),
        ("recibos", "recibos"),
        ("s3/recibos", "s3/recibos"),
        ("/var/s3:/recibos", "/var/s3:/recibos"),
        ("./s3:recibos", "./s3:recibos"),
        ("s3://bucket", "s3://bucket"),
        ("s3://bucket/prefixo", "s3://bucket/prefixo"),
        ("S3://Balde/Prefixo", "s3://Balde/Prefixo"),
        (" s3://bucket ", "s3://bucket"),
        ("file:///var/recibos", "file:///var/recibos"),
        ("memory:///", "memory:///"),
    ],
)
def test_where_receipts_go(written: str, read: str) -> None:
    assert Settings(receipts=written).receipts == read


def test_an_account_has_room_for_one_file_of_its_plan() -> None:
    plan = {"file_mb": 50, "kept_mb": 49, "open_batches": 1, "unread_files": 1}
    plan |= {"cells": 1, "result_files": 1}
    with pytest.raises(ValidationError, match=r"files_gratuito\.kept_mb\n.*file_mb, que é 50"):
        Settings.model_validate({"files_gratuito": plan})
    chosen = Settings.model_validate({"files_gratuito": plan | {"kept_mb": 50}})
    assert chosen.files_gratuito.kept_mb == 50


def test_room_is_compared_with_the_files_of_the_same_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable alone changes one part of the default."""
    monkeypatch.setenv("BALCAO_FILES_GRATUITO__KEPT_MB", "5")
    with pytest.raises(ValidationError, match="file_mb, que é 10"):
        Settings()


@pytest.mark.parametrize("token", [" ", "a", "x" * 15, "y" * 10 + " " + "y" * 10, "ç" * 20])
def test_the_token_of_metrics_cannot_be_guessed(token: str) -> None:
    with pytest.raises(ValidationError, match="16 caracteres"):
        Settings.model_validate({"metrics_token": token})
    assert Settings.model_validate({"metrics_token": "x" * 16}).metrics_token.get_secret_value()
    assert not Settings.model_validate({"metrics_token": ""}).metrics_token.get_secret_value()
