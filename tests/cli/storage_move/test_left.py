"""`doctor` and `backup` on the old storage after `balcao storage move`."""

import pytest

from tests.cli.shell import Shell, free_port
from tests.cli.storage_move.world import in_postgres, in_sqlite


def test_an_old_storage_is_reported_by_doctor_and_not_backed_up(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old storage is first a SQLite, then, moved back, a PostgreSQL."""
    monkeypatch.setenv("BALCAO_PORT", str(free_port()))

    def insists_on(place: str) -> None:
        found = {one["name"]: one for one in filled("doctor --json", code=1).json["checks"]}
        assert found["banco de dados"]["status"] == "fail"
        assert f"movidos daqui para {place}" in found["banco de dados"]["text"]
        assert f"movidos daqui para {place}" in filled("backup create", code=1).err
        assert filled("backup list --json").json["backups"] == []

    filled(f"storage move --to {address} --final")
    insists_on("postgresql:")
    with monkeypatch.context() as patch:
        in_postgres(patch, address)
        filled("storage move --to sqlite --final")
        insists_on("SQLite em")


def test_a_backup_can_be_restored_over_an_old_storage(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(f"storage move --to {address} --final")
    in_postgres(monkeypatch, address)
    copy = filled("backup create --json").json["file"]
    filled("storage move --to sqlite --final")
    restored = filled(f"backup restore {copy} --replace --json").json
    assert restored["saved"] is not None
    assert "acme" in filled("account list").out


def test_the_old_storage_is_neither_backed_up_nor_healthy(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a forgotten setting, unused data would be backed up."""

    def looked(code: int) -> tuple[str, str]:
        checks = filled("doctor --json", code=code).json["checks"]
        return next(
            (one["status"], one["text"]) for one in checks if one["name"] == "banco de dados"
        )

    filled("backup create")
    filled(f"storage move --to {address}")
    in_postgres(monkeypatch, address)
    assert "ainda estão sendo movidos" in filled("backup create", code=1).err
    assert looked(1)[0] == "fail"
    in_sqlite(monkeypatch)
    filled(f"storage move --to {address} --final")
    assert "foram movidos daqui" in filled("backup create", code=1).err
    assert looked(1)[0] == "fail"
    assert "foram movidos daqui" in looked(1)[1]
    in_postgres(monkeypatch, address)
    filled("backup create")
    assert looked(0)[0] == "ok"
