"""Deprecated features and expiring keys on the pages of accounts and operators (contract 18)."""

from balcao.accounts.keys import issue_key
from balcao.core.calendar import civil_day_text
from balcao.core.deprecations import DeprecatedUse
from balcao.core.freshness import DAY_MS
from balcao.home import Home
from balcao.service.clock import system_now_ms
from tests.service import Service
from tests.web.browser import Browser, signed_in

LIST = "/app/operador/obsoletos"


def test_keys_that_use_deprecated_features(house: Service, operator: Browser) -> None:
    who = house.account("antiga")
    assert "Nenhuma chave usou recursos obsoletos nos últimos 90 dias" in operator.get(LIST).words
    assert "obsoletos em uso" not in signed_in(house, who).get("/app/chaves").words
    key_id, today = who.key_id or 0, civil_day_text(system_now_ms())
    use = DeprecatedUse(who.account_id, "cabecalho-cache", key_id, today, 1234)
    house.run(house.desk.deprecated_uses.add([use]))
    of_account = f"/app/operador/contas/{who.account_id}/chaves"
    for page in (
        signed_in(house, who).get("/app/chaves"),
        signed_in(house, who).get("/app/extrato"),
        operator.get(of_account),
        operator.get(LIST),
    ):
        assert "Cabeçalho cache" in page.words
        assert "1.234" in page.words
        assert "aceito pelo menos até 31/12/2028" in page.words
    (line,) = operator.get(LIST).tree.xpath("//tbody/tr[th]")
    assert line.xpath("./th/a/@href") == [of_account]
    assert signed_in(house, who).get(LIST).status == 403
    assert "Cabeçalho cache" not in signed_in(house).get("/app/chaves").words


def test_expiring_keys_are_announced_with_what_to_do(house: Service, operator: Browser) -> None:
    who, now = house.account("vencendo"), system_now_ms()
    own = signed_in(house, who)
    assert "Chaves que vencem" not in own.get("/app/chaves").words
    account = house.balance(who)
    for name, days in (("breve", 10), ("longe", 20)):
        issue_key(
            house.desk, Home(house.folder), account, name, now, expires_ms=now + days * DAY_MS
        )
    for page in (
        own.get("/app/chaves"),
        operator.get(f"/app/operador/contas/{who.account_id}/chaves"),
    ):
        (box,) = page.tree.xpath("//*[contains(@class, 'notice')][.//a[@href='#nova']]")
        text = box.text_content()
        assert "breve" in text
        assert "longe" not in text
        assert "troque-a nos programas e depois revogue a antiga" in text
        assert page.tree.xpath("//*[@id='nova']")


def test_the_guide_lists_the_deprecated_features(house: Service, operator: Browser) -> None:
    for path, *words in (
        ("/docs", "Cabeçalho cache", "cabecalho-cache", "01/01/2026", "31/12/2028"),
        ("/docs/en", "Header cache", "cabecalho-cache", "2026-01-01", "2028-12-31"),
    ):
        page = operator.get(f"{path}/guias/versoes")
        (cells,) = (
            row.xpath("./td/text() | ./td/code/text()")
            for row in page.tree.xpath("//tr[td/code='cabecalho-cache']")
        )
        assert cells[:4] == words
