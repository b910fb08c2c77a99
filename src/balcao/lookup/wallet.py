"""The portfolio of a caller: requests about items are checked, sealed and handed to the desk.

Used by API, pages and command line (contract 20.1, 20.2).
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Protocol

import msgspec

from balcao.core.access import Caller
from balcao.core.calendar import civil_day
from balcao.core.data_subject import document_hash
from balcao.core.documents import Cpf
from balcao.core.errors import (
    BalcaoError,
    BirthDateInFuture,
    InvalidBirthDate,
    InvalidParameter,
    InvalidUf,
)
from balcao.core.item_events import ItemEvent
from balcao.core.month_comparison import MonthsRead, WatchedSubject
from balcao.core.questions import Mode, Subject
from balcao.core.wallet import (
    WATCHED_USUALLY,
    ItemRequest,
    WalletItem,
    Watched,
    checked,
    subjects_asked,
    watched_of,
)
from balcao.lookup.admit import check_access
from balcao.operations.contract import Operation
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.recorded_answer import MakeAnswer
from balcao.storage.desk.wallet import (
    Added,
    Entry,
    ItemFilter,
    ListAdded,
    NewCompany,
    RegistryOf,
    RegistryOfNew,
    Synced,
)
from balcao.storage.desk.wallet.planning import Key, Outcome

_DAY = re.compile(r"([0-9]{4})-?([0-9]{2})-?([0-9]{2})", re.ASCII)


class SealedPerson(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The personal data of an item, as it is sealed. Its `repr` shows none."""

    cpf: str
    birth: str | None  # YYYY-MM-DD

    def __repr__(self) -> str:
        return "SealedPerson()"


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(SealedPerson).decode


class ItemLine(msgspec.Struct, frozen=True, gc=False):
    """One subject of a request, as sent. Its `repr` shows no document."""

    document: str
    request: ItemRequest
    birth: str | None = None  # YYYY-MM-DD or yyyyMMdd
    number: int | None = None  # None: its place in the list

    def __repr__(self) -> str:
        return "ItemLine()"


class ReadMonths(Protocol):
    """Reads registry data of new subjects from the months on disk."""

    async def __call__(
        self, mode: Mode, subjects: Sequence[WatchedSubject], *, retroactive: bool = False
    ) -> MonthsRead | None:
        """Return it, `retroactive` with changes since the month before. None: there is no month."""


