"""The changes that a request makes to a portfolio, from its items as stored. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from balcao.core.errors import BalcaoError, WalletFull
from balcao.core.item_events import ItemEvent, ItemHead
from balcao.core.papers import watches_papers
from balcao.core.purchases import UNPLANNED_MS
from balcao.core.wallet import ItemRequest, ItemTerms, Watched, merged, tags_of
from balcao.storage.desk.wallet.papers import PapersOfItem
from balcao.storage.desk.wallet.rows import KnownItem, NewItemRow, json_text, terms_row

# Identifies a subject within an account: a CNPJ, a root, or the hash of a CPF.
Key: TypeAlias = str | bytes


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One subject of a request, checked.

    `sealed`: a person's CPF and birth date. `refused_if_new`: the caller may not look up what is
    watched of a new item for which nothing is stated.
    """

    line: int
    subject: Watched
    request: ItemRequest
    document_hash: bytes | None = None
    sealed: bytes | None = None
    refused_if_new: BalcaoError | None = None

    @property
    def key(self) -> Key:
        """The key of its subject."""
        return key_of(self.subject.document, self.document_hash)

    @property
    def client(self) -> str | None:
        """The client that it states; None: none."""
        return self.request.client if isinstance(self.request.client, str) else None

    @property
    def states_birth(self) -> bool:
        return isinstance(self.request.birth, str)


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """The result of one entry: an item, new or known, or an error."""

    line: int
    item_id: str | None
    new: bool
    error: BalcaoError | None = None


class NewCompany(msgspec.Struct, frozen=True, gc=False):
    """A company that enters a portfolio, with what it watches, before it has an id."""

    document: str
    client: str
    watched: tuple[str, ...]


class RegistryOfNew(msgspec.Struct, frozen=True, gc=False):
    """The registry data of a new item, as stored, and the events to write about it."""

    registry: str | None
    events: Callable[[str], Sequence[ItemEvent]]  # by the item's id


# By document and client.
RegistryOf: TypeAlias = Mapping[tuple[str, str], RegistryOfNew]
NO_REGISTRY: RegistryOf = {}


class SyncCounts(msgspec.Struct, frozen=True, gc=False):
    """How many items enter a part of the portfolio, leave it and stay in it."""

    entered: int
    left: int
    stayed: int


