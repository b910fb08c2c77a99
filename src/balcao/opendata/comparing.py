"""Comparison of watched subjects between two months on disk."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from balcao.core.company_record import RegistryRecord, registry_record
from balcao.core.month_comparison import (
    Branch,
    Comparison,
    MonthsRead,
    State,
    WatchedSubject,
    base_ms,
    branches_changed,
    compare,
    registry_summary,
    stands,
    watches_branches,
)
from balcao.opendata.errors import OpenDataError
from balcao.opendata.snapshot import (
    Snapshot,
    StoredCompany,
    current_edition,
    current_path,
    edition_of,
)

_ROOT = 8
_KEY = 12
_HEAD_OFFICE_ORDER = "0001"
# Many portfolios have the same companies; some 300 bytes each.
_SAME_MAX = 100_000

Branches = Mapping[str, Sequence[Branch]]


class MonthReader:
    """One month, open for comparisons."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        info = snapshot.info()
        self.base_ms = base_ms(snapshot.extraction_date)
        self.month = f"{snapshot.extraction_date:%Y-%m}"
        self.day = snapshot.extraction_date.isoformat()
        self.complete = info.forced is not True
        self._branches: dict[str, Sequence[Branch]] = {}

    def rows_of(self, document: str) -> StoredCompany | None:
        """Return the rows of a CNPJ, or of the head office of a root."""
        if len(document) > _ROOT:
            return self._snapshot.stored_rows(document[:_KEY])
        rows = self._snapshot.stored_rows(document + _HEAD_OFFICE_ORDER)
        if rows is not None and rows.is_head_office:
            return rows
        heads = [each.cnpj for each in self.branches_of(document) if each.head_office]
        return self._snapshot.stored_rows(heads[0][:_KEY]) if heads else None

    def record(self, rows: StoredCompany) -> RegistryRecord:
        return registry_record(self._snapshot.company_of(rows))

    def summary(self, rows: StoredCompany) -> str:
        """Return the JSON that an item keeps of the registry."""
        return registry_summary(*self._snapshot.standing_of(rows), self.month)

    def is_elsewhere(self, root: str) -> bool:
        """Return whether a root's head office is not its first establishment."""
        rows = self._snapshot.stored_rows(root + _HEAD_OFFICE_ORDER)
        return rows is None or not rows.is_head_office

    def read_branches(self, roots: Collection[str]) -> None:
        """Read the establishments of some companies, for `branches_of`."""
        missing = frozenset(roots) - self._branches.keys()
        found = self._snapshot.establishments_of(missing) if missing else {}
        for root in missing:
            self._branches[root] = [Branch(*each) for each in found.get(root, ())]

    def branches_of(self, root: str) -> Sequence[Branch]:
        if root not in self._branches:
            self.read_branches((root,))
        return self._branches[root]

    def close(self) -> None:
        self._snapshot.close()