@dataclass(frozen=True, slots=True)
class WalletDesk:
    """Portfolios of callers. Methods raise `CallerError` and `StorageFailed`."""

    desk: Desk
    operations: Mapping[Subject, Operation]
    now_ms: Callable[[], int]
    new_id: Callable[[], str]
    pepper: bytes
    seal: Callable[[bytes], bytes]
    open_sealed: Callable[[bytes], bytes | None]
    items_max: int
    read_months: ReadMonths

    async def add(
        self,
        caller: Caller,
        line: ItemLine,
        keep: MakeAnswer[Added] = lambda added: None,
        *,
        retroactive: bool = False,
    ) -> Added:
        """Add one item, or change the one that is there. Raises also `WalletFull`.

        `retroactive`: a new one gets events about the changes between the last two months.
        """
        entry = self._entry(caller, 1, line, {})
        registry = await self._registry(caller, [entry], retroactive=retroactive)
        return await self.desk.wallets.add(
            caller.account_id,
            entry,
            self.items_max,
            self.new_id,
            self.now_ms(),
            keep,
            registry=registry,
        )

    async def add_list(
        self,
        caller: Caller,
        lines: Sequence[ItemLine],
        answer: Callable[[Sequence[Outcome]], MakeAnswer[ListAdded]],
        *,
        retroactive: bool = False,
    ) -> tuple[ListAdded, Sequence[Outcome]]:
        """Add items, each by itself. Returns also the outcomes of invalid lines.

        `answer` gets these, and returns what records the answer.
        """
        entries, invalid, _ = await asyncio.to_thread(self._entries, caller, lines)
        added = await self.desk.wallets.add_list(
            caller.account_id,
            entries,
            self.items_max,
            self.new_id,
            self.now_ms(),
            answer(invalid),
            read_registry=partial(self._registry_of, caller, retroactive=retroactive),
        )
        return added, invalid

    def invalid(self, caller: Caller, lines: Sequence[ItemLine]) -> Sequence[Outcome]:
        """Return the outcomes of the lines that `add_list` would refuse."""
        _, invalid, _ = self._entries(caller, lines)
        return invalid

    async def sync(
        self,
        caller: Caller,
        lines: Sequence[ItemLine],
        client: str | None,
        tag: str | None,
        answer: Callable[[Sequence[Outcome]], MakeAnswer[Synced]],
        *,
        simulate: bool = False,
        retroactive: bool = False,
    ) -> tuple[Synced, Sequence[Outcome]]:
        """Make the part of a client, or with a label, equal to a list. See `add_list`."""
        entries, invalid, kept = await asyncio.to_thread(self._entries, caller, lines, client)
        synced = await self.desk.wallets.sync(
            caller.account_id,
            entries,
            self.items_max,
            self.new_id,
            self.now_ms(),
            client=client,
            tag=tag,
            kept=kept,
            simulate=simulate,
            keep=answer(invalid),
            read_registry=partial(self._registry_of, caller, retroactive=retroactive),
        )
        return synced, invalid

    async def change(
        self,
        caller: Caller,
        item_id: str,
        request: ItemRequest,
        *,
        birth: str | None = None,
        handled: bool | None = None,
    ) -> WalletItem:
        """Change an item's terms. Raises also `ItemNotFound`."""
        before = self.desk.wallets.one(caller.account_id, item_id)
        cpf = self._cpf_of(caller.account_id, before)
        subject = Watched(before.document, before.root, cpf)
        if isinstance(request.client, str) and request.client != before.client:
            raise InvalidParameter("cliente: não muda; adicione o documento para o outro cliente.")
        stated = self._checked(caller, subject, request, birth, {})
        sealed = None if cpf is None else self._sealed(cpf, stated)
        entry = Entry(1, subject, stated, None if cpf is None else self._hash(cpf), sealed)
        return await self.desk.wallets.change(
            caller.account_id,
            item_id,
            lambda item: entry,
            self.new_id,
            self.now_ms(),
            handled=handled,
        )

    def filter_of(self, client: str | None, tag: str | None, document: str | None) -> ItemFilter:
        """Return a selection of items. Raises `InvalidCnpj`, `InvalidCpf`."""
        if document is None:
            return ItemFilter(client, tag)
        subject = watched_of(document)
        if subject.cpf is not None:
            return ItemFilter(client, tag, None, self._hash(subject.cpf))
        return ItemFilter(client, tag, subject.document)

    def person_of(self, account_id: int, item: WalletItem) -> SealedPerson | None:
        """Return CPF and birth date of a person's item; None: they cannot be decrypted."""
        sealed = self.desk.wallets.sealed(account_id, item.item_id)
        return None if sealed is None else self.open_person(sealed)

    def open_person(self, sealed: bytes) -> SealedPerson | None:
        """Return CPF and birth date from an item's sealed data; None: they cannot be decrypted."""
        opened = self.open_sealed(sealed)
        return None if opened is None else _unpack(opened)

    async def _registry(
        self, caller: Caller, entries: Sequence[Entry], *, retroactive: bool
    ) -> RegistryOf:
        """Return the registry data of companies that may be new."""
        companies = [
            NewCompany(entry.subject.document, entry.client or "", _watched_if_new(entry))
            for entry in entries
            if entry.subject.cpf is None
        ]
        return await self._registry_of(caller, companies, retroactive=retroactive)

    async def _registry_of(
        self, caller: Caller, companies: Sequence[NewCompany], *, retroactive: bool
    ) -> RegistryOf:
        if not companies:
            return {}
        subjects = [WatchedSubject(each.document, frozenset(each.watched)) for each in companies]
        read = await self.read_months(caller.mode, subjects, retroactive=retroactive)
        if read is None:
            return {}
        now_ms = self.now_ms()
        return {
            (company.document, company.client): RegistryOfNew(
                read.outcomes[at].registry,
                partial(_retroactive, read, at, now_ms) if retroactive else _no_events,
            )
            for at, company in enumerate(companies)
        }

    def _cpf_of(self, account_id: int, item: WalletItem) -> Cpf | None:
        if not item.is_person:
            return None
        person = self.person_of(account_id, item)
        assert person is not None, "items in force are sealed with a secret that is accepted"
        return Cpf(person.cpf)

    def _entries(
        self, caller: Caller, lines: Iterable[ItemLine], client: str | None = None
    ) -> tuple[Sequence[Entry], Sequence[Outcome], frozenset[Key]]:
        """Return valid entries, outcomes of invalid lines, and the keys of their subjects."""
        entries, invalid, kept = list[Entry](), list[Outcome](), set[Key]()
        allowed: dict[tuple[str, ...], BalcaoError | None] = {}
        for place, line in enumerate(lines, 1):
            number = place if line.number is None else line.number
            try:
                sent = line if client is None else _of_client(line, client)
                entries.append(self._entry(caller, number, sent, allowed))
            except BalcaoError as error:
                invalid.append(Outcome(number, None, new=False, error=error))
                try:
                    subject = watched_of(line.document)
                except BalcaoError:
                    continue
                kept.add(subject.document if subject.cpf is None else self._hash(subject.cpf))
        return entries, invalid, frozenset(kept)

    def _entry(
        self,
        caller: Caller,
        number: int,
        line: ItemLine,
        allowed: dict[tuple[str, ...], BalcaoError | None],
    ) -> Entry:
        subject = watched_of(line.document)
        request = self._checked(caller, subject, line.request, line.birth, allowed)
        if subject.cpf is None:
            refusal = None
            if not request.states_watched:
                refusal = self._refusal_of(caller, WATCHED_USUALLY, allowed)
            return Entry(number, subject, request, refused_if_new=refusal)
        sealed = self._sealed(subject.cpf, request)
        return Entry(number, subject, request, self._hash(subject.cpf), sealed)

    def _checked(
        self,
        caller: Caller,
        subject: Watched,
        request: ItemRequest,
        birth: str | None,
        allowed: dict[tuple[str, ...], BalcaoError | None],
    ) -> ItemRequest:
        """Return a valid request of a caller who may ask all that it states to watch."""
        stated = checked(subject, request)
        if birth is not None:
            if subject.cpf is None:
                raise InvalidParameter("data_nascimento: só com um CPF.")
            day = _birth_date(birth, civil_day(self.now_ms()))
            stated = msgspec.structs.replace(stated, birth=day)
        if stated.states_watched:
            refusal = self._refusal_of(caller, tuple(stated.watched or ()), allowed)
            if refusal is not None:
                raise refusal
        return stated

    def _refusal_of(
        self,
        caller: Caller,
        watched: tuple[str, ...],
        allowed: dict[tuple[str, ...], BalcaoError | None],
    ) -> BalcaoError | None:
        """Return `_refusal`, which `allowed` remembers for the lines of a request."""
        if watched not in allowed:
            allowed[watched] = self._refusal(caller, watched)
        return allowed[watched]

    def _refusal(self, caller: Caller, watched: Sequence[str]) -> BalcaoError | None:
        """Return the error if the caller may not look up what would be watched."""
        for subject, uf in subjects_asked(watched):
            operation = self.operations[subject]
            try:
                check_access(operation, caller)
            except BalcaoError as error:
                return error
            # Certificates exist in every UF.
            if uf is not None and operation.ufs and uf not in operation.ufs:
                return InvalidUf(f"vigiar: {uf} não existe nesta operação.")
        return None

    def _hash(self, cpf: Cpf) -> bytes:
        return document_hash(self.pepper, cpf.text)

    def _sealed(self, cpf: Cpf, stated: ItemRequest) -> bytes:
        birth = stated.birth if isinstance(stated.birth, str) else None
        return self.seal(_pack(SealedPerson(cpf.text, birth)))


