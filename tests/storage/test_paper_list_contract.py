"""Lists of certificates, their states and counts, on every engine (contract 20.7)."""

import random
from datetime import date, timedelta
from typing import Any

from balcao.core.access import Account
from balcao.core.paper_filters import DayRange, day_ranges, month_of
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.wallet.paper_list import PaperFilter, Standing
from tests.records import CNPJ, OTHER_CNPJ
from tests.storage.engines import Engine
from tests.watching import a_paper, an_item

TODAY = date(2026, 11, 28)
STANDING = Standing(TODAY, 10)


def day(after: int) -> str:
    return (TODAY + timedelta(after)).isoformat()


def paper(engine: Engine, account: Account, kind: str, *items: str, **columns: Any) -> None:
    """Write a certificate. `ends`: its last day."""
    number = columns.pop("paper_id", f"{kind}-{items}")
    subject, name = (None, "Alvará") if kind == "outra" else (number, None)
    validity = columns.pop("ends", None)

    def execute(sql: str, values: tuple[Any, ...]) -> None:
        engine.sql(sql, *values)

    a_paper(
        execute, account.account_id, kind, *items,
        paper_id=number, subject=subject, name=name, validity=validity, **columns,
    )  # fmt: skip


def test_the_last_days_of_each_selection() -> None:
    ranges = day_ranges(TODAY)
    assert ranges["7"] == DayRange("2026-11-28", "2026-12-05")
    assert ranges["mes"] == month_of(TODAY) == DayRange("2026-11-01", "2026-11-30")
    assert ranges["vencidas"].last == "2026-11-27"


def test_papers_are_listed_and_counted(engine: Engine, desk: Desk, ana: Account) -> None:
    number, papers = ana.account_id, desk.paper_list

    def execute(sql: str, values: tuple[Any, ...]) -> None:
        engine.sql(sql, *values)

    for item_id, document, client in (("a", CNPJ, ""), ("b", CNPJ, "loja"), ("c", OTHER_CNPJ, "")):
        an_item(execute, number, document, "certidao_federal", item_id=item_id, client=client)
    execute("INSERT INTO wallet_tag VALUES (?, ?, ?)", (number, "sul", "c"))
    paper(engine, ana, "certidao_federal", "a", "b", verdict="CND", ends=day(3))
    paper(engine, ana, "certidao_trabalhista", "c", verdict="CPEND", ends=day(-1))
    paper(engine, ana, "regularidade_fgts", "c", verdict="CPD", ends=day(20))
    paper(engine, ana, "outra", "c", paper_id="alvara", ends=day(20))
    paper(engine, ana, "certidao_estadual", "c", uf="SP")
    paper(engine, ana, "certidao_federal", paper_id="orphan", verdict="CND", ends=day(1))

    def listed(**fields: Any) -> list[tuple[str, str, str, int]]:
        found, count, _ = papers.page(number, PaperFilter(**fields), STANDING, 0, 10)
        assert count == len(found)
        return [(each.paper.kind, each.state, each.item.item_id, each.items) for each in found]

    labour, federal = ("certidao_trabalhista", "vencida", "c", 1), ("certidao_federal", "a_vencer")
    assert listed() == [
        labour,
        (*federal, "a", 2),
        ("outra", "valida", "c", 1),
        ("regularidade_fgts", "positiva", "c", 1),
        ("certidao_estadual", "sem_certidao", "c", 1),
    ]
    assert listed(client="loja") == [(*federal, "b", 1)]
    assert listed(tag="sul", kind="certidao_trabalhista") == [labour]
    assert listed(items=("b",)) == [(*federal, "b", 1)]
    assert listed(papers=("alvara",), states=("positiva",)) == []
    assert listed(states=("vencida", "sem_certidao"))[0] == labour
    # What is positive expires no more.
    days = DayRange(day(4), day(30))
    assert [kind for kind, *_ in listed(days=days)] == ["outra"]
    assert papers.page(number, PaperFilter(), STANDING, 4, 10)[1:] == (5, 4)
    counts = papers.counts(number, PaperFilter(states=("positiva",)), STANDING)
    assert counts.by_expiry == {"7": 1, "15": 1, "30": 2, "mes": 1, "vencidas": 1}
    assert (counts.total, counts.positive, counts.without) == (5, 1, 1)
    months = papers.by_day(number, PaperFilter(days=DayRange(day(0), day(30))), STANDING)
    assert {at: found.papers for at, found in months.items()} == {day(3): 1, day(20): 1}
    fed, count, _ = papers.feed(number, PaperFilter(), STANDING, 1)
    assert ([each.paper.kind for each in fed], count) == (["certidao_trabalhista"], 3)
    assert len([*papers.each(number, PaperFilter(), STANDING)]) == 5


def test_states_are_those_of_a_paper(engine: Engine, desk: Desk, ana: Account) -> None:
    def execute(sql: str, values: tuple[Any, ...]) -> None:
        engine.sql(sql, *values)

    dice = random.Random(20)
    an_item(execute, ana.account_id, CNPJ, item_id="a")
    for number in range(30):
        bought = {
            "verdict": dice.choice(["CND", "CPEND", "CPD", "other", "none", None]),
            "failures": dice.choice([0, 1]),
        }
        by_hand = dice.random() < 0.2
        paper(
            engine,
            ana,
            "outra" if by_hand else "certidao_federal",
            "a",
            paper_id=f"{number:03}",
            ends=day(dice.randrange(-3, 14)) if by_hand or dice.random() < 0.8 else None,
            renewing_ms=dice.choice([None, None, None, 1]),
            **({} if by_hand else bought),
        )
    found, *_ = desk.paper_list.page(ana.account_id, PaperFilter(), STANDING, 0, 100)
    assert len(found) == 30
    for each in found:
        assert each.state == each.paper.state(TODAY, 10)