@dataclass(slots=True)
class Plan:
    """Rows to write. Nothing is read while it is made."""

    account_id: int
    now_ms: int
    new_id: Callable[[], str]
    room: int  # items that may still be added
    items_max: int = 0
    inserts: list[NewItemRow] = field(default_factory=list)
    updates: list[tuple[Any, ...]] = field(default_factory=list)  # terms, sealed, has_birth, id
    tags_added: list[tuple[int, str, str]] = field(default_factory=list)
    tags_removed: list[tuple[int, str, str]] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    created: list[str] = field(default_factory=list)
    watching: list[PapersOfItem] = field(default_factory=list)  # whose certificates may differ

    @property
    def new_companies(self) -> Sequence[NewCompany]:
        """The companies that enter."""
        return [
            NewCompany(row.document, row.client, tuple(msgspec.json.decode(row.watched)))
            for row in self.inserts
            if row.root is not None
        ]

    def rows_of_new(self, known: RegistryOf) -> Sequence[tuple[Any, ...]]:
        """Return the rows of new items, with their registry data."""
        rows = []
        for row in self.inserts:
            found = known.get((row.document, row.client))
            rows.append((*row, None if found is None else found.registry))
        return rows

    def events_of_new(self, known: RegistryOf) -> Iterator[tuple[ItemHead, Sequence[ItemEvent]]]:
        """Yield the events about new items, with the heads of these."""
        for row in self.inserts:
            found = known.get((row.document, row.client))
            events = () if found is None else found.events(row.item_id)
            if events:
                tags = msgspec.json.decode(row.tags, type=list[str])
                head = ItemHead(
                    row.item_id,
                    self.account_id,
                    row.document,
                    False,
                    row.reference,
                    row.client or None,
                    tags,
                    0,
                )
                yield head, events

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return not (self.inserts or self.updates or self.ended)

    def put(self, entry: Entry, known: KnownItem | None, client: str | None = None) -> str:
        """Add or change the item of an entry and return its id.

        `client`: of a new item, if the entry states none. Raises `WalletFull` and the errors of
        `core.wallet.merged`.
        """
        return self._create(entry, client) if known is None else self.change(entry, known)

    def _create(self, entry: Entry, client: str | None) -> str:
        if entry.refused_if_new is not None:
            raise entry.refused_if_new
        request, subject = entry.request, entry.subject
        terms = merged(subject, None, request, has_birth=entry.states_birth)
        if self.room <= 0:
            raise WalletFull(self.items_max)
        self.room -= 1
        item_id = self.new_id()
        self.inserts.append(
            NewItemRow(
                item_id, self.account_id, subject.document, subject.root, entry.document_hash,
                entry.sealed, int(entry.states_birth), entry.client or client or "",
                *terms_row(terms), "[]", UNPLANNED_MS, self.now_ms,
            )
        )  # fmt: skip
        self.created.append(item_id)
        self.tags_added += [(self.account_id, tag, item_id) for tag in terms.tags]
        if watches_papers(terms.watched):
            self.watching.append(
                PapersOfItem(item_id, subject.document, entry.document_hash, terms.watched)
            )
        return item_id

    @property
    def updated(self) -> Sequence[str]:
        """The items whose terms change."""
        return [str(row[-1]) for row in self.updates]

    def change(self, entry: Entry, known: KnownItem) -> str:
        """Change the terms of a known item, if they differ, and return its id."""
        before = known.terms
        has_birth = entry.states_birth or bool(known.has_birth)
        after = merged(entry.subject, before, entry.request, has_birth=has_birth)
        if after != before or entry.states_birth:
            sealed = entry.sealed if entry.states_birth else None
            self._update(known.item_id, before, after, sealed, has_birth=has_birth)
        if after.watched != before.watched and (
            watches_papers(after.watched) or watches_papers(before.watched)
        ):
            self.watching.append(
                PapersOfItem(known.item_id, known.document, known.document_hash, after.watched)
            )
        return known.item_id

    def _update(
        self,
        item_id: str,
        before: ItemTerms,
        after: ItemTerms,
        sealed: bytes | None,
        *,
        has_birth: bool,
    ) -> None:
        self.updates.append((*terms_row(after), sealed, int(has_birth), item_id))
        mark = self.account_id
        self.tags_added += [(mark, tag, item_id) for tag in after.tags if tag not in before.tags]
        self.tags_removed += [(mark, tag, item_id) for tag in before.tags if tag not in after.tags]

    def end(self, known: KnownItem) -> None:
        """Remove an item."""
        self.room += 1
        self.ended.append(known.item_id)

    def remove_tag(self, known: KnownItem, tag: str) -> None:
        """Take a label from an item; one without its last label ends."""
        before = known.terms
        after = msgspec.structs.replace(
            before, tags=tuple(other for other in before.tags if other != tag)
        )
        if after.tags:
            self._update(known.item_id, before, after, None, has_birth=bool(known.has_birth))
        else:
            self.end(known)


def key_of(document: str, document_hash: bytes | None) -> Key:
    """Return the key that identifies a subject within an account."""
    return document if document_hash is None else document_hash


def plan_list(
    plan: Plan, entries: Iterable[Entry], known: Mapping[tuple[Key, str], KnownItem]
) -> Sequence[Outcome]:
    """Plan entries, each with its own outcome. `known`: by key and client."""
    groups: dict[tuple[Key, str], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.key, entry.client or ""), []).append(entry)
    outcomes = []
    for named, alike in groups.items():
        there = known.get(named)
        try:
            item_id = plan.put(_combined(alike), there)
        except BalcaoError as error:
            outcomes += [Outcome(entry.line, None, new=False, error=error) for entry in alike]
            continue
        outcomes += [
            Outcome(entry.line, item_id, new=there is None and entry is alike[0]) for entry in alike
        ]
    return sorted(outcomes, key=lambda outcome: outcome.line)


