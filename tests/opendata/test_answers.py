"""Finished answers: equal to those built from rows, or absent."""

import random
from collections import namedtuple
from collections.abc import Callable
from contextlib import closing
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from balcao.core.company import Company, masked
from balcao.core.documents import Cnpj
from balcao.core.questions import Inquiry
from balcao.opendata import answers, plan
from balcao.opendata.answers import answers_path, finish, has_answers
from balcao.opendata.current import CurrentSnapshot
from balcao.opendata.errors import BuildRunning, NoRoom, OpenDataError
from balcao.opendata.generator import generate
from balcao.opendata.importer import build
from balcao.opendata.snapshot import Snapshot, current_path
from balcao.opendata.store import WorkFolder
from balcao.operations import OPERATIONS
from tests.opendata.months import TODAY, Month, cnpj, row
from tests.opendata.test_snapshot import SERPRO, Clock

ESTABLISHMENTS = 3_000


def serialize(company: Company) -> bytes:
    """Serialise a company like the lookup does."""
    inquiry = Inquiry("company", Cnpj(company.cnpj))
    return OPERATIONS["company"].encode(inquiry, masked(company))


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generate the files of a month with letters, branches, partners and tax regimes."""
    folder = tmp_path_factory.mktemp("mes")
    generate(folder, ESTABLISHMENTS, 7, alphanumeric_share=0.01, clean=True, tax_regimes=True)
    return folder


@pytest.fixture(scope="module")
def finished(month: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a store with finished answers, in several partitions."""
    store = tmp_path_factory.mktemp("dados")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "_RANGE_BYTES", 100_000)
        build([month], store, today=TODAY)
        assert not has_answers(store)
        assert finish(store, serialize) == answers_path(current_path(store))
    assert has_answers(store)
    assert not (store / "answers").exists()
    return store


def body_of(current: CurrentSnapshot, cnpj: Cnpj) -> bytes | None:
    """Return the finished answer; its day is that of the month."""
    found = current.answer(cnpj)
    assert found is None or found[0] == current.extraction_date
    return None if found is None else found[1]


def documents(store: Path) -> list[Cnpj]:
    """Return all CNPJs of the published month."""
    with closing(Snapshot.open(current_path(store))) as snapshot:
        rows = b"".join(snapshot.establishments()).splitlines()
    return [Cnpj((row[1:9] + row[10:14] + row[15:17]).decode()) for row in rows]


def test_every_establishment_has_the_answer_that_its_rows_give(finished: Path) -> None:
    all_cnpjs = documents(finished)
    assert len(all_cnpjs) == ESTABLISHMENTS
    with (
        closing(Snapshot.open(current_path(finished))) as snapshot,
        closing(CurrentSnapshot(finished, Clock())) as current,
    ):
        for each in all_cnpjs:
            company = snapshot.find(each)
            assert company is not None
            assert body_of(current, each) == serialize(company)


def test_answers_of_a_dirty_month(tmp_path: Path) -> None:
    """Rows are read in bulk for answers, and one by one by lookups: 2,000 drawn at random."""
    generate(tmp_path / "mes", 4_000, 11, alphanumeric_share=0.05, dirt_times=30.0)
    build([tmp_path / "mes"], tmp_path / "dados", today=TODAY)
    finish(tmp_path / "dados", serialize)
    drawn = random.Random(5).sample(documents(tmp_path / "dados"), 2_000)
    with (
        closing(Snapshot.open(current_path(tmp_path / "dados"))) as snapshot,
        closing(CurrentSnapshot(tmp_path / "dados", Clock())) as current,
    ):
        for each in drawn:
            company = snapshot.find(each)
            assert company is not None
            assert body_of(current, each) == serialize(company)


def test_a_missing_answer_affects_no_other(finished: Path) -> None:
    known = documents(finished)[0]
    with closing(CurrentSnapshot(finished, Clock())) as current:
        answer = body_of(current, known)
        assert answer is not None
        for _ in range(2):
            assert body_of(current, cnpj("99999999")) is None
            assert body_of(current, known) == answer


def test_the_version_changes_with_the_form(finished: Path) -> None:
    """When this fails, answers have changed: raise `VERSION`, and update the digest here."""
    digest = sha256()
    with closing(CurrentSnapshot(finished, Clock())) as current:
        for each in sorted(documents(finished), key=lambda one: one.text)[:500]:
            digest.update(body_of(current, each) or b"")
    assert (answers.VERSION, digest.hexdigest()[:16]) == (5, "49303ba6d665a845")


