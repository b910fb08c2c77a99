"""A first start that is killed at any point is completed by the next one."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from balcao.accounts.keys import issue_key
from balcao.cli import welcome
from balcao.core.access import Account, key_hash
from balcao.core.documents import Cnpj
from balcao.core.errors import HomeInUse
from balcao.core.ledger import Change, Refusal
from balcao.fiction.sandbox import EXISTING_COMPANIES
from balcao.home import Home
from balcao.opendata.current import CurrentSnapshot
from balcao.operations import OPERATIONS
from balcao.service import compose, first_start
from balcao.service.clock import system_now_ms
from balcao.settings import Settings
from balcao.storage.contract import NewAccount
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.storage.sqlite.engine import SqliteEngine
from tests.cli.shell import curl_lines
from tests.service import Reply, at_once, call

NOW_MS = 1_790_000_000_000


class Killed(Exception):
    """Simulates the end of the process."""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "dados")


def prepare(
    home: Home, say: Callable[[str], None] = lambda step: None, establishments: int = 100
) -> Mapping[str, str]:
    settings = Settings(home=home.path, sandbox_establishments=establishments)
    issued = first_start.prepare(home, settings, now_ms=lambda: NOW_MS, report=say)
    return {one.account.name: one.key for one in issued}


def accounts(home: Home) -> Mapping[str, Account]:
    with closing(SqliteDesk(home.desk)) as desk:
        assert desk.check().complaints == []
        return {account.name: account for account in desk.accounts()}


def assert_complete(home: Home, keys: Mapping[str, str]) -> None:
    """Assert the accounts of sandbox.md, each with its credits and exactly one active key."""
    found = accounts(home)
    assert {
        name: (account.plan, account.certificates, account.partner_optin, account.balance_credits)
        for name, account in found.items()
    } == {
        "gratuito": ("gratuito", False, False, 1_000),
        "pre-pago": ("pre_pago", True, True, 10_000),
        "pos-pago": ("pos_pago", False, False, 0),
        "pos-pago-certidoes": ("pos_pago", True, False, 0),
        "um-credito": ("pre_pago", True, False, 1),
    }
    assert {account.mode for account in found.values()} == {"test"}
    assert list(keys) == list(found)
    with closing(SqliteDesk(home.desk)) as desk:
        for name, key in keys.items():
            caller = at_once(desk.caller(key_hash(key, home.pepper()), NOW_MS))
            assert caller is not None
            assert caller.account_id == found[name].account_id
            in_force = [k for k in desk.keys(caller.account_id) if k.revoked_ms is None]
            assert [k.key_id for k in in_force] == [caller.key_id]
    with closing(CurrentSnapshot(home.opendata("test"), lambda: 0.0)) as month:
        for cnpj in EXISTING_COMPANIES:
            assert month.find(Cnpj.parse(cnpj)) is not None
    assert not [path for path in home.path.iterdir() if "tmp" in path.name]


def test_a_first_start_creates_everything(home: Home) -> None:
    steps: list[str] = []
    keys = prepare(home, steps.append)
    assert_complete(home, keys)
    assert steps
    assert not first_start.is_done(home)
    first_start.finish(home, NOW_MS)
    assert first_start.is_done(home)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_killed_at_a_step_and_run_again(home: Home, step: int) -> None:
    result: list[str] = []

    def say(text: str) -> None:
        result.append(text)
        if len(result) == step:
            raise Killed

    with pytest.raises(Killed):
        prepare(home, say)
    assert not first_start.is_done(home)
    assert_complete(home, prepare(home))


def test_killed_between_an_account_and_its_credits(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(engine: SqliteEngine, changes: Sequence[Change]) -> Refusal | None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(SqliteEngine, "commit_now", killed)
        with pytest.raises(Killed):
            prepare(home)
    assert accounts(home)["gratuito"].balance_credits == 0
    assert_complete(home, prepare(home))


def test_actions_of_the_first_start_are_in_the_audit_log(home: Home) -> None:
    prepare(home, establishments=0)
    prepare(home, establishments=0)  # replaces the keys
    with closing(SqliteDesk(home.desk)) as desk:
        log = desk.people.audit(100)
    assert {(entry.channel, entry.user_id) for entry in log} == {("start", None)}
    actions = [entry.action for entry in log]
    assert [actions.count(each) for each in ("account.create", "credit.add")] == [5, 3]
    assert [actions.count(each) for each in ("key.create", "key.revoke")] == [10, 5]
    assert [entry.detail for entry in log if entry.action == "credit.add"] == [
        "+1 créditos: créditos de teste do primeiro início",
        "+10000 créditos: créditos de teste do primeiro início",
        "+1000 créditos: créditos de teste do primeiro início",
    ]


def test_keys_that_were_never_shown_are_replaced(home: Home) -> None:
    unseen = prepare(home)
    keys = prepare(home)
    assert_complete(home, keys)
    assert not set(unseen.values()) & set(keys.values())


def test_the_operators_key_is_kept(home: Home) -> None:
    prepare(home)
    account = accounts(home)["pos-pago"]
    with closing(SqliteDesk(home.desk)) as desk:
        own, _ = issue_key(desk, home, account, "minha", NOW_MS)
    prepare(home)
    with closing(SqliteDesk(home.desk)) as desk:
        assert at_once(desk.caller(key_hash(own, home.pepper()), NOW_MS)) is not None


def test_the_operators_account_is_not_changed(home: Home) -> None:
    home.create()
    home.pepper()
    with closing(SqliteDesk(home.desk)) as desk:
        desk.create_account(NewAccount("pos-pago", "pos_pago", "live"), NOW_MS)
    keys = prepare(home)
    assert set(keys) == {"gratuito", "pre-pago", "pos-pago-certidoes", "um-credito"}
    assert accounts(home)["pos-pago"].mode == "live"


def test_a_month_too_small_for_the_promised_documents_is_made_larger(home: Home) -> None:
    assert_complete(home, prepare(home, establishments=1))


def test_without_a_month(home: Home) -> None:
    prepare(home, establishments=0)
    assert not home.opendata("test").exists()


def test_every_request_shown_is_answered_by_the_sandbox(home: Home) -> None:
    """One request per operation, with the required parameters."""
    settings = Settings(home=home.path, sandbox_establishments=100)
    issued = first_start.prepare(home, settings, now_ms=system_now_ms, report=lambda step: None)
    shown = welcome.first_start_message(settings, issued)
    key = next(one.key for one in issued if one.account.name == welcome.EXAMPLE_ACCOUNT)

    lines = curl_lines(shown)
    assert [line[:4] for line in lines] == [["curl", "-sS", "-H", f"x-api-key: {key}"]] * len(
        OPERATIONS
    )
    addresses = [line[4].removeprefix(settings.address) for line in lines]
    assert addresses == [
        "/consultas/v2/cnpj-receita-federal/90010001000100",
        "/consultas/v2/sintegra/90010001000100",
        "/consultas/v2/certidao-negativa-de-debitos-federal?cnpj=90010001000100",
        "/consultas/v2/certidao-negativa-de-debitos-estadual/90010001000100?uf=SP",
        "/consultas/v2/certidao-negativa-de-debitos-trabalhistas?cnpj=90010001000100",
        "/consultas/v2/regularidade-fgts/90010001000100",
        "/consultas/v2/produtor-rural/90010000100?uf=SP",
        "/consultas/v2/suframa/90010002000154",
    ]
    assert len(addresses) == len(OPERATIONS)

    async def answers() -> Sequence[Reply]:
        await house.front.start()
        found = [await call(house.front, "GET", each, {"x-api-key": key}) for each in addresses]
        await house.front.stop()
        return found

    house = compose.open_application(settings)
    try:
        found = asyncio.run(answers())
    finally:
        house.close()
    assert [answer.status for answer in found] == [200] * len(OPERATIONS)
    # Certificates are not cached yet; from the source each costs two.
    assert [answer.credits for answer in found] == [1, 1, 2, 2, 2, 2, 1, 1]
    assert all(answer.json["success"] is True for answer in found)
    _, company, federal, state, labour, fgts, producer, zone = (answer.json for answer in found)
    assert zone["inscricao"] == "200000012"
    for registered in (company, producer):
        assert [each["uf"] for each in registered["inscricoes_estaduais"]] == ["SP"]
    assert (federal["certificate_type"], federal["source"]) == ("CND", "online")
    assert state["certidao_negativa"] is True
    assert (labour["certificate_type"], fgts["situation"]) == ("CND", "regular")


def test_one_at_a_time(home: Home) -> None:
    home.create()
    with home.lock(), pytest.raises(HomeInUse):
        prepare(home)


def test_the_repr_of_an_issued_key_hides_it(home: Home) -> None:
    settings = Settings(home=home.path, sandbox_establishments=0)
    issued = first_start.prepare(home, settings, now_ms=lambda: NOW_MS, report=lambda step: None)
    assert issued[0].key not in repr(issued)
