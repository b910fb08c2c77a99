"""Fetching a month: search, wait, resume, check, publish; and refusals."""

import asyncio
import io
import shutil
from datetime import date
from pathlib import Path

import httpx2
import msgspec
import pytest

from balcao.opendata.errors import (
    BadInput,
    FetchFailed,
    FetchRunning,
    NoRoom,
    ShareFailed,
    VerificationFailed,
)
from balcao.opendata.fetching import download
from balcao.opendata.fetching.share_client import STALL_SECONDS, ShareClient, open_client
from balcao.opendata.fetching.state import StateFile, read_state
from balcao.opendata.importer import build, rollback
from balcao.opendata.store import months
from tests.opendata.fetching import NOVEMBER, OCTOBER, Killed, World, Zips, bad_day, zips_of
from tests.opendata.share import Fault, Share, served

MINUTE_MS = 60_000


@pytest.fixture(scope="module")
def october(tmp_path_factory: pytest.TempPathFactory) -> Zips:
    return zips_of(tmp_path_factory.mktemp("october"), OCTOBER)


@pytest.fixture(scope="module")
def november(tmp_path_factory: pytest.TempPathFactory) -> Zips:
    return zips_of(tmp_path_factory.mktemp("november"), NOVEMBER)


@pytest.fixture
def world(tmp_path: Path, october: Zips, november: Zips) -> World:
    share = Share({"2026-10": dict(october), "2026-11": dict(november)})
    share.months["2026-11"]["cnpj.tar.gz"] = b"old"
    return World(tmp_path / "live", share)


def faults(share: Share, *of: tuple[str, Fault]) -> None:
    """Inject these faults, in order, each once; by zip."""
    left = list(of)

    def fault(name: str, start: int) -> Fault:
        found = next((each for each in left if each[0] == name), None)
        if found is None:
            return Fault()
        left.remove(found)
        return found[1]

    share.fault = fault


def ranges(share: Share, name: str) -> list[str]:
    """Return the requested ranges of a zip, without those of its first bytes."""
    requested = [r for _, path, r in share.requests if path.endswith(name)]
    return [r for r in requested if r != "bytes=0-4095"]


def test_the_newest_month_is_fetched_and_switched_in(world: World, november: Zips) -> None:
    state = world.fetch()
    assert (state.standing, state.month) == ("trocado", "2026-11")
    assert state.bytes_done == state.bytes_total == sum(map(len, november.values()))
    assert world.in_use() == NOVEMBER
    assert world.slept == [600], "two listings, ten minutes apart"
    assert list((world.store / "fetched").iterdir()) == [], "the zips were not deleted"
    requested = {
        path.rsplit("/", 1)[-1] for method, path, _ in world.share.requests if method == "GET"
    }
    assert requested == set(november)
    assert read_state(world.store) == state


def test_no_request_before_a_month_can_be_published(world: World) -> None:
    world.fetch()
    world.share.requests.clear()
    assert world.fetch().standing == "esperando_mes"
    assert world.share.requests == []
    world.pass_time(10 * 24 * 60 * MINUTE_MS)  # December: it may be out, and is not
    assert world.fetch().standing == "esperando_mes"
    assert [method for method, _, _ in world.share.requests] == ["PROPFIND"]


def test_requests_identify_the_operator(world: World) -> None:
    client = open_client("ti@empresa.com.br")
    assert client.headers["user-agent"].startswith("Balcao/")
    assert client.headers["user-agent"].endswith(" (+ti@empresa.com.br)")
    assert client.headers["accept-encoding"] == "identity"
    assert client.timeout.read == client.timeout.connect == STALL_SECONDS == 30


def test_the_zips_stay_in_the_given_folder(world: World, tmp_path: Path, november: Zips) -> None:
    world.fetch(into=tmp_path / "espelho")
    kept = {file.name: file.read_bytes() for file in (tmp_path / "espelho/2026-11").iterdir()}
    assert kept == dict(november)
    world.share.requests.clear()
    world.fetch(into=tmp_path / "espelho", month="2026-11")
    assert ranges(world.share, "Simples.zip") == [], "what is there is not asked for again"


