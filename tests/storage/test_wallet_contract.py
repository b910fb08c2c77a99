"""Portfolios on every engine: items, labels, parts that follow a list, and the ceiling."""

import hashlib
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import cast

import msgspec
import pytest

from balcao.core.access import Account
from balcao.core.check_digits import cnpj_check_digits
from balcao.core.data_subject import DataSubject
from balcao.core.documents import Cpf
from balcao.core.errors import (
    BalcaoError,
    BirthDateRequired,
    InvalidParameter,
    ItemNotFound,
    WalletFull,
)
from balcao.core.events import NewEvent
from balcao.core.item_events import ItemEvent
from balcao.core.people import AT_THE_TERMINAL, Signature
from balcao.core.wallet import (
    WATCHED_USUALLY,
    ItemRequest,
    Notices,
    Recheck,
    Renewal,
    Watched,
    checked,
    watched_of,
)
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.wallet import (
    Added,
    Entry,
    ItemFilter,
    NewCompany,
    RegistryOf,
    RegistryOfNew,
    Synced,
)
from balcao.storage.desk.wallet.papers import PapersOfItem, link_papers
from tests.storage.engines import Engine
from tests.storage.world import DAY_MS, NOW

CNPJ = "90010001000100"
CPF = "90030000181"
ITEMS_MAX = 10_000


def cnpj_of(number: int) -> str:
    base = f"{number:08d}0001"
    return base + cnpj_check_digits(base)


def entry(document: str, line: int = 1, **stated: object) -> Entry:
    subject = watched_of(document)
    request = checked(subject, ItemRequest(**stated))  # type: ignore[arg-type]
    cpf = subject.cpf
    hashed = None if cpf is None else hashlib.blake2b(cpf.text.encode(), digest_size=16).digest()
    return Entry(line, subject, request, hashed, None if cpf is None else b"sealed")


class Portfolio:
    """The portfolio of one account."""

    def __init__(self, engine: Engine, desk: Desk, account: Account) -> None:
        self.engine, self.desk, self.number = engine, desk, account.account_id
        ids = itertools.count(1)
        self.new_id: Callable[[], str] = lambda: f"0198f2d4-0000-7000-8000-{next(ids):012d}"

    def add(self, one: Entry, items_max: int = ITEMS_MAX) -> Added:
        return self.engine.run(self.desk.wallets.add(self.number, one, items_max, self.new_id, NOW))

    def sync(self, entries: Iterable[Entry], **more: object) -> Synced:
        return self.engine.run(
            self.desk.wallets.sync(
                self.number, list(entries), ITEMS_MAX, self.new_id, NOW + 1,
                **more,  # type: ignore[arg-type]
            )
        )  # fmt: skip

    def documents(self, **chosen: object) -> list[str]:
        found = self.desk.wallets.page(self.number, ItemFilter(**chosen))  # type: ignore[arg-type]
        return [item.document for item in found]


@pytest.fixture
def portfolio(engine: Engine, desk: Desk, ana: Account) -> Portfolio:
    return Portfolio(engine, desk, ana)


def test_one_item_for_each_document_and_client(portfolio: Portfolio, bruno: Account) -> None:
    first = portfolio.add(entry(CNPJ, client="loja", tags=["a", "b"], reference="17"))
    assert first.new
    assert first.item.watched == ("cadastro", "socios", "simples")
    again = portfolio.add(entry("90.010.001/0001-00", client="loja", tags=["b", "c"], renew=False))
    assert not again.new
    assert again.item.item_id == first.item.item_id
    # Labels and renewal are stated. The rest stays.
    assert (again.item.tags, again.item.renew, again.item.reference) == (("b", "c"), False, "17")
    other = portfolio.add(entry(CNPJ, recheck=Recheck(7)))
    assert other.new
    assert portfolio.documents() == [CNPJ, CNPJ]
    assert portfolio.documents(client="loja", tag="c") == [CNPJ]
    assert portfolio.documents(tag="a") == []
    assert portfolio.documents(document="90010001") == [CNPJ, CNPJ]
    wallets = portfolio.desk.wallets
    with pytest.raises(ItemNotFound):
        wallets.one(bruno.account_id, first.item.item_id)
    portfolio.engine.run(wallets.end(portfolio.number, first.item.item_id, NOW))
    with pytest.raises(ItemNotFound):
        wallets.one(portfolio.number, first.item.item_id)
    assert wallets.count(portfolio.number) == 1
    assert wallets.total() == (1, 1)
    assert portfolio.add(entry(CNPJ, client="loja")).new
    # The removed one is kept as long as its events.
    assert portfolio.engine.run(wallets.purge(NOW, NOW)) == 0
    assert portfolio.engine.run(wallets.purge(NOW + DAY_MS, NOW)) == 1
    assert wallets.count(portfolio.number) == 2


