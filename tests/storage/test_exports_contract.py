"""Files that take long to write: requested, stored in pieces, replaced, removed."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from balcao.core.access import Account
from balcao.core.data_subject import data_subject
from balcao.core.documents import Cpf
from balcao.storage.data_subjects import HeldRow
from balcao.storage.desk.data_subjects import DataSubjects
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.exports import EXPORT, ExportForm, StoredExport, packed
from tests.storage.engines import Engine
from tests.storage.world import DAY_MS, NOW


def an_export(
    account: Account, number: str = "e1", user: int = 7, form: ExportForm = "csv"
) -> StoredExport:
    return StoredExport(
        number, account.account_id, user, form, "historico-2026-10", "{}", 0, None, NOW
    )


def open_jobs(engine: Engine) -> list[str]:
    return sorted(
        about for (about,) in engine.sql(f"SELECT about FROM job WHERE kind = '{EXPORT}'")
    )


def test_a_file_is_requested_written_and_read(engine: Engine, desk: Desk, ana: Account) -> None:
    exports, asked = desk.exports, an_export(ana)
    engine.run(exports.begin(asked))
    assert open_jobs(engine) == ["e1"]
    assert engine.run(exports.find("e1")) == asked
    engine.run(exports.report_progress("e1", 12))
    assert engine.run(exports.of_user(ana.account_id, 7)) == replace(asked, rows=12)
    assert engine.run(exports.of_user(ana.account_id, 8)) is None
    contents = [b"\0\xff" * 70, b"the end"]
    # An attempt that died has left pieces.
    engine.run(exports.keep("e1", "died", 0, packed(b"other")))
    for number, content in enumerate(contents):
        engine.run(exports.keep("e1", "a", number, packed(content)))
    assert list(exports.pieces("e1")) == []  # not before it is finished
    engine.run(exports.finish("e1", "a", 20, 147))
    assert engine.run(exports.find("e1")) == replace(asked, rows=20, size_bytes=147)
    assert list(exports.pieces("e1")) == contents
    assert engine.sql("SELECT DISTINCT attempt FROM export_piece") == [("a",)]


def test_a_person_has_one_file(engine: Engine, desk: Desk, ana: Account) -> None:
    exports = desk.exports
    engine.run(exports.begin(an_export(ana)))
    engine.run(exports.keep("e1", "a", 0, packed(b"old")))
    engine.run(exports.begin(an_export(ana, "e2", form="xlsx")))
    engine.run(exports.begin(an_export(ana, "e3", user=8)))
    assert engine.run(exports.find("e1")) is None
    assert list(exports.pieces("e1")) == []
    # The job under way leaves no pieces, even if it dies before the end.
    engine.run(exports.keep("e1", "a", 1, packed(b"late")))
    assert engine.sql("SELECT count(*) FROM export_piece") == [(0,)]
    engine.run(exports.finish("e1", "a", 1, 4))
    assert engine.run(exports.find("e1")) is None
    assert engine.sql("SELECT count(*) FROM export_piece") == [(0,)]
    found = engine.run(exports.of_user(ana.account_id, 7))
    assert found is not None
    assert (found.export_id, found.form) == ("e2", "xlsx")


def test_old_files_are_purged_and_an_erasure_deletes_all(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    exports = desk.exports
    engine.run(exports.begin(an_export(ana)))
    engine.run(exports.begin(replace(an_export(ana, "e2", user=8), created_ms=NOW + DAY_MS)))
    for number in ("e1", "e2"):
        engine.run(exports.keep(number, "a", 0, packed(b"x")))
    assert engine.run(exports.purge(NOW)) == 0
    assert engine.run(exports.purge(NOW + 1)) == 1
    assert engine.run(exports.find("e1")) is None
    assert engine.sql("SELECT export_id FROM export_piece") == [("e2",)]
    engine.run(exports.erase())
    assert engine.run(exports.find("e2")) is None
    assert engine.sql("SELECT count(*) FROM export_piece") == [(0,)]


def test_a_file_requested_during_an_erasure_is_deleted_too(
    engine: Engine, desk: Desk, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    people, forget_rows = desk.data_subjects, DataSubjects.forget_rows

    async def meanwhile(subjects: DataSubjects, rows: Sequence[HeldRow]) -> None:
        await desk.exports.begin(an_export(ana))
        await desk.exports.keep("e1", "a", 0, packed(b"with them in it"))
        await forget_rows(subjects, rows)

    monkeypatch.setattr(DataSubjects, "forget_rows", meanwhile)
    engine.run(people.erase(data_subject(b"s" * 32, Cpf.parse("900.100.001-00")), NOW))
    assert engine.run(desk.exports.find("e1")) is None
    assert engine.sql("SELECT count(*) FROM export_piece") == [(0,)]