def test_a_month_by_its_name(world: World) -> None:
    world.fetch(month="2026-10")
    assert world.in_use() == OCTOBER
    with pytest.raises(FetchFailed, match="2026-09 não está publicado; o mais novo é 2026-11"):
        world.fetch(month="2026-09")
    state = read_state(world.store)
    assert state is not None
    assert state.standing == "falhou"


def test_waits_for_an_incomplete_month(world: World, november: Zips) -> None:
    there = world.share.months["2026-11"]
    del there["Simples.zip"]
    state = world.fetch()
    assert (state.standing, state.reason) == (
        "incompleto",
        "há 36 dos 37 arquivos; falta Simples.zip",
    )
    assert state.last_run.retry_at_ms == world.now_ms + 60 * MINUTE_MS
    there["Simples.zip"] = b""
    assert world.fetch().reason == "vazio ainda: Simples.zip"
    there["Simples.zip"] = november["Simples.zip"][:50]
    world.later(5 * MINUTE_MS, lambda: there.update(november))
    assert world.fetch().reason == "os arquivos ainda mudam"
    assert not any(ranges(world.share, name) for name in november), "nothing was downloaded"
    world.pass_time(60 * MINUTE_MS)
    world.slept.clear()
    assert world.fetch().standing == "trocado"
    assert world.slept == [], "the listing of an hour ago was the first of the two"


def test_waits_for_a_mixed_month(world: World, october: Zips, november: Zips) -> None:
    """The sizes are equal: only the inner names differ."""
    world.share.months["2026-11"]["Paises.zip"] = october["Paises.zip"]
    state = world.fetch()
    assert state.standing == "incompleto"
    assert "extrações diferentes: Paises.zip é D61010" in state.reason
    assert not any(ranges(world.share, name) for name in november), "nothing was downloaded"
    world.share.months["2026-11"]["Paises.zip"] = november["Paises.zip"]
    assert world.fetch().standing == "trocado"


def test_a_file_replaced_meanwhile_is_detected(world: World, october: Zips) -> None:
    """The size is equal, and the first bytes were already checked."""
    share = world.share

    def fault(name: str, start: int) -> Fault:
        share.months["2026-11"]["Paises.zip"] = october["Paises.zip"]
        return Fault()

    share.fault = fault
    with pytest.raises(BadInput, match=r"Paises\.zip é de outra extração"):
        world.fetch()
    assert world.in_use() is None


def test_a_file_that_grows_meanwhile_makes_it_incomplete(world: World) -> None:
    share = world.share
    share.fault = lambda name, start: Fault(cut_at=300) if not start else _grow(share, name)
    state = world.fetch()
    assert state.standing == "incompleto"
    assert "mudou enquanto era baixado" in state.reason
    assert world.in_use() is None


def _grow(share: Share, name: str) -> Fault:
    share.months["2026-11"][name] += b"x" * 10
    return Fault(shift=0)


def test_resumes_where_it_was_cut_off(world: World, november: Zips) -> None:
    name, size = "Empresas0.zip", len(november["Empresas0.zip"])
    cuts = [1, 2, 30, 31, size - 1]
    faults(world.share, *((name, Fault(cut_at=at)) for at in (1, 1, 28, 1)))
    world.fetch()
    assert ranges(world.share, name) == ["", *(f"bytes={n}-" for n in (1, 2, 30, 31))]
    assert cuts[0] == 1
    assert world.slept == [600], "after progress it resumes at once"


def test_resumes_at_any_byte(world: World, november: Zips) -> None:
    """A server that sends one byte per request: as slow as possible, and never given up."""
    name = min(november, key=lambda name: len(november[name]))
    world.share.fault = lambda zip_name, start: Fault(cut_at=1 if zip_name == name else None)
    assert world.fetch().standing == "trocado"
    size = len(november[name])
    assert ranges(world.share, name) == ["", *(f"bytes={at}-" for at in range(1, size))]