def test_a_person_keeps_what_is_sealed_until_the_item_ends(portfolio: Portfolio) -> None:
    wallets, number = portfolio.desk.wallets, portfolio.number
    with pytest.raises(InvalidParameter, match="vigiar"):
        portfolio.add(entry(CPF))
    with pytest.raises(BirthDateRequired):
        portfolio.add(entry(CPF, watched=["certidao_federal"]))
    item = portfolio.add(entry(CPF, watched=["produtor:SP"])).item
    assert (item.document, item.has_birth) == (Cpf(CPF).masked, False)
    changed = portfolio.add(entry(CPF, watched=["certidao_federal"], birth="1980-01-01"))
    assert changed.item.has_birth
    assert not portfolio.add(entry(CPF, watched=["certidao_federal"])).new
    assert wallets.sealed(number, item.item_id) == b"sealed"
    portfolio.engine.run(wallets.end(number, item.item_id, NOW))
    stored = portfolio.desk.engine.connection.execute(
        "SELECT sealed, has_birth FROM wallet_item WHERE item_id = ?", (item.item_id,)
    ).fetchone()
    assert tuple(stored) == (None, 0)


def test_the_plan_s_items_are_never_exceeded(portfolio: Portfolio) -> None:
    assert portfolio.add(entry(cnpj_of(1)), items_max=2).new
    entries = [entry(cnpj_of(n), n) for n in (1, 2, 3)] + [entry(CPF, 4)]
    added = portfolio.engine.run(
        portfolio.desk.wallets.add_list(portfolio.number, entries, 2, portfolio.new_id, NOW)
    )
    found = [(one.line, one.new, one.error and one.error.code) for one in added.outcomes]
    assert found == [
        (1, False, None),
        (2, True, None),
        (3, False, "CARTEIRA_CHEIA"),
        (4, False, "PARAMETRO_INVALIDO"),
    ]
    with pytest.raises(WalletFull):
        portfolio.add(entry(cnpj_of(3)), items_max=2)
    assert not portfolio.add(entry(cnpj_of(2), tags=["x"]), items_max=2).new


def digests(desk: Desk) -> Sequence[object]:
    """Return everything that the tables of portfolios and idempotency contain."""
    return [
        sorted(map(repr, desk.engine.connection.execute(f"SELECT * FROM {table}").fetchall()))
        for table in ("wallet", "wallet_item", "wallet_tag", "idempotency", "account")
    ]


def counts(synced: Synced) -> tuple[int, int, int]:
    return synced.counts.entered, synced.counts.left, synced.counts.stayed


