"""Messages about an unusable PostgreSQL: reason and remedy, never the address."""

import psycopg
import pytest

from balcao.cli.failures import explain
from balcao.core.errors import StorageFailed
from balcao.storage.blobs import open_blobs
from tests.cli.shell import Shell

AT = 'connection failed: connection to server at "db", port 5432 failed: '


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (AT + 'FATAL:  password authentication failed for user "balcao"', "usuário ou a senha"),
        (AT + "FATAL:  autenticação do tipo senha falhou para usuário", "usuário ou a senha"),
        (AT + "fe_sendauth: no password supplied", "exige uma senha"),
        (AT + 'FATAL:  database "x" does not exist', "createdb"),
        (AT + 'FATAL:  banco de dados "x" não existe', "createdb"),
        (AT + 'FATAL:  role "x" does not exist', "usuário não existe"),
        (AT + 'FATAL:  no pg_hba.conf entry for host "1.2.3.4"', "pg_hba.conf"),
        (AT + "FATAL:  sorry, too many clients already", "max_connections"),
        (AT + "FATAL:  the database system is starting up", "Repita em instantes"),
        (AT + "Connection refused\n\tIs the server running on that host", "em funcionamento"),
        (AT + "timeout expired", "em funcionamento"),
        ("failed to resolve host 'db': [Errno -2] Name or service not known", "DNS"),
        (AT + "something new", "(OperationalError)"),
    ],
)
def test_reason_and_remedy(text: str, expected: str) -> None:
    failed = StorageFailed("OperationalError")
    failed.__cause__ = psycopg.OperationalError(text)
    for error in (failed, failed.__cause__):
        sentence = explain(error)
        assert sentence is not None
        assert expected in sentence
        assert "BALCAO_DATABASE" in sentence


@pytest.mark.parametrize(
    "broken",
    [
        "postgresql://eu:s3gredo@127.0.0.1:abc/x",
        "postgresql://eu:s3gredo@127.0.0.1/x?nada=1",
        "postgresqlx://eu:s3gredo@127.0.0.1/x",
    ],
)
def test_an_invalid_address(shell: Shell, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    monkeypatch.setenv("BALCAO_DATABASE", broken)
    shell.home.create()
    shell.home.pepper()
    result = shell("account list", code=1)
    assert "é inválido" in result.err
    assert "s3gredo" not in result.out + result.err


def test_a_missing_database(shell: Shell, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("BALCAO_SANDBOX_ESTABLISHMENTS", "0")
    monkeypatch.setenv("BALCAO_DATABASE", address.replace("/balcao_", "/nada_"))
    assert "createdb" in shell("serve", code=1).err
    assert "createdb" in shell("doctor", code=1).out


def test_an_unknown_address_of_receipts() -> None:
    """The message does not blame the database or the disk."""
    with pytest.raises(StorageFailed) as caught:
        open_blobs("s4://bucket/prefixo")
    sentence = explain(caught.value)
    assert sentence is not None
    assert "BALCAO_RECEIPTS" in sentence