@pytest.mark.parametrize(
    ("faulty", "requested"),
    [
        (Fault(whole=True), ["", "bytes=100-"]),
        (Fault(whole=True, cut_at=150), ["", "bytes=100-", "bytes=150-"]),
        (Fault(status=503), ["", "bytes=100-", "bytes=100-"]),
        (Fault(status=416), ["", "bytes=100-", ""]),
        (Fault(shift=3), ["", "bytes=100-", ""]),
        (Fault(stall_at=0), ["", "bytes=100-", "bytes=100-"]),
        (Fault(cut_at=50), ["", "bytes=100-", "bytes=150-"]),
    ],
)
def test_answers_to_a_range(world: World, faulty: Fault, requested: list[str]) -> None:
    faults(world.share, ("Simples.zip", Fault(cut_at=100)), ("Simples.zip", faulty))
    assert world.fetch().standing == "trocado"
    assert ranges(world.share, "Simples.zip") == requested


def test_gives_up_on_a_file_without_progress(world: World) -> None:
    world.share.fault = lambda name, start: Fault(status=503 if name == "Simples.zip" else None)
    with pytest.raises(FetchFailed, match=r"Simples\.zip não avança: o servidor respondeu 503"):
        world.fetch()
    assert world.slept == [600, 5, 10, 20]
    assert len(ranges(world.share, "Simples.zip")) == 4
    state = read_state(world.store)
    assert state is not None
    assert state.last_run.retry_at_ms == world.now_ms + 60 * MINUTE_MS, "it is resumed"
    part = world.store / "fetched/2026-11/Simples.zip.2026-11.part"
    assert not part.exists()
    world.share.fault = lambda name, start: Fault()
    world.share.requests.clear()
    assert world.fetch().standing == "trocado"
    assert ranges(world.share, "Empresas0.zip") == [], "downloaded bytes are not requested again"


def test_gives_up_on_a_server_that_ignores_ranges_and_breaks_off(world: World) -> None:
    world.share.fault = lambda name, start: (
        Fault(whole=True, cut_at=100) if name == "Simples.zip" else Fault()
    )
    with pytest.raises(FetchFailed, match=r"Simples\.zip não avança"):
        world.fetch()
    assert len(ranges(world.share, "Simples.zip")) == 5


def test_fewer_connections_after_stalls_of_requests() -> None:
    """Also for further attempts of files that were begun before."""

    async def most_at_once() -> list[int]:
        stalling, at_once, most = True, 0, 0
        go_on = asyncio.Event()

        async def answer(request: httpx2.Request) -> httpx2.Response:
            nonlocal at_once, most
            if stalling:
                raise httpx2.ConnectTimeout("no connection in time")
            at_once += 1
            most = max(most, at_once)
            await go_on.wait()
            at_once -= 1
            return httpx2.Response(200)

        async def one() -> None:
            async with share_client.stream("GET", "https://share.test/", {}):
                pass

        found = []
        async with open_client("", httpx2.MockTransport(answer)) as client:
            share_client = ShareClient(client, asyncio.sleep)
            for _ in range(4):
                stalling, most = False, 0
                go_on.clear()
                waiting = [asyncio.ensure_future(one()) for _ in range(9)]
                for _ in range(50):  # let the tasks run
                    await asyncio.sleep(0)
                found.append(most)
                go_on.set()
                await asyncio.gather(*waiting)
                stalling = True
                for _ in range(3):
                    with pytest.raises(httpx2.ConnectTimeout):
                        await one()
        return found

    assert asyncio.run(most_at_once()) == [4, 2, 1, 1]


def test_a_part_of_another_month_is_not_used(world: World, october: Zips) -> None:
    folder = world.store / "fetched/2026-11"
    folder.mkdir(parents=True)
    (folder / "Simples.zip.2026-10.part").write_bytes(october["Simples.zip"][:100])
    (world.store / "fetched/2026-10").mkdir()
    assert world.fetch().standing == "trocado"
    assert ranges(world.share, "Simples.zip") == [""]
    assert not (world.store / "fetched/2026-10").exists(), "nothing of the month before is left"


