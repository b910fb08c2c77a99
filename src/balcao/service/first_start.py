"""The first start on a data folder: a fictitious month and five accounts of the sandbox.

It may be killed at any instant and run again: every step checks what exists already, and a marker
file, written when the keys have been shown, completes it. A key that may never have been seen is
revoked and replaced.
"""

import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from balcao.accounts.keys import issue_key
from balcao.core.access import Account
from balcao.core.calendar import civil_day, from_ms
from balcao.core.people import Signature
from balcao.core.terms import top_up
from balcao.home import Home, make_durable
from balcao.settings import Settings
from balcao.storage.contract import NewAccount
from balcao.storage.desk.desk import Desk
from balcao.storage.places import place_of

# The same fictitious month everywhere, so that the answers of the sandbox are known.
SEED = 20260808

KEY_NAME = "primeiro início"
_REASON = "créditos de teste do primeiro início"
_SIGNED = Signature("start")
_MARKER = "first-start.json"
_SCRATCH = "first-start.tmp"
_END_OF_TIME_MS = 2**62
_WHICH = {True: " (mês anterior)", False: ""}


@dataclass(frozen=True, slots=True)
class Opening:
    """An account of the first start, and the credits it begins with."""

    account: NewAccount
    credits: int = 0


# sandbox.md, "Accounts of a first start".
OPENINGS = (
    Opening(NewAccount("gratuito", "gratuito", "test"), 1_000),
    Opening(
        NewAccount("pre-pago", "pre_pago", "test", certificates=True, partner_optin=True), 10_000
    ),
    Opening(NewAccount("pos-pago", "pos_pago", "test")),
    Opening(NewAccount("pos-pago-certidoes", "pos_pago", "test", certificates=True)),
    Opening(NewAccount("um-credito", "pre_pago", "test", certificates=True), 1),
)


@dataclass(frozen=True, slots=True)
class Issued:
    """A new key, in clear text to be shown once."""

    account: Account
    key: str

    def __repr__(self) -> str:
        return f"Issued({self.account.name}, ***)"


def is_done(home: Home) -> bool:
    """Return whether this folder has had its first start."""
    return (home.path / _MARKER).is_file()


def prepare(
    home: Home, settings: Settings, *, now_ms: Callable[[], int], report: Callable[[str], None]
) -> Sequence[Issued]:
    """Create the sandbox's month and the first accounts, and issue their keys.

    Of nodes that share a database, only the first one issues keys; the others return none.
    `report` is called with each step's message. Show the keys, then call `finish`.
    Raises `HomeInUse`, `StorageFailed`, `OpenDataError`.
    """
    home.create()
    with home.lock():
        _make_month(home, settings, now_ms, report)
        report("Criando as contas de teste")
        pepper = home.pepper()  # before there is a database that needs it
        place = place_of(settings)
        desk = place.open_desk(pepper=pepper)
        try:
            with place.first_start_lock() as among_others:
                if among_others and _was_done(desk):
                    return []  # by another node
                accounts = [_account(desk, opening, now_ms()) for opening in OPENINGS]
                return [
                    Issued(account, _key(desk, home, account, now_ms()))
                    for account in accounts
                    if account is not None
                ]
        finally:
            desk.close()


def finish(home: Home, now_ms: int) -> None:
    """Record that the keys were shown, which ends the first start of this folder."""
    written = home.path / f"{_MARKER}.tmp"
    with written.open("w", encoding="utf-8") as file:
        json.dump({"finished_at": from_ms(now_ms).isoformat(timespec="seconds")}, file)
        file.flush()
        os.fsync(file.fileno())
    written.replace(home.path / _MARKER)
    make_durable(home.path)


def _make_month(
    home: Home, settings: Settings, now_ms: Callable[[], int], report: Callable[[str], None]
) -> None:
    """Generate the two months of the sandbox, import them and make the last one searchable, unless
    it is there or disabled.
    """
    # Needed on the first start only, and slow to load.
    from balcao.fiction.sandbox import EXISTING_COMPANIES  # noqa: PLC0415
    from balcao.opendata import generator  # noqa: PLC0415
    from balcao.opendata.importer import build  # noqa: PLC0415
    from balcao.opendata.search.building import build_index  # noqa: PLC0415

    store = home.opendata("test")
    scratch = home.path / _SCRATCH
    shutil.rmtree(scratch, ignore_errors=True)  # of a start that was killed
    published = published_day(store)
    if settings.sandbox_establishments == 0 or published not in {
        None,
        generator.EARLIER_EXTRACTION_DATE,  # and then it was killed
    }:
        return
    size = max(settings.sandbox_establishments, len(EXISTING_COMPANIES))
    months = {False: generator.EXTRACTION_DATE}
    if published is None:
        months = {True: generator.EARLIER_EXTRACTION_DATE, **months}
    try:
        for earlier, day in months.items():
            report("Gerando os dados abertos fictícios da sandbox" + _WHICH[earlier])
            month = generator.generate(
                scratch / day.isoformat(),
                size,
                SEED,
                include=EXISTING_COMPANIES,
                extraction_date=day,
                earlier=earlier,
                tax_regimes=True,
            )
            report("Importando os dados abertos fictícios da sandbox" + _WHICH[earlier])
            build(month.files, store, today=civil_day(now_ms()), workers=1)
        if settings.opendata_search:
            build_index(store)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def make_month(
    home: Home, settings: Settings, *, now_ms: Callable[[], int], report: Callable[[str], None]
) -> None:
    """Create only the sandbox's month, in a restored folder that had its first start before.

    Raises `HomeInUse`, `OpenDataError`.
    """
    with home.lock():
        _make_month(home, settings, now_ms, report)


def published_day(store: Path) -> date | None:
    """Return the extraction date of the month published in this store; None: there is none."""
    from balcao.opendata.current import CurrentSnapshot  # noqa: PLC0415

    snapshot = CurrentSnapshot(store, lambda: 0.0)
    try:
        return snapshot.extraction_date
    finally:
        snapshot.close()


def _account(desk: Desk, opening: Opening, now_ms: int) -> Account | None:
    """Open an account with its credits, or complete an interrupted opening; None: name taken."""
    new_account = opening.account
    account = next((known for known in desk.accounts() if known.name == new_account.name), None)
    if account is None:
        account = desk.create_account(new_account, now_ms, _SIGNED)
    elif account.mode != "test" or account.plan != new_account.plan:
        return None  # the operator opened an account of this name before the first start
    if opening.credits and not any(desk.entries(account.account_id, 0, _END_OF_TIME_MS)):
        desk.commit_now(top_up(account, opening.credits, _REASON, _SIGNED, now_ms))
    return next(known for known in desk.accounts() if known.account_id == account.account_id)


def _was_done(desk: Desk) -> bool:
    """Return whether another node's first start has issued all keys on this database."""
    known = {account.name: account for account in desk.accounts()}
    return all(
        opening.account.name in known
        and any(key.name == KEY_NAME for key in desk.keys(known[opening.account.name].account_id))
        for opening in OPENINGS
    )


def _key(desk: Desk, home: Home, account: Account, now_ms: int) -> str:
    for earlier in desk.keys(account.account_id):
        if earlier.name == KEY_NAME and earlier.revoked_ms is None:
            desk.revoke_key(earlier.key_id, now_ms, _SIGNED)  # issued by a start that was killed
    return issue_key(desk, home, account, KEY_NAME, now_ms, signed=_SIGNED)[0]