@pytest.mark.parametrize("total", [1_000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_a_list_against_all_but_ten_of_its_rows(portfolio: Portfolio, total: int) -> None:
    rows = [entry(cnpj_of(n), n, reference=str(n)) for n in range(1, total + 1)]
    known = total - 10
    assert counts(portfolio.sync(rows[:known], client="erp")) == (known, 0, 0)
    before = digests(portfolio.desk)
    assert counts(portfolio.sync(rows, client="erp", simulate=True)) == (10, 0, known)
    assert digests(portfolio.desk) == before
    assert counts(portfolio.sync(rows, client="erp")) == (10, 0, known)
    after = digests(portfolio.desk)
    assert counts(portfolio.sync(rows, client="erp")) == (0, 0, total)
    assert digests(portfolio.desk) == after


def test_a_part_with_a_label_follows_a_list(portfolio: Portfolio) -> None:
    one, two, three, four = (cnpj_of(n) for n in (1, 2, 3, 4))
    portfolio.add(entry(one, tags=["clientes"]))
    portfolio.add(entry(two, tags=["clientes", "vip"]))
    portfolio.add(entry(three))
    portfolio.add(entry(four, client="loja", tags=["clientes"]))
    # 4 stays, though the list does not state its client; a document twice counts once.
    wanted = [entry(three, 1), entry(four, 2), entry(four, 3, reference="x"), entry(CNPJ, 4)]
    found = portfolio.sync(wanted, tag="clientes")
    assert counts(found) == (2, 2, 1)
    assert sorted(portfolio.documents(tag="clientes")) == sorted([three, four, CNPJ])
    # Without its last label an item leaves the portfolio.
    assert sorted(portfolio.documents()) == sorted([two, three, four, CNPJ])
    assert portfolio.documents(tag="vip") == [two]


def test_an_item_that_several_lines_mean_is_changed_once(portfolio: Portfolio) -> None:
    """A line without a client is of every item of its document; later lines prevail."""
    for client in ("loja", "outra"):
        portfolio.add(entry(CNPJ, client=client, tags=["L"]))
    lines = [entry(CNPJ, 1, tags=["L", "A"]), entry(CNPJ, 2, client="loja", tags=["B"])]
    assert counts(portfolio.sync(lines, tag="L")) == (0, 0, 2)
    items = portfolio.desk.wallets.page(portfolio.number, ItemFilter())
    assert [(item.client, item.tags) for item in items] == [
        ("loja", ("B", "L")),
        ("outra", ("L", "A")),
    ]
    for tag, clients in {"L": ["loja", "outra"], "A": ["outra"], "B": ["loja"]}.items():
        found = portfolio.desk.wallets.page(portfolio.number, ItemFilter(tag=tag))
        assert [item.client for item in found] == clients


def test_lines_that_are_invalid_keep_their_items(portfolio: Portfolio) -> None:
    one, two = cnpj_of(1), cnpj_of(2)
    portfolio.sync([entry(one), entry(two)], client="erp")
    kept = frozenset({one})
    found = portfolio.sync([entry(CPF, 5)], client="erp", kept=kept)
    assert counts(found) == (0, 1, 1)
    assert [(each.line, each.error and each.error.code) for each in found.failed] == [
        (5, "PARAMETRO_INVALIDO")
    ]
    assert portfolio.documents() == [one]


def test_who_sets_the_ceiling_buys(portfolio: Portfolio) -> None:
    wallets, number = portfolio.desk.wallets, portfolio.number
    assert wallets.ceiling(number, NOW) == 0
    assert wallets.settings(number).renew is None

    def set_to(ceiling: int | None, signed: Signature = AT_THE_TERMINAL) -> None:
        renewal = Renewal(dias_antes=ceiling or 1)
        edit = lambda before: type(before)(  # noqa: E731
            number, renewal, None, before.notices, before.buyer_key_id, before.buyer_user_id
        )
        portfolio.engine.run(
            wallets.change_settings(number, edit, ceiling, portfolio.new_id, signed, NOW)
        )

    set_to(40, Signature("api", key_id=7))
    assert wallets.ceiling(number, NOW) == 40
    set_to(None, Signature("api", key_id=8))
    assert wallets.settings(number).buyer_key_id == 7
    set_to(50, Signature("web", 3))
    settings = wallets.settings(number)
    assert (settings.buyer_key_id, settings.buyer_user_id) == (None, 3)
    assert settings.renew == Renewal(50)
    (budget,) = portfolio.desk.budgets.of_account(number, NOW)
    assert (budget.budget.owner_kind, budget.budget.owner) == ("carteira", str(number))
    assert budget.budget.credits_max == 50


def test_a_person_who_left_keeps_no_one_in_the_notices(portfolio: Portfolio) -> None:
    wallets, number = portfolio.desk.wallets, portfolio.number

    def choose(*people: int) -> None:
        notices = Notices(pessoas=people)
        portfolio.engine.run(
            wallets.change_settings(
                number,
                lambda before: msgspec.structs.replace(before, notices=notices),
                None,
                portfolio.new_id,
                AT_THE_TERMINAL,
                NOW,
            )
        )

    choose()
    portfolio.engine.sql("UPDATE wallet SET notices = '{\"pessoas\":[7,8]}'")
    choose(8)
    assert wallets.settings(number).notices.pessoas == (8,)
    with pytest.raises(InvalidParameter, match="7 não é"):
        choose(8, 7)


@pytest.mark.parametrize(
    ("document", "stated", "code"),
    [
        (CNPJ, {"reference": CPF}, "MARCA_COM_CPF"),
        (CNPJ, {"client": "loja 1"}, "PARAMETRO_INVALIDO"),
        (CNPJ, {"tags": [CPF]}, "MARCA_COM_CPF"),
        (CNPJ, {"tags": list("abcdefghijk")}, "PARAMETRO_INVALIDO"),
        (CNPJ, {"watched": ["produtor:SP"]}, "PARAMETRO_INVALIDO"),
        (CNPJ, {"watched": ["inscricoes:BR"]}, "UF_INVALIDA"),
        (CNPJ, {"watched": ["inscricoes"]}, "PARAMETRO_INVALIDO"),
        (CNPJ, {"watched": ["cadastro:SP"]}, "PARAMETRO_INVALIDO"),
        (CNPJ, {"watched": []}, "PARAMETRO_INVALIDO"),
        ("90010001", {"watched": ["suframa"]}, "PARAMETRO_INVALIDO"),
        (CPF, {"watched": ["cadastro"]}, "PARAMETRO_INVALIDO"),
        (CNPJ, {"renew": Renewal(61)}, "PARAMETRO_INVALIDO"),
        (CNPJ, {"renew": Renewal(janela="20:00-08:00")}, "PARAMETRO_INVALIDO"),
        (CNPJ, {"recheck": Recheck(91)}, "PARAMETRO_INVALIDO"),
        (CNPJ, {"recheck": Recheck(7, ("certidao_federal",))}, "PARAMETRO_INVALIDO"),
        ("90010001000101", {}, "CNPJ_INVALIDO"),
        ("90030000182", {}, "CPF_INVALIDO"),
        ("9001000", {}, "CNPJ_INVALIDO"),
    ],
)
def test_invalid_requests(document: str, stated: dict[str, object], code: str) -> None:
    with pytest.raises(BalcaoError) as refused:
        entry(document, 1, **stated)
    assert refused.value.code == code


def test_subjects() -> None:
    assert watched_of("90.010.001").document == "90010001"
    assert watched_of("12abc34501de35").document == "12ABC34501DE35"
    assert entry(CNPJ, watched=["suframa", "cadastro", "inscricoes:sp"]).request.watched == (
        "cadastro",
        "inscricoes:SP",
        "suframa",
    )
    assert CPF not in repr(Watched(Cpf(CPF).masked, None, Cpf(CPF)))


def test_an_erased_person_leaves_the_portfolio(portfolio: Portfolio, ana: Account) -> None:
    watched = entry(CPF, watched=["produtor:SP"], tags=["a"])
    person = DataSubject(Cpf(CPF), watched.document_hash or b"", "e")
    item = portfolio.add(watched).item
    portfolio.engine.commit(
        portfolio.desk,
        NewEvent(ana.account_id, "inscricao.situacao", NOW, "{}", item_id=item.item_id),
    )
    subjects = portfolio.desk.data_subjects
    assert [one.item_id for one in subjects.held(person).items] == [item.item_id]
    portfolio.engine.run(subjects.erase(person, NOW))
    assert subjects.held(person).items == []
    (event,) = portfolio.desk.events.after(ana.account_id, 0, 10)
    assert event.body == '{"apagado":true}'
    connection = portfolio.desk.engine.connection
    for table in ("wallet_item", "wallet_tag"):
        assert connection.execute(f"SELECT * FROM {table}").fetchall() == []
    assert portfolio.desk.wallets.count(ana.account_id) == 0


def test_new_items_enter_with_registry_data_and_events(portfolio: Portfolio) -> None:
    """The events are of the same commit, and of items that are new alone."""
    wallets, number = portfolio.desk.wallets, portfolio.number

    def event(item_id: str) -> Sequence[ItemEvent]:
        return [ItemEvent("empresa.nome", f"{item_id}/x", NOW, "snapshot", {"de": 1}, silent=True)]

    facts = '{"nome_empresarial":"A","situacao":"ATIVA","data_situacao":null,"competencia":null}'
    found = {(CNPJ, "erp"): RegistryOfNew(facts, event)}
    one = entry(CNPJ, client="erp", tags=["a"])
    for new in (True, False):
        added = portfolio.engine.run(
            wallets.add(number, one, 9, portfolio.new_id, NOW, registry=found)
        )
        assert (added.new, added.item.sequence) == (new, 1)
        assert added.item.registry is not None
        assert added.item.registry.nome_empresarial == "A"

    async def read(companies: Sequence[NewCompany]) -> RegistryOf:
        assert [(each.document, each.watched) for each in companies] == [
            (cnpj_of(7), WATCHED_USUALLY)
        ]
        return {(cnpj_of(7), "erp"): RegistryOfNew(facts, event)}

    portfolio.sync([one, entry(cnpj_of(7))], client="erp", read_registry=read)
    sequences = [item.sequence for item in wallets.page(number, ItemFilter())]
    assert sequences == [1, 1]
    (first, second) = portfolio.desk.events.after(number, 0, 10)
    assert (first.client, first.silent, second.client) == ("erp", True, "erp")


def test_a_list_that_is_planned_while_its_items_are_removed(portfolio: Portfolio) -> None:
    """The stale plan is made again, and items that become new get registry data."""
    wallets, number = portfolio.desk.wallets, portfolio.number
    facts = '{"nome_empresarial":"A","situacao":"ATIVA","data_situacao":null,"competencia":null}'
    asked = list[list[str]]()
    person = entry(CPF, 3, client="erp", watched=["produtor:SP"])
    lines = [entry(cnpj_of(1), 1, client="erp"), entry(cnpj_of(2), 2, client="erp"), person]
    removed = portfolio.add(lines[0]).item
    portfolio.add(person)
    assert person.document_hash is not None
    subject = DataSubject(Cpf(CPF), person.document_hash, "e")
    changed = msgspec.structs.replace(
        person, request=ItemRequest(client="erp", tags=["a"], watched=["certidao_trabalhista"])
    )

    async def read(companies: Sequence[NewCompany]) -> RegistryOf:
        if not asked:
            await wallets.end(number, removed.item_id, NOW)
            await portfolio.desk.data_subjects.erase(subject, NOW)
        asked.append([each.document for each in companies])
        return {
            (each.document, each.client): RegistryOfNew(facts, lambda item_id: ())
            for each in companies
        }

    found = portfolio.sync([*lines[:2], changed], client="erp", read_registry=read)
    assert counts(found) == (3, 0, 0)
    assert asked == [[cnpj_of(2)], [cnpj_of(1)]]
    items = [item for item in wallets.page(number, ItemFilter()) if not item.is_person]
    assert len(items) == 2
    assert all(item.registry is not None for item in items)


class Counting:
    """A connection that counts its statements."""

    def __init__(self, inner: SqlConnection) -> None:
        self.inner, self.statements = inner, 0

    def __getattr__(self, name: str) -> object:
        self.statements += name in {"execute", "insert_rows"}
        return getattr(self.inner, name)


def test_certificates_of_a_long_list_take_few_statements(portfolio: Portfolio) -> None:
    """Every commit of the installation waits for that of a list."""
    watched = ("certidao_federal", "certidao_estadual:SP")
    items = [
        PapersOfItem(portfolio.add(entry(cnpj_of(n))).item.item_id, cnpj_of(n), None, watched)
        for n in range(20)
    ]

    def work(connection: SqlConnection) -> int:
        counting = Counting(connection)
        with connection.transaction():
            link_papers(cast("SqlConnection", counting), portfolio.number, items, new_id, NOW)
        return counting.statements

    new_id = portfolio.new_id
    assert portfolio.engine.run(portfolio.desk.engine.run_in_writer(work)) <= 5
    found = portfolio.desk.wallets.papers([item.item_id for item in items])
    assert [len(papers) for papers in found.values()] == [2] * 20
