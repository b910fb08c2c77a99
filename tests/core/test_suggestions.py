"""Activities and towns for a typed text, and the hierarchy of activities."""

from collections.abc import Sequence

import pytest

from balcao.core.activities import DIVISIONS, levels_below, section_of
from balcao.core.suggestions import (
    Town,
    activities_like,
    similar_towns,
    towns_like,
    towns_named,
)

ACTIVITIES = {
    "1091102": "Fabricação de produtos de padaria e confeitaria",
    "4721102": "Padaria e confeitaria com predominância de revenda",
    "4721103": "Comércio varejista de laticínios e frios",
    "4722901": "Comércio varejista de carnes - açougues",
    "4781400": "Comércio varejista de artigos do vestuário",
    "8888888": "Atividade Econônica não informada",
}
TOWNS = [
    Town("7107", "SAO PAULO", "SP"),
    Town("1501", "BOM JESUS", "PI"),
    Town("1901", "BOM JESUS", "PB"),
    Town("1761", "NATAL", "RN"),
    Town("9707", "EXTERIOR", None),
]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("padar", ["4721102", "1091102"]),
        ("PADARIA revenda", ["4721102"]),
        ("acougues", ["4722901"]),
        ("4721-1", ["4721102", "4721103"]),
        ("nada disso", []),
        ("", []),
    ],
)
def test_activities_like_a_text(text: str, codes: Sequence[str]) -> None:
    assert [code for code, _ in activities_like(text, ACTIVITIES, 10)] == codes


def test_towns_by_name_and_state() -> None:
    assert [town.written for town in towns_named("São Paulo", TOWNS, ())] == ["SAO PAULO/SP"]
    assert [town.uf for town in towns_named("bom jesus", TOWNS, ())] == ["PI", "PB"]
    assert [town.uf for town in towns_named("bom jesus/PB", TOWNS, ())] == ["PB"]
    assert [town.uf for town in towns_named("bom jesus", TOWNS, {"PI"})] == ["PI"]
    assert [town.name for town in towns_like("sao pa", TOWNS, (), 5)] == ["SAO PAULO"]
    assert [town.name for town in similar_towns("sao pualo", TOWNS, ())] == ["SAO PAULO"]
    assert similar_towns("sao pualo", TOWNS, {"RN"}) == []
    assert TOWNS[-1].written == "9707"


@pytest.mark.parametrize(
    ("divisions", "begins", "codes"),
    [
        ([], [], list("ABCDEFGHIJKLMNOPQRSTU")),
        (["47", "45"], [], ["45", "47"]),
        (["47"], [], ["472", "478"]),
        ([], ["47"], ["472", "478"]),
        (["47"], ["472"], ["47211", "47229"]),
        ([], ["4721"], ["47211"]),
        ([], ["47211"], ["4721102", "4721103"]),
        ([], ["4721102"], []),
        ([], ["47211", "47229"], []),
        (["88"], [], []),
    ],
)
def test_levels_below_a_search(
    divisions: Sequence[str], begins: Sequence[str], codes: Sequence[str]
) -> None:
    assert [level.code for level in levels_below(divisions, begins, ACTIVITIES)] == codes


def test_names_and_codes_of_levels() -> None:
    by_code = {each.code: each for each in levels_below(["47"], [], ACTIVITIES)}
    assert by_code["472"].written == "47.2"
    assert by_code["472"].name == "Padaria e confeitaria com predominância de revenda e mais 2"
    (level, _) = levels_below([], ["472"], ACTIVITIES)
    assert level.written == "47.21-1"
    assert levels_below([], ["47211"], ACTIVITIES)[0].written == "4721-1/02"


def test_every_division_is_of_a_section() -> None:
    """The sections of CNAE 2.3 have 87 divisions."""
    assert len(DIVISIONS) == 87
    assert [section_of(each) for each in ("01", "03", "33", "47", "99")] == list("AACGU")
    sections = levels_below([], [], ACTIVITIES)
    assert sorted(each for level in sections for each in level.divisions) == sorted(DIVISIONS)