def test_a_part_that_is_too_long_is_not_used(world: World, november: Zips) -> None:
    folder = world.store / "fetched/2026-11"
    folder.mkdir(parents=True)
    (folder / "Simples.zip.2026-11.part").write_bytes(b"x" * 10_000)
    (folder / "Paises.zip").write_bytes(b"short")
    assert world.fetch().standing == "trocado"
    assert ranges(world.share, "Simples.zip") == [""]


def test_a_damaged_zip_is_downloaded_again(world: World) -> None:
    faults(world.share, ("Simples.zip", Fault(flip_at=90)))
    assert world.fetch().standing == "trocado"
    assert ranges(world.share, "Simples.zip") == ["", ""]


def test_a_zip_that_stays_damaged_is_reported(world: World) -> None:
    world.share.fault = lambda name, start: Fault(flip_at=90 if name == "Simples.zip" else None)
    with pytest.raises(BadInput, match=r"baixado duas vezes, Simples\.zip está danificado"):
        world.fetch()
    assert len(ranges(world.share, "Simples.zip")) == 2
    assert world.in_use() is None


def test_nothing_is_downloaded_without_room(world: World, november: Zips) -> None:
    zips = sum(map(len, november.values()))
    needed = int(zips * 1.2 * 28.7 / 7.7)
    with pytest.raises(NoRoom):
        world.fetch(free_bytes=lambda path: needed - 1)
    assert not any(ranges(world.share, name) for name in november)
    assert world.fetch(free_bytes=lambda path: needed).standing == "trocado"