def test_files_of_another_version_or_month_are_not_read(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = documents(finished)[0]
    monkeypatch.setattr(answers, "VERSION", answers.VERSION + 1)
    assert not has_answers(finished)
    with closing(CurrentSnapshot(finished, Clock())) as current:
        assert body_of(current, known) is None
        assert current.find(known) is not None


def test_an_interrupted_build_resumes(
    month: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "_RANGE_BYTES", 100_000)
    monkeypatch.setattr(answers, "_SAMPLES", 160)
    build([month], tmp_path, today=TODAY)
    calls: list[str] = []

    def dying(at: int) -> Callable[[Company], bytes]:
        def make(company: Company) -> bytes:
            calls.append(company.cnpj)
            if len(calls) == at:
                raise KeyboardInterrupt
            return serialize(company)

        return make

    with pytest.raises(KeyboardInterrupt):
        finish(tmp_path, dying(1_500))
    assert not has_answers(tmp_path)
    finish(tmp_path, dying(-1))
    assert ESTABLISHMENTS < len(calls) < ESTABLISHMENTS + 800  # one range twice
    assert set(calls) == {each.text for each in documents(tmp_path)}
    assert has_answers(tmp_path)


def test_a_server_follows_and_a_new_month_removes_the_answers(tmp_path: Path) -> None:
    clock = Clock()
    with closing(CurrentSnapshot(tmp_path, clock)) as current:
        assert body_of(current, SERPRO) is None
        Month(tmp_path / "1", day=date(2026, 7, 11)).build(tmp_path)
        clock.now += 1
        assert body_of(current, SERPRO) is None
        first = finish(tmp_path, lambda company: (company.nome_fantasia or "").encode())
        assert body_of(current, SERPRO) is None  # checked less than a second ago
        clock.now += 1
        assert body_of(current, SERPRO) == b"REGIONAL"

        changed = row("Estabelecimentos", nome_fantasia="NOVO NOME")
        Month(tmp_path / "2", files={"Estabelecimentos0": changed}).build(tmp_path)
        clock.now += 1
        assert body_of(current, SERPRO) is None
        assert first.exists()  # kept for a rollback
        second = finish(tmp_path, lambda company: (company.nome_fantasia or "").encode())
        clock.now += 1
        assert body_of(current, SERPRO) == b"NOVO NOME"
        assert not first.exists()
        Month(tmp_path / "3", day=date(2026, 9, 12)).build(tmp_path)
        Month(tmp_path / "4", day=date(2026, 10, 10)).build(tmp_path)
        assert not second.exists()  # its month is gone


def name_of(company: Company) -> bytes:
    return (company.nome_fantasia or "").encode()


CHANGED = {"Estabelecimentos0": row("Estabelecimentos", nome_fantasia="NOVO NOME")}


def test_a_rebuilt_month_has_no_earlier_answers(tmp_path: Path) -> None:
    """Answers belong to a build of the month, not to its date."""
    clock = Clock()
    Month(tmp_path / "1").build(tmp_path)
    first = finish(tmp_path, name_of)
    with closing(CurrentSnapshot(tmp_path, clock)) as current:
        assert body_of(current, SERPRO) == b"REGIONAL"
        Month(tmp_path / "2", files=dict(CHANGED)).build(tmp_path, force=True)
        assert answers_path(current_path(tmp_path)) != first
        assert not has_answers(tmp_path)
        clock.now += 1
        assert body_of(current, SERPRO) is None
        assert finish(tmp_path, name_of) != first
        clock.now += 1
        assert body_of(current, SERPRO) == b"NOVO NOME"


def test_answers_of_another_build_under_the_same_name_are_not_read(tmp_path: Path) -> None:
    """Same day and path: the file identifies its build."""
    before, after = tmp_path / "before", tmp_path / "after"
    Month(tmp_path / "1").build(before)
    Month(tmp_path / "2", files=dict(CHANGED)).build(after, today=TODAY + timedelta(1))
    old, new = finish(before, name_of), answers_path(current_path(after))
    assert old.name == new.name
    new.write_bytes(old.read_bytes())
    assert not has_answers(after)
    with closing(CurrentSnapshot(after, Clock())) as current:
        assert body_of(current, SERPRO) is None
        assert current.find(SERPRO) is not None


def test_damaged_answers_fall_back_to_rows(tmp_path: Path) -> None:
    Month(tmp_path / "month").build(tmp_path)
    path = finish(tmp_path, lambda company: company.cnpj.encode() * 100)
    body = path.read_bytes()
    at = body.index(b"\x28\xb5\x2f\xfd") + 12  # behind zstd's magic number
    path.write_bytes(body[:at] + bytes([body[at] ^ 255]) + body[at + 1 :])
    with closing(CurrentSnapshot(tmp_path, Clock())) as current:
        assert body_of(current, SERPRO) is None
        assert current.find(SERPRO) is not None


def test_refused_without_month_or_room_and_while_another_builds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OpenDataError):
        finish(tmp_path, serialize)
    Month(tmp_path / "month").build(tmp_path)
    with WorkFolder(tmp_path, "answers", "answers.lock", ()), pytest.raises(BuildRunning):
        finish(tmp_path, serialize)
    usage = namedtuple("usage", "free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(10))
    with pytest.raises(NoRoom, match="precisa de"):
        finish(tmp_path, serialize)
    assert not has_answers(tmp_path)
