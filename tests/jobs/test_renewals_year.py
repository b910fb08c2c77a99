"""Months of a portfolio's certificates with the real store: restarts, outages, a clock set back.

`tests/core/test_paper_year.py` has a year of many certificates without a store.
"""

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from balcao.core.errors import SourceFailed
from balcao.core.questions import Inquiry
from balcao.service.purchasing import Purchasing
from balcao.service.renewing import Renewing
from balcao.sources.contract import Answer, Found
from tests.buying import HOUR_MS, Buyer, open_buyer
from tests.records import CNPJ, a_federal, an_fgts

LIVES = {"federal_certificate": 180, "fgts_regularity": 30}


def issue(buyer: Buyer) -> None:
    """Let the source issue certificates, except in every third hour."""

    def say(inquiry: Inquiry) -> Answer:
        if buyer.now_ms // HOUR_MS % 3 == 0:
            raise SourceFailed("")
        issued, document = buyer.today, inquiry.document.text
        end = (issued + timedelta(days=LIVES[inquiry.subject])).isoformat()
        if inquiry.subject == "federal_certificate":
            record: Any = a_federal(document, issued_on=issued.isoformat(), validity=end)
        else:
            record = an_fgts(document, valid_from=issued.isoformat(), validity=end)
        return Found(record, "fonte", buyer.world.source.now())

    buyer.world.source.says(say)


def restart(buyer: Buyer) -> None:
    """Continue with the work of another process."""
    before = buyer.renewing
    buyer.renewing = Renewing(
        Purchasing(before.parts, before.purchasing.new_id), before.unavailable, before.open_person
    )


def assert_each_notice_once(buyer: Buyer) -> None:
    written = Counter(
        (kind, body["papel"]["id"], body["valida_ate"], body.get("aviso"))
        for kind, body in buyer.events()
        if kind in {"certidao.a_vencer", "certidao.vencida"}
    )
    assert set(written.values()) == {1}


def test_months_with_restarts_and_a_clock_that_is_set_back(tmp_path: Path) -> None:
    with open_buyer(tmp_path, credits=1_000) as buyer:
        buyer.settings(1_000)
        item = buyer.item(CNPJ, "certidao_federal", "regularidade_fgts")
        buyer.paper("certidao_federal", item, subject=CNPJ[:8], days=50)
        buyer.paper("regularidade_fgts", item, subject=CNPJ, days=12)
        issue(buyer)
        for number in range(5):
            buyer.live(12)
            restart(buyer)
            if number == 2:
                buyer.world.clock.advance(days=-7)
        renewed = [body for kind, body in buyer.events() if kind == "certidao.renovada"]
        assert Counter(body["papel"]["tipo"] for body in renewed) == {
            "certidao_federal": 1, "regularidade_fgts": 3,
        }  # fmt: skip
        assert "certidao.vencida" not in buyer.kinds()
        assert buyer.spent == 2 * len(renewed) == sum(credits for *_, credits in buyer.charges())
        assert_each_notice_once(buyer)
        buyer.world.assert_books_agree()


@pytest.mark.nightly
def test_a_thousand_certificates_without_a_ceiling_for_a_year(tmp_path: Path) -> None:
    with open_buyer(tmp_path) as buyer:
        buyer.settings(0)
        for number in range(1_000):
            document = f"{number:08d}000100"
            item = buyer.item(document, "certidao_federal")
            days = 1 + number % 360
            buyer.paper("certidao_federal", item, subject=document[:8], days=days)
        assert buyer.live(365) == []
        kinds = Counter(buyer.kinds())
        assert kinds["certidao.vencida"] == 1_000
        # Those that end within 5 days are too late for the greater notices.
        assert kinds["certidao.a_vencer"] == 3_000 - 3 * (2 + 4)
        assert (buyer.world.source.asked, buyer.spent) == (0, 0)
        assert buyer.sql("SELECT count(*) FROM wallet_paper WHERE attempts > 0") == [(0,)]
        assert_each_notice_once(buyer)