def test_a_disk_that_fills_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk takes half of a chunk, without an error."""

    class Full(io.FileIO):
        def write(self, content: object) -> int:
            assert isinstance(content, bytes)
            return super().write(content[: len(content) // 2])

    monkeypatch.setattr(download, "_open_part", lambda part, at: Full(part, "ab"))
    with pytest.raises(OSError, match="No space left"):
        world.fetch()
    state = read_state(world.store)
    assert state is not None
    assert state.reason == "o disco está cheio"
    monkeypatch.undo()
    assert world.fetch().standing == "trocado"


def test_a_token_that_changes_in_the_middle(world: World) -> None:
    world.addresses = [world.share.address, f"{world.share.address}novo"]

    def fault(name: str, start: int) -> Fault:
        if start == 0 and name == "Simples.zip":
            world.share.token = "espelhonovo"
            return Fault(status=404)
        return Fault()

    world.share.fault = fault
    with pytest.raises(ShareFailed, match=r"mudou de lugar: .* 404"):
        world.fetch()
    world.share.fault = lambda name, start: Fault()
    assert world.fetch().standing == "trocado"


def test_a_share_that_is_gone_or_behind(world: World, october: Zips) -> None:
    """With two shares, the one that has the newest month is used."""
    gone = world.share.address.replace("espelho", "velho")
    world.addresses = [gone, world.share.address]
    assert world.fetch().standing == "trocado"
    world.addresses = [gone]
    world.pass_time(10 * 24 * 60 * MINUTE_MS)
    with pytest.raises(ShareFailed, match=r"share\.test respondeu 40"):
        world.fetch()
    assert world.in_use() == NOVEMBER
    state = read_state(world.store)
    assert state is not None
    assert (state.standing, state.month) == ("falhou", None), "nothing is wrong with November"


@pytest.mark.parametrize(
    "address",
    ["https://share.test/lista", "https://share.test/public.php/dav/files/espelho/"],
    ids=["a page of links", "WebDAV"],
)
def test_a_mirror_of_our_own(world: World, address: str) -> None:
    world.addresses = [address]
    faults(world.share, ("Simples.zip", Fault(cut_at=40)))
    assert world.fetch().standing == "trocado"
    assert ranges(world.share, "Simples.zip")[-1] == "bytes=40-"


def test_the_newer_form_and_a_folder_below(world: World) -> None:
    world.share.folder, world.share.webdav = "Dados/Cadastros/CNPJ", False
    assert world.fetch().standing == "trocado"


def test_resumes_after_a_kill_at_any_point(world: World, november: Zips) -> None:
    left = 30

    def fault(name: str, start: int) -> Fault:
        nonlocal left
        left -= 1
        if left > 0 and left % 3 == 0:
            raise Killed
        return Fault(cut_at=200) if left > 0 else Fault()

    world.share.fault = fault
    killed, state = 0, None
    while state is None:
        try:
            state = world.fetch(keep_zips=True)
        except Killed:
            killed += 1
            seen = read_state(world.store)
            assert seen is not None
            assert seen.interrupted
            assert world.in_use() is None
    assert killed > 1
    assert state.standing == "trocado"
    kept = {file.name: file.read_bytes() for file in (world.store / "fetched/2026-11").iterdir()}
    assert kept == dict(november)
    assert world.slept == [600], "the listing was seen before"


def test_one_at_a_time(world: World) -> None:
    with StateFile(world.store, lambda: world.now_ms):
        seen = read_state(world.store)
        assert seen is None
        with pytest.raises(FetchRunning):
            world.fetch()
    assert world.fetch().standing == "trocado"


def test_a_refused_month_is_not_retried_every_night(world: World, tmp_path: Path) -> None:
    """A month that shrank, such as one published incompletely; its zips stay, for `build`."""
    folder = tmp_path / "large"
    zips_of(folder, OCTOBER, establishments=200)
    build([folder], world.store, today=date(2026, 10, 20))
    with pytest.raises(VerificationFailed):
        world.fetch()
    assert world.in_use() == OCTOBER
    assert len(list((world.store / "fetched/2026-11").iterdir())) == 37
    with pytest.raises(FetchFailed, match="recusou os arquivos de 2026-11, e não mudaram"):
        world.fetch(retry_refused=False)
    with pytest.raises(VerificationFailed):
        world.fetch()
    assert world.in_use() == OCTOBER
    build([world.store / "fetched/2026-11"], world.store, today=NOVEMBER, force=True)
    assert world.fetch().standing == "esperando_mes"
    assert not list((world.store / "fetched").iterdir())


def test_a_rollback_is_not_undone(world: World, october: Zips, tmp_path: Path) -> None:
    world.fetch(month="2026-10")
    world.fetch()
    assert world.in_use() == NOVEMBER
    rollback(world.store)
    assert world.fetch().standing == "esperando_mes"
    assert world.in_use() == OCTOBER
    assert [month.extraction_date for month in months(world.store)] == [NOVEMBER, OCTOBER]


def test_an_unreadable_state_file_is_ignored(world: World) -> None:
    world.fetch()
    (world.store / "fetch.json").write_text("{")
    assert read_state(world.store) is None
    assert world.fetch().standing == "esperando_mes"
    assert msgspec.json.decode((world.store / "fetch.json").read_bytes())["standing"]


def test_on_loopback(tmp_path: Path, november: Zips) -> None:
    """Over sockets: a share that closes connections in the middle."""
    share = Share({"2026-11": dict(november)})
    faults(share, *((name, Fault(cut_at=len(november[name]) // 2)) for name in november))
    world = World(tmp_path / "live", share)
    with served(share) as address:
        world.addresses = [f"{address}/index.php/s/espelho"]
        assert world.fetch(open_client=lambda: open_client("ti@x.br")).standing == "trocado"
    assert len(ranges(share, "Simples.zip")) == 2
    assert all("(+ti@x.br)" in agent for agent in share.agents)
    assert world.in_use() == NOVEMBER


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Zips:
    """Generate another extraction of November, of the same sizes."""
    return zips_of(tmp_path_factory.mktemp("wrong"), date(2026, 11, 7))


@pytest.mark.parametrize("seed", range(5))
def test_bad_days(seed: int, tmp_path: Path, october: Zips, november: Zips, wrong: Zips) -> None:
    """With any faults, the last published November is in use in the end. `bench fetch` runs 200."""
    bad_day(seed, tmp_path / "live", october, november, wrong)
    shutil.rmtree(tmp_path / "live")