class MonthPair:
    """Two months: the one in use before, and after. Every method may raise `OpenDataError`."""

    def __init__(self, before: MonthReader, after: MonthReader) -> None:
        self.before, self.after = before, after
        self._same: dict[str, str] = {}  # registry data of unchanged companies, by document

    def compare(self, subjects: Sequence[WatchedSubject]) -> Sequence[Comparison]:
        """Compare some subjects, those of `read_branches` among them."""
        self._read_branches(subjects)
        return [self._with_head_office(each, self._compare(each)) for each in subjects]

    def _with_head_office(self, subject: WatchedSubject, outcome: Comparison) -> Comparison:
        if not outcome.changes or len(subject.document) > _ROOT:
            return outcome
        rows = self.after.rows_of(subject.document) or self.before.rows_of(subject.document)
        return msgspec.structs.replace(outcome, head_office=None if rows is None else rows.cnpj)

    def _read_branches(self, subjects: Sequence[WatchedSubject]) -> None:
        branched = {each.document[:_ROOT] for each in subjects if watches_branches(each.watched)}
        roots = {each.document for each in subjects if len(each.document) == _ROOT}
        for reader in (self.before, self.after):
            reader.read_branches(branched | {each for each in roots if reader.is_elsewhere(each)})

    def _compare(self, subject: WatchedSubject) -> Comparison:
        outcome = self._compare_record(subject)
        if not watches_branches(subject.watched):
            return outcome
        root = subject.document[:_ROOT]
        change = None
        if self.before.complete and self.after.complete:
            old, new = self.before.branches_of(root), self.after.branches_of(root)
            # A company that is new or gone is one event.
            change = branches_changed(old, new) if old and new else None
        if change is None:
            return outcome
        return msgspec.structs.replace(outcome, changes=[*outcome.changes, change], verified=True)

    def _compare_record(self, subject: WatchedSubject) -> Comparison:
        own = [stands(subject, reader.base_ms) for reader in (self.before, self.after)]
        if all(own):
            return Comparison()  # the last own lookup is newer than both
        if not any(own) and (known := self._same.get(subject.document)) is not None:
            return Comparison(registry=known)
        rows = [
            None if stood else reader.rows_of(subject.document)
            for stood, reader in zip(own, (self.before, self.after), strict=True)
        ]
        if not any(own) and rows[0] == rows[1] and rows[1] is not None:
            registry = self.after.summary(rows[1])
            if len(self._same) >= _SAME_MAX:
                self._same.clear()
            self._same[subject.document] = registry
            return Comparison(registry=registry)
        before, after = (
            subject.record if stood else _state(reader, each)
            for stood, each, reader in zip(own, rows, (self.before, self.after), strict=True)
        )
        outcome = compare(before, after, subject.watched)
        if not isinstance(after, RegistryRecord):
            return outcome
        return msgspec.structs.replace(outcome, registry=_summary(after, self.after.month))


def _summary(record: RegistryRecord, month: str) -> str:
    company = record.company
    return registry_summary(
        company.nome_empresarial,
        company.situacao_cadastral,
        company.data_da_situacao_cadastral,
        month,
    )


def _state(reader: MonthReader, rows: StoredCompany | None) -> State:
    if rows is not None:
        return reader.record(rows)
    return None if reader.complete else "unknown"


@contextmanager
def open_pair(before: Path, after: Path) -> Iterator[MonthPair]:
    """Open two months' files. Raises `OpenDataError`."""
    with (
        closing(MonthReader(Snapshot.open(before))) as old,
        closing(MonthReader(Snapshot.open(after))) as new,
    ):
        yield MonthPair(old, new)


def read_new(
    store: Path, subjects: Sequence[WatchedSubject], *, retroactive: bool
) -> MonthsRead | None:
    """Return the registry data of new subjects in the month in use; None: there is no month.

    `retroactive`: with their changes since the month before, if it is on the disk. Raises
    `OpenDataError`.
    """
    try:
        current = current_path(store)
    except OpenDataError:
        return None
    files = (retroactive and last_two(store)) or (current, current)
    if not retroactive:
        subjects = [WatchedSubject(each.document, frozenset()) for each in subjects]
    with open_pair(*files) as pair:
        return MonthsRead(pair.after.month, pair.after.day, pair.compare(subjects))


def file_of_month(store: Path, month: str) -> Path | None:
    """Return the newest file of a month (YYYY-MM) in a store; the published one is preferred."""
    editions = [edition_of(path.name) for path in store.glob(f"{month}-*.snapshot")]
    found = sorted(each for each in editions if each is not None)
    if not found:
        return None
    try:
        current = current_edition(store)
    except OpenDataError:
        current = found[-1]
    return store / (current if current in found else found[-1]).file_name


def last_two(store: Path) -> tuple[Path, Path] | None:
    """Return the files of the month in use and of the one before it; None: there is one alone."""
    try:
        current = current_edition(store)
    except OpenDataError:
        return None
    editions = [edition_of(path.name) for path in store.glob("*.snapshot")]
    earlier = [each for each in editions if each and each.extraction_date < current.extraction_date]
    return (store / max(earlier).file_name, store / current.file_name) if earlier else None