def plan_sync(
    plan: Plan,
    entries: Iterable[Entry],
    known: Iterable[KnownItem],
    *,
    client: str | None = None,
    tag: str | None = None,
    kept: frozenset[Key] = frozenset(),
) -> tuple[SyncCounts, Sequence[Outcome]]:
    """Plan to make the part of a client, or with a label, equal to a list of subjects.

    `known`: the items of the account. `kept`: keys of subjects whose lines are invalid; their items
    stay as they are. Outcomes are those of lines that turned out invalid. Raises `WalletFull`.

    With a label, an entry without a client is of all items of the part with its document.
    """
    label = None if tag is None else json_text(tag)
    part: dict[Key, list[KnownItem]] = {}
    others: dict[tuple[Key, str], KnownItem] = {}
    for item in known:
        if item.client == client if label is None else label in item.tags:
            part.setdefault(item.key, []).append(item)
        else:
            others[item.key, item.client] = item
    # An item may be meant with its client and without: it is changed once.
    staying: dict[str, tuple[KnownItem, list[Entry]]] = {}
    joining: dict[tuple[Key, str | None], list[Entry]] = {}
    for entry in entries:
        own = client if tag is None else entry.client
        items = [item for item in part.get(entry.key, ()) if own is None or item.client == own]
        for item in items:
            staying.setdefault(item.item_id, (item, []))[1].append(entry)
        if not items:
            joining.setdefault((entry.key, own), []).append(entry)
    failed: dict[int, Outcome] = {}
    for item, alike in staying.values():
        try:
            plan.change(_labelled(_combined(alike), tag, item), item)
        except BalcaoError as error:
            failed |= _failures(alike, error)
    left = stayed = 0
    for key, items in part.items():
        for item in items:
            if item.item_id in staying or key in kept:
                stayed += 1
                continue
            left += 1
            if tag is None:
                plan.end(item)
            else:
                plan.remove_tag(item, tag)
    entered = 0
    for (key, own), alike in joining.items():
        there = others.get((key, own or ""))
        try:
            plan.put(_labelled(_combined(alike), tag, there), there, client=client)
        except WalletFull:
            raise
        except BalcaoError as error:
            failed |= _failures(alike, error)
        else:
            entered += 1
    return SyncCounts(entered, left, stayed), [*failed.values()]


def _failures(alike: Sequence[Entry], error: BalcaoError) -> Mapping[int, Outcome]:
    """Return the outcomes of entries that failed together, by line."""
    return {entry.line: Outcome(entry.line, None, new=False, error=error) for entry in alike}


def _combined(alike: Sequence[Entry]) -> Entry:
    """Return one entry of several about the same subject: later ones prevail."""
    first, *others = alike
    for entry in others:
        stated = {
            name: value
            for name, value in msgspec.structs.asdict(entry.request).items()
            if value is not msgspec.UNSET
        }
        sealed = entry.sealed if entry.states_birth else first.sealed
        request = msgspec.structs.replace(first.request, **stated)
        refused = entry.refused_if_new and first.refused_if_new  # None: one states what to watch
        first = msgspec.structs.replace(
            first, request=request, sealed=sealed, refused_if_new=refused
        )
    return first


def _labelled(entry: Entry, tag: str | None, known: KnownItem | None) -> Entry:
    """Return an entry whose item has the label of the part that it joins, or stays in.

    Raises `InvalidParameter`.
    """
    if tag is None:
        return entry
    tags = entry.request.tags
    if isinstance(tags, msgspec.UnsetType):
        tags = () if known is None else known.terms.tags
    if tag in tags:
        return entry
    request = msgspec.structs.replace(entry.request, tags=tags_of((*tags, tag)))
    return msgspec.structs.replace(entry, request=request)
