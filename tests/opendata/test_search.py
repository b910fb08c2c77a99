"""The search index finds what a scan of the month finds, page after page."""

import random
import shutil
from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from bench.search import drawn_about
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from balcao.core.errors import InvalidParameter
from balcao.core.search import (
    COUNT_MAX,
    NAMES,
    Filters,
    HitCount,
    Hits,
    PageEffort,
    SearchPlace,
    read_filters,
    read_partner,
    resolved,
)
from balcao.core.search_record import SearchRecord, tokens_of
from balcao.core.words import words_of
from balcao.opendata import plan
from balcao.opendata.errors import BuildRunning, NoRoom, OpenDataError
from balcao.opendata.generator import generate
from balcao.opendata.importer import build
from balcao.opendata.search import building, paging
from balcao.opendata.search import index as index_module
from balcao.opendata.search.answering import CurrentIndex
from balcao.opendata.search.building import build_index
from balcao.opendata.search.index import SearchIndex, has_index, index_path, open_index
from balcao.opendata.snapshot import current_path
from balcao.opendata.store import WorkFolder, rollback
from tests.opendata.months import TODAY, Month, row
from tests.opendata.test_snapshot import Clock

ESTABLISHMENTS = 4_000
DAY = "2026-08-20"
PLENTY = PageEffort(1 << 40, float("inf"))


def never() -> float:
    """Return a constant time."""
    return 0.0


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a month with letters, branches, people and dirt, and its index in parts."""
    folder = tmp_path_factory.mktemp("mes")
    generate(folder / "mes", ESTABLISHMENTS, 7, alphanumeric_share=0.05, dirt_times=10.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "_RANGE_BYTES", 100_000)
        build([folder / "mes"], folder / "dados", today=TODAY)
        patch.setattr(building, "_ROWS_PER_TASK", 700)
        patch.setattr(building, "_TASKS_PER_PART", 2)
        patch.setattr(building, "_ROWS_AT_ONCE", 150)
        assert not has_index(folder / "dados")
        assert build_index(folder / "dados") == index_path(current_path(folder / "dados"))
    assert has_index(folder / "dados")
    assert not (folder / "dados" / "search").exists()
    return folder / "dados"


@pytest.fixture(scope="module")
def index(store: Path) -> Iterator[SearchIndex]:
    """Open the index."""
    with closing(open_index(current_path(store))) as index, closing(index.snapshot):
        yield index


@pytest.fixture(scope="module")
def every_record(index: SearchIndex) -> Sequence[SearchRecord]:
    """Return all records, in the order of CNPJs, read without the index's tokens."""
    return [index.record(ordinal) for ordinal in range(index.count)]


def filters(**sent: str) -> Filters:
    return read_filters(sent.get, DAY)


def pages(
    index: SearchIndex, of: Filters, limit: int, effort: PageEffort = PLENTY
) -> Iterator[Hits]:
    """Yield all pages, by CNPJ."""
    place: SearchPlace | None = SearchPlace("c", 0)
    while place is not None:
        page = paging.find(index, of, place, limit, effort, never)
        yield page
        assert page.following is None or page.following.number > place.number
        place = page.following


def found(index: SearchIndex, of: Filters, limit: int = 37) -> Sequence[str]:
    return [record.cnpj for page in pages(index, of, limit) for record in page.records]


def test_all_establishments_in_the_order_of_cnpjs(
    index: SearchIndex, every_record: Sequence[SearchRecord]
) -> None:
    numbers = [record.cnpj for record in every_record]
    assert len(numbers) == ESTABLISHMENTS
    assert numbers == sorted(numbers)
    assert any(not number.isdecimal() for number in numbers)


def test_contradicting_filters_match_nothing_immediately(index: SearchIndex) -> None:
    of = filters(natureza="2135,4120")
    assert paging.find(index, of, SearchPlace("c", 0), 10, PLENTY, never) == Hits([], False, None)
    assert paging.count(index, of, PLENTY, never) == HitCount(0, True)
    assert found(index, filters(natureza="2135,4120", pessoas="true"))
    assert found(index, filters(natureza="2135,2062"))


