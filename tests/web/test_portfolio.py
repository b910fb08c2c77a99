"""`/app/carteira` and the notices of a portfolio."""

import msgspec

from balcao.accounts.mail.outbox import unsubscribe_token
from balcao.accounts.seal import Seal
from balcao.accounts.secrets import secrets_of
from balcao.core.people import AT_THE_TERMINAL
from balcao.core.wallet import Notices, WalletSettings
from balcao.home import Home
from tests.service import Client, Service
from tests.web.browser import Browser


def test_one_click_stops_the_notices(house: Service, who: Client) -> None:
    desk, program = house.desk, Browser(house)
    people = [Browser(house).sign_in_as("manager", who.account_id).user_id for _ in range(2)]

    def choose(settings: WalletSettings) -> WalletSettings:
        return msgspec.structs.replace(settings, notices=Notices(pessoas=tuple(people)))

    house.run(desk.wallets.change_settings(who.account_id, choose, None, str, AT_THE_TERMINAL, 0))
    seal = Seal(secrets_of(Home(house.folder), desk))
    token = unsubscribe_token(seal, who.account_id, people[0])
    address = f"/app/avisos/{token}"
    # A scanner that follows links changes nothing.
    assert "Parar de receber os avisos" in program.get(address).words
    assert desk.wallets.settings(who.account_id).notices.pessoas == tuple(people)
    foreign = {"origin": "https://correio.test", "sec_fetch_site": "cross-site"}
    for _ in range(2):
        answer = program.post(address, {"List-Unsubscribe": "One-Click"}, **foreign)
        assert (answer.status, "Você não recebe mais" in answer.words) == (200, True)
    assert desk.wallets.settings(who.account_id).notices.pessoas == (people[1],)
    assert program.post(f"{address[:-1]}x", {}, **foreign).status == 404
