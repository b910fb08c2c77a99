"""Registrations with states and with Suframa: the promised rows, and the sense of all others."""

import re
from collections import Counter
from datetime import date
from functools import cache

import pytest
from stdnum.br import cpf as stdnum_cpf

from balcao.core.federation import UFS
from balcao.core.registration import SITUATION_TEXTS, TYPE_TEXTS
from balcao.core.suframa import STATUS_TEXTS, is_zone_number
from balcao.fiction import (
    establishment_of,
    person_of,
    registrations_of,
    registrations_of_person,
    zone_registration_of,
)
from balcao.fiction.calendar import LAST_DAY
from balcao.fiction.digits import cnpj
from balcao.fiction.records import Establishment, RegistrationFiction
from balcao.fiction.sandbox import MISBEHAVING_COMPANIES, MISBEHAVING_PEOPLE

COUNT = 6_000

# UF, active, type and situation by the codes of `ccc.md`
ROWS = {
    "90010001000100": [("SP", True, 1, 1)],
    "90010002000154": [("AM", True, 1, 1)],
    "90010003000107": [("SP", False, 1, 1)],
    "90010004000143": [],
    "90010005000198": [("SP", True, 1, 2)],
    "90010006000132": [("SP", True, 2, 1), ("MG", True, 4, 1)],
    "90010008000121": [("SP", True, 1, 1)],
    "90010009000176": [("SP", True, 1, 1)],
    "90010010000109": [("SP", True, 1, 1)],
    "90010011000145": [("SP", True, 1, 3)],
    "90010012000190": [("SP", True, 3, 1)],
    "12ABC34501DE35": [("SP", True, 1, 1)],
    "00000000E08G12": [("SP", True, 1, 1)],
    "99999999000191": [],
    **{
        document: [("SP", True, 1, 1)]
        for document in MISBEHAVING_COMPANIES
        if document != "90020008000102"
    },
}
PEOPLE = {
    "90010000100": [("SP", True, 5)],
    "90010000291": [("MG", True, 5), ("GO", False, 5)],
    "90010000372": [],
    "90010000453": [("SP", True, 1)],
    **{document: [("SP", True, 5)] for document in MISBEHAVING_PEOPLE},
}

# As printed by the states: SP has 12 digits, RO 14, RJ 8.
LENGTHS = {
    "AC": 13, "AL": 9, "AM": 9, "AP": 9, "BA": 9, "CE": 9, "DF": 13, "ES": 9, "GO": 9, "MA": 9,
    "MG": 13, "MS": 9, "MT": 11, "PA": 9, "PB": 9, "PE": 9, "PI": 9, "PR": 10, "RJ": 8, "RN": 9,
    "RO": 14, "RR": 9, "RS": 10, "SC": 9, "SE": 9, "SP": 12, "TO": 9,
}  # fmt: skip


@cache
def companies() -> list[tuple[Establishment, tuple[RegistrationFiction, ...]]]:
    documents = [cnpj(f"{n * 7919 % 100_000_000:08d}", "0001") for n in range(1, COUNT + 1)]
    return [(establishment_of(each), registrations_of(each)) for each in documents]


@cache
def people() -> list[tuple[str, tuple[RegistrationFiction, ...]]]:
    bases = [f"{n * 7919 % 1_000_000_000:09d}" for n in range(1, COUNT + 1)]
    documents = [base + stdnum_cpf._calc_check_digits(base) for base in bases]
    return [(each, registrations_of_person(each)) for each in documents]


def is_in_order(each: RegistrationFiction) -> None:
    assert each.uf in LENGTHS
    assert re.fullmatch(rf"[0-9]{{{LENGTHS[each.uf]}}}", each.number), each
    assert each.type in {*TYPE_TEXTS, 4}
    assert each.situation in SITUATION_TEXTS
    assert each.status_date <= LAST_DAY
    assert each.address is not None
    place = each.address.municipality
    assert place.uf == each.uf
    assert re.fullmatch(r"[0-9]{7}", place.ibge)
    assert re.fullmatch(r"[0-9]{8}", each.address.cep)
    assert each.address.street