# Many more are compared by `python -m bench search`, on the first pages.
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 1 << 32))
def test_random_filters_agree_with_a_scan(
    index: SearchIndex, every_record: Sequence[SearchRecord], seed: int
) -> None:
    drawn = random.Random(seed)
    record, other = drawn.sample(every_record, 2)
    of = filters(**drawn_about(record, other, drawn))
    of = resolved(of, index.domains["Municipios"], {}, ())
    expected = [each.cnpj for each in every_record if of.matches(each)]
    assert found(index, of, drawn.choice([1, 7, 100])) == expected
    assert paging.count(index, of, PLENTY, never) == HitCount(len(expected), True)


def one(**fields: object) -> SearchRecord:
    known: dict[str, object] = {
        "cnpj": "12ABC34501DE35", "name": "PADARIA DA PRAÇA LTDA", "trade_name": "PÃO & CIA",
        "nature": "2062", "size": "01", "capital": Decimal("1000.00"), "head": True,
        "status": "02", "status_day": "2020-05-04", "reason": "00", "opened": "2019-02-28",
        "activity": "4721102", "others": ("4711302",), "cep": "01310100", "uf": "SP",
        "city": "7107", "area_codes": ("11",), "domain": "padaria.com.br", "simples": True,
        "mei": False,
    }  # fmt: skip
    return SearchRecord(**(known | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sent", "fits"),
    [
        ({"q": "padaria praca"}, True),
        ({"q": "Padaria LTDA"}, True),
        ({"q": "pad*"}, True),
        ({"q": "praca pad*"}, True),
        ({"q": "pao"}, True),
        ({"q": "padarias"}, False),
        ({"uf": "rj,sp"}, True),
        ({"uf": "RJ"}, False),
        ({"cnae": "4711-3/02"}, True),
        ({"cnae_principal": "4711302"}, False),
        ({"divisao": "47"}, True),
        ({"divisao": "88"}, False),
        ({"natureza": "206-2"}, True),
        ({"situacao": "Ativa"}, True),
        ({"porte": "epp"}, False),
        ({"matriz": "false"}, False),
        ({"aberta_desde": "2019-02-28", "aberta_ate": "2019-02-28"}, True),
        ({"aberta_desde": "2019-03-01"}, False),
        ({"aberta_ate": "2019-02-27"}, False),
        ({"situacao_desde": "1990-01-01", "situacao_ate": "2020-05-04"}, True),
        ({"capital_min": "1000", "capital_max": "1000.00"}, True),
        ({"capital_min": "1000.01"}, False),
        ({"simples": "true", "mei": "false"}, True),
        ({"cep": "01310-100"}, True),
        ({"cep": "013102"}, False),
        ({"ddd": "21,11"}, True),
        ({"dominio": "Padaria.com.br"}, True),
        ({"raiz": "12.abc.345"}, True),
        ({"uf": "SP", "mei": "true"}, False),
    ],
)
def test_records_match_filters(sent: Mapping[str, str], fits: bool) -> None:
    assert filters(**sent).matches(one()) is fits


def test_the_first_digits_are_all_activities_below() -> None:
    """A filter takes the first digits; a missing activity matches no division."""
    known = ["4721102", "4721103", "4781400", "8888888", "8800600"]

    def codes(**sent: str) -> dict[str, list[str]]:
        of = resolved(filters(**sent), {}, {}, known)
        return {name: sorted(values) for name, values in of.coded.items()}

    assert codes(cnae="472") == {"cnae": ["4721102", "4721103"]}
    assert codes(cnae_principal="47.21-1, 8888888") == {
        "cnae_principal": ["4721102", "4721103", "8888888"]
    }
    assert codes(cnae="88") == {"cnae": ["8800600"]}
    with pytest.raises(InvalidParameter, match="código desconhecido: 123"):
        codes(cnae="123")


def test_pages_that_were_read_are_released(
    index: SearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are the same before and after."""
    before = [index.record(at) for at in range(0, index.count, 50)]
    monkeypatch.setattr(index_module, "_MAPPED_BYTES_MAX", 0)
    monkeypatch.setattr(index_module, "_ROWS_PER_RELEASE", 1)
    assert [index.record(at) for at in range(0, index.count, 50)] == before


def test_an_activity_that_is_not_informed_is_of_no_division() -> None:
    unknown = one(activity="8888888", others=())
    assert not filters(divisao="88").matches(unknown)
    assert filters(cnae="8888888").matches(unknown)
    assert "_cd" not in tokens_of(unknown)
    assert filters(divisao="88").matches(one(activity="8800600"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("PADARIA DA PRAÇA LTDA ME", ["padaria", "da", "praca"]),
        ("JOSÉ DA SILVA 12345678901", ["jose", "da", "silva"]),
        ("JOSE DA SILVA 123.456.789-01", ["jose", "da", "silva"]),
        ("12.345.678 JOSE DA SILVA", ["jose", "da", "silva"]),
        ("CIA DAS LETRAS S/A", ["cia", "das", "letras"]),
        ("BANCO S.A.", ["banco"]),
        ("LTDA", ["ltda"]),
        ("", []),
    ],
)
def test_words(name: str, words: Sequence[str]) -> None:
    assert list(words_of(name)) == words


def test_no_cpf_is_in_the_index(tmp_path: Path) -> None:
    named = row("Empresas", natureza_juridica="2135", razao_social="FULANA DE TAL 98765432100")
    Month(tmp_path / "1", files={"Empresas0": named}).build(tmp_path / "dados")
    path = build_index(tmp_path / "dados")
    assert b"98765432100" not in path.read_bytes()
    assert b"765432" not in path.read_bytes()
    with closing(open_index(current_path(tmp_path / "dados"))) as index, closing(index.snapshot):
        people = filters(q="fulana", pessoas="true")
        assert paging.count(index, people, PLENTY, never).total == 1
        assert paging.count(index, filters(q="fulana"), PLENTY, never).total == 0


def test_relevance_among_the_first(
    index: SearchIndex, every_record: Sequence[SearchRecord]
) -> None:
    word = words_of(next(r.name for r in every_record if not r.person and len(r.name) > 9))[0]
    of = filters(q=word)
    expected = sorted(filter(of.matches, every_record), key=of.relevance)
    place: SearchPlace | None = SearchPlace("r", 0)
    listed: list[str] = []
    while place is not None:
        page = paging.find(index, of, place, 3, PageEffort(), never)
        listed += [record.cnpj for record in page.records]
        place = page.following
    assert len(expected) > 3
    assert listed == [record.cnpj for record in expected]


def test_relevance() -> None:
    of = filters(q="padaria da praca")
    exact = one()
    ordered = one(name="A PADARIA DA PRACA NOVA", cnpj="1")
    mixed = one(name="PRACA DA PADARIA", cnpj="0")
    branch = one(head=False, cnpj="00")
    closed = one(status="08", cnpj="01")
    best = sorted([mixed, ordered, closed, branch, exact], key=of.relevance)
    assert best == [exact, closed, branch, ordered, mixed]


def test_a_page_over_budget_is_partial(
    index: SearchIndex, every_record: Sequence[SearchRecord]
) -> None:
    """Limited by count and by time; no hit is lost or repeated."""
    of = filters(aberta_ate="2012-06-10")
    until_june = [each for each in every_record if not each.person and each.opened]
    candidates = [each for each in until_june if (each.opened or "") < "2012-07"]
    expected = [each.cnpj for each in candidates if of.matches(each)]
    assert len(candidates) > len(expected) > 0, "the index brings too many"
    seen = list(pages(index, of, 100, PageEffort(90, float("inf"))))
    assert [record.cnpj for page in seen for record in page.records] == expected
    assert {page.partial for page in seen[:-1]} == {True}
    assert not seen[-1].partial
    late = paging.find(index, of, SearchPlace("c", 0), 100, PageEffort(seconds=0), never)
    assert (late.partial, late.following) == (
        True,
        SearchPlace("c", every_record.index(candidates[0]) + 1),
    )
    # A count examines only those of that June.
    june = [each for each in candidates if (each.opened or "") >= "2012-06"]
    known = len(expected) - sum(of.matches(each) for each in june)
    assert paging.count(index, of, PageEffort(1), never) == HitCount(
        known + of.matches(june[0]), False
    )


def test_more_hits_than_counted(index: SearchIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "COUNT_MAX", 20)
    for of in (filters(situacao="ATIVA"), filters(capital_min="1")):
        assert paging.count(index, of, PLENTY, never) == HitCount(20, False)
    assert COUNT_MAX == 10_000


def test_partners(index: SearchIndex) -> None:
    known = [partner for at in range(600) for partner in index.partners_of(at)]
    person = next(each for each in known if each.document.startswith("*"))
    for sent in ({"nome": person.name}, {"documento": person.document[3:9]}):
        of = read_partner(sent.get)
        found, _ = paging.find_partners(index, of, 100, PLENTY, never)
        assert person in found
        assert all(of.matches(each.name, each.document) for each in found)
        roots = [each.cnpj for each in found]
        assert roots == sorted(roots)
    company = next(each for each in known if each.document.isalnum())
    of = read_partner({"documento": company.document[:8]}.get)
    assert company in paging.find_partners(index, of, 100, PLENTY, never)[0]


def test_an_interrupted_build_resumes(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "_ROWS_PER_TASK", 700)
    monkeypatch.setattr(building, "_TASKS_PER_PART", 2)
    shutil.copytree(store, tmp_path / "dados")
    index_path(current_path(tmp_path / "dados")).unlink()
    real, calls = building._insert, []

    def dying(*arguments: object) -> None:
        calls.append(arguments)
        if len(calls) == 4:
            raise KeyboardInterrupt
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(building, "_insert", dying)
    with pytest.raises(KeyboardInterrupt):
        build_index(tmp_path / "dados")
    assert not has_index(tmp_path / "dados")
    build_index(tmp_path / "dados")
    assert has_index(tmp_path / "dados")
    # Parts of two tasks: the second one, which was not complete, is rewritten.
    assert [call[1] for call in calls[:8]] == [0, 0, 1, 1, 1, 1, 2, 2]
    assert calls[2][2] == calls[4][2]


def test_workers_make_the_same_file(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "_ROWS_PER_TASK", 700)
    monkeypatch.setattr(building, "_TASKS_PER_PART", 2)
    shutil.copytree(store, tmp_path / "dados")
    alone = build_index(tmp_path / "dados").read_bytes()
    monkeypatch.setattr(building, "_ROWS_WORTH_WORKERS", 0)
    assert build_index(tmp_path / "dados", workers=2).read_bytes() == alone


def test_the_index_follows_its_month(tmp_path: Path) -> None:
    clock = Clock()
    with closing(CurrentIndex(tmp_path, clock)) as current:
        assert current.index is None
        Month(tmp_path / "1", day=date(2026, 7, 11)).build(tmp_path)
        first = build_index(tmp_path)
        clock.now += 1
        assert current.index is not None
        before = current.index.stamp
        Month(tmp_path / "2").build(tmp_path)
        clock.now += 1
        assert current.index is None
        second = build_index(tmp_path)
        clock.now += 1
        assert current.index is not None
        assert current.index.stamp != before
        rollback(tmp_path)
        clock.now += 1
        assert current.index is not None
        assert current.index.stamp == before
        Month(tmp_path / "3", day=date(2026, 9, 12)).build(tmp_path)
        Month(tmp_path / "4", day=date(2026, 10, 10)).build(tmp_path)
        assert not first.exists()
        assert not second.exists()


def test_mapped_files_are_advised_as_random(store: Path) -> None:
    with closing(open_index(current_path(store))) as index, closing(index.snapshot):
        index.record(0)
        regions = Path("/proc/self/smaps").read_text("utf-8").split("VmFlags:")
        following = [flags.split("\n", 1)[0].split() for flags in regions[1:]]
    for path in (current_path(store), index_path(current_path(store))):
        flags = [
            each for head, each in zip(regions, following, strict=False) if f" {path}\n" in head
        ]
        assert flags
        assert all("rr" in each for each in flags)


def test_an_index_that_could_not_be_opened_is_retried(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    with closing(CurrentIndex(store, clock)) as current:
        with monkeypatch.context() as patch:
            patch.setattr("balcao.opendata.search.index.open_finished", _no_more_files)
            assert current.index is None
        clock.now += 1
        assert current.index is not None


def _no_more_files(path: Path, *, mapped: bool = False) -> None:
    raise OSError(24, "Too many open files")


def test_refused_without_month_or_room_and_while_another_builds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OpenDataError):
        build_index(tmp_path)
    Month(tmp_path / "month").build(tmp_path)
    with WorkFolder(tmp_path, "search", "search.lock", ()), pytest.raises(BuildRunning):
        build_index(tmp_path)
    usage = namedtuple("usage", "free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(10))
    with pytest.raises(NoRoom, match="precisa de"):
        build_index(tmp_path)
    assert not has_index(tmp_path)


def test_every_filter_has_a_name() -> None:
    assert {"q", "uf", "municipio", "raiz", "cep", "dominio", "limite", "cursor"} <= set(NAMES)