def _watched_if_new(entry: Entry) -> tuple[str, ...]:
    watched = entry.request.watched
    return WATCHED_USUALLY if watched is None or watched is msgspec.UNSET else tuple(watched)


def _retroactive(read: MonthsRead, at: int, now_ms: int, item_id: str) -> Sequence[ItemEvent]:
    return read.retroactive_events(item_id, at, now_ms)


def _no_events(item_id: str) -> Sequence[ItemEvent]:
    return ()


def _of_client(line: ItemLine, client: str) -> ItemLine:
    """Return a line of the part of a client. Raises `InvalidParameter`."""
    stated = line.request.client
    if isinstance(stated, str) and stated != client:
        raise InvalidParameter("cliente: difere do cliente que se sincroniza.")
    request = msgspec.structs.replace(line.request, client=client)
    return msgspec.structs.replace(line, request=request)


def _birth_date(text: str, today: date) -> str:
    """Return a birth date as `YYYY-MM-DD`. Raises `InvalidBirthDate`, `BirthDateInFuture`."""
    match = _DAY.fullmatch(text)
    if match is None:
        raise InvalidBirthDate
    try:
        born = date(*map(int, match.groups()))
    except ValueError:
        raise InvalidBirthDate from None
    if born > today:
        raise BirthDateInFuture
    return born.isoformat()