@pytest.mark.parametrize("document", ROWS)
def test_company_row(document: str) -> None:
    found = registrations_of(document)

    assert [(each.uf, each.active, each.type, each.situation) for each in found] == ROWS[document]
    for each in found:
        is_in_order(each)


def test_a_branch_is_registered_in_many_ufs() -> None:
    found = registrations_of("90010007000268")

    assert [each.uf for each in found if each.active] == ["SP", "MG", "RJ", "PR", "BA"]
    assert [each.uf for each in found if not each.active] == ["RS"]
    assert len({each.number for each in found}) == 6
    for each in found:
        is_in_order(each)


def test_the_one_that_fails_in_some_ufs_is_registered_in_all() -> None:
    found = registrations_of("90020008000102")

    assert sorted(each.uf for each in found) == sorted(UFS)
    assert all(each.active for each in found)
    for each in found:
        is_in_order(each)


def test_at_home_the_address_is_the_establishment_s() -> None:
    manaus = registrations_of("90010002000154")[0]
    assert manaus.address == establishment_of("90010002000154").address

    here, there = registrations_of("90010006000132")
    assert here.address == establishment_of("90010006000132").address
    assert there.address is not None
    assert there.address.municipality.uf == "MG"


@pytest.mark.parametrize("document", PEOPLE)
def test_person_row(document: str) -> None:
    found = registrations_of_person(document)

    assert [(each.uf, each.active, each.type) for each in found] == PEOPLE[document]
    for each in found:
        is_in_order(each)


def test_zone_rows() -> None:
    approved = zone_registration_of("90010002000154")
    assert approved is not None
    assert (approved.number, approved.status, approved.approved) == ("200000012", 1, True)
    assert approved.approved_on is not None
    assert [(each.tax, each.benefit) for each in approved.incentives] == [
        ("IPI", "Isenção"),
        ("ICMS", "Isenção"),
    ]
    assert all(each.purpose and each.basis for each in approved.incentives)

    cancelled = zone_registration_of("90010003000107")
    assert cancelled is not None
    assert (cancelled.status, cancelled.approved, cancelled.approved_on) == (4, False, None)

    blocked = zone_registration_of("90010005000198")
    assert blocked is not None
    assert blocked.status == 3


@pytest.mark.parametrize(
    "document",
    [*sorted(set(ROWS) - set(MISBEHAVING_COMPANIES)), "90010007000187", "90010007000268"],
)
def test_nobody_else_of_the_promised_is_in_the_zone(document: str) -> None:
    in_it = {"90010002000154", "90010003000107", "90010005000198"}
    assert (zone_registration_of(document) is not None) == (document in in_it)


def test_whose_sources_misbehave_is_in_the_zone() -> None:
    for document in MISBEHAVING_COMPANIES:
        record = zone_registration_of(document)
        assert record is not None
        assert (record.status, record.approved) == (1, True)
        assert record.incentives


# Written down, not computed: see `test_determinism.py`.
def test_registrations_are_the_same_for_ever() -> None:
    assert [
        (each.uf, each.number, each.active, each.type, each.situation, each.status_date)
        for each in registrations_of("02241077000189")
    ] == [
        ("MG", "0251732744170", True, 1, 1, date(2013, 4, 22)),
        ("MA", "125913079", True, 2, 1, date(2013, 4, 22)),
        ("PB", "160775264", True, 4, 1, date(2013, 4, 22)),
    ]
    assert [each.number for each in registrations_of("90010001000100")] == ["126624030594"]
    assert [(each.uf, each.number) for each in registrations_of_person("00003959500")] == [
        ("MG", "0028662109071"),
        ("ES", "087075741"),
    ]
    record = zone_registration_of("00118785000100")
    assert record is not None
    assert (record.number, record.since) == ("204950740", date(2009, 3, 7))


