"""The data folder and its secret."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from balcao.core.errors import HomeDamaged, HomeInUse
from balcao.home import SECRET_BYTES, Home, new_secret
from balcao.storage.blobs import open_blobs


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "data")
    home.create()
    return home


def test_the_secret_is_made_once_and_private(home: Home) -> None:
    pepper = home.pepper()
    assert len(pepper) == SECRET_BYTES
    assert home.pepper() == pepper
    assert stat.S_IMODE(home.secret.stat().st_mode) == 0o600
    assert [path.name for path in home.path.iterdir()] == ["secret.key"], "no other file is left"


def test_processes_that_start_together_agree_on_one_secret(home: Home) -> None:
    with ThreadPoolExecutor(8) as threads:
        peppers = set(threads.map(lambda _: home.pepper(), range(32)))
    assert len(peppers) == 1


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files to others")
def test_replaced_secrets_keep_their_owner(home: Home) -> None:
    """Otherwise the service could not read them any more."""
    first = home.pepper()
    os.chown(home.secret, 65_534, -1)
    home.replace_secrets([first, new_secret()])
    assert home.secret.stat().st_uid == 65_534
    assert stat.S_IMODE(home.secret.stat().st_mode) == 0o600


def test_half_a_secret_is_refused(home: Home) -> None:
    home.secret.write_bytes(b"half")
    with pytest.raises(HomeDamaged):
        home.pepper()


def test_a_lost_secret_is_not_silently_replaced(home: Home) -> None:
    """A new one would turn every key that was ever issued into a stranger's."""
    home.pepper()
    home.desk.touch()
    home.secret.unlink()
    with pytest.raises(HomeDamaged):
        home.pepper()
    assert not home.secret.exists()


def test_receipts_have_a_folder_of_their_own_that_looking_does_not_make(home: Home) -> None:
    assert home.receipts == home.path / "receipts"
    assert not home.receipts.exists()
    open_blobs(home.receipts)
    assert stat.S_IMODE(home.receipts.stat().st_mode) == 0o700


def test_one_server_on_a_folder(home: Home) -> None:
    first = home.lock()
    with pytest.raises(HomeInUse):
        home.lock()
    first.close()
    home.lock().close()