def test_every_registration_is_in_order() -> None:
    for establishment, found in companies():
        numbers = [(each.uf, each.number) for each in found]
        assert len(set(numbers)) == len(numbers)
        assert len({each.uf for each in found}) == len(found)
        for each in found:
            is_in_order(each)
            assert each.status_date >= establishment.opened
            home = establishment.address
            assert (each.address == home) == (each.uf == home.municipality.uf)
    for cpf, found in people():
        assert len({(each.uf, each.number) for each in found}) == len(found)
        for each in found:
            is_in_order(each)
            assert each.type == 5
            assert each.status_date.year >= person_of(cpf).born.year + 18


def test_who_is_not_active_or_abroad_has_nothing_active() -> None:
    inactive = 0
    for establishment, found in companies():
        if establishment.status != "02":
            assert not any(each.active for each in found)
            assert all(each.status_date == establishment.status_date for each in found)
            inactive += len(found)
        if establishment.address.municipality.uf == "EX":
            assert found == ()
    assert inactive > COUNT / 10


def test_the_own_uf_comes_first() -> None:
    for establishment, found in companies():
        if found:
            assert found[0].uf == establishment.address.municipality.uf


def test_who_trades_is_registered_and_who_serves_mostly_not() -> None:
    active = [(e, found) for e, found in companies() if e.status == "02"]
    trade = [found for e, found in active if e.activity[:2] in ("46", "47", "10", "14", "31")]
    service = [found for e, found in active if e.activity[:2] in ("62", "69", "73", "85", "96")]

    registered = [found for found in trade if found and found[0].active and found[0].type == 1]
    assert 0.8 < len(registered) / len(trade) < 0.98
    assert 0.01 < sum(map(bool, service)) / len(service) < 0.15
    more = [found for found in trade if len(found) > 1]
    assert 0.01 < len(more) / len(trade) < 0.1
    elsewhere = {each.type for _, found in active for each in found[1:]}
    assert elsewhere == {2, 4}
    situations = Counter(each.situation for _, found in active for each in found)
    assert set(situations) == set(SITUATION_TEXTS)
    assert situations[1] > 0.9 * situations.total()


def test_a_third_of_the_people_are_producers() -> None:
    counts = Counter(len(found) for _, found in people())

    assert 0.3 < counts[1] / COUNT < 0.37
    assert 0.02 < counts[2] / COUNT < 0.1
    assert set(counts) == {0, 1, 2}
    for cpf, found in people():
        if found:
            assert found[0].uf == person_of(cpf).home.uf
            assert found[0].active
    pairs = Counter(len({each.uf for each in found}) for _, found in people() if len(found) == 2)
    assert set(pairs) == {1, 2}  # two farms, or two UFs


def test_the_zone_registers_companies_of_its_ufs() -> None:
    zone = 0
    seen = 0
    statuses: Counter[int] = Counter()
    for establishment, _ in companies():
        record = zone_registration_of(establishment.cnpj)
        inside = establishment.address.municipality.uf in ("AM", "AC", "RO", "RR", "AP")
        zone += inside
        if record is None:
            continue
        assert inside
        seen += 1
        statuses[record.status] += 1
        assert re.fullmatch(r"[0-9]{9}", record.number)
        assert not record.number.startswith("00")
        assert is_zone_number(record.number)
        assert record.status in STATUS_TEXTS
        assert establishment.opened <= record.since <= LAST_DAY
        assert record.approved == (record.approved_on is not None)
        if record.approved_on is not None:
            assert record.since <= record.approved_on <= LAST_DAY
        if record.incentives:
            assert record.approved
            assert record.status == 1
        if establishment.status != "02":
            assert record.status != 1
    assert 0.5 < seen / zone < 0.8
    assert {1, 4} <= set(statuses)
