"""The facts of any document are consistent, and no person in them is real."""

import math
import re
from collections import Counter
from functools import cache
from typing import Any

import pytest
from stdnum.br import cnpj as stdnum_cnpj
from stdnum.br import cpf as stdnum_cpf

from balcao.core.company import AGE_BAND_TEXTS, SIZE_TEXTS, STATUS_TEXTS
from balcao.core.personal import mask_cpf_in_text
from balcao.fiction import codes, company_of, establishment_of, person_of, places
from balcao.fiction.calendar import FIRST_DAY, LAST_DAY
from balcao.fiction.digits import cnpj, impossible_cpf
from balcao.fiction.records import CompanyFiction, Establishment
from balcao.fiction.root_facts import root_facts
from balcao.fiction.sandbox import COMPANIES, ROOT_OF_1000_PARTNERS, ROOT_OF_5000_ESTABLISHMENTS

COUNT = 20_000


@cache
def sample() -> list[tuple[CompanyFiction, Establishment]]:
    roots = [f"{n * 7919 % 100_000_000:08d}" for n in range(1, COUNT + 1)]
    return [(company_of(root), establishment_of(cnpj(root, "0001"))) for root in roots]


def share(condition: list[bool]) -> float:
    return sum(condition) / len(condition)


def digits_in(text: str) -> list[str]:
    """Everything that could be read as a CPF in a text: 10 or 11 digits, punctuated or not."""
    runs = re.findall(r"[0-9][0-9.\- ]*[0-9]", text)
    found = (re.sub(r"[^0-9]", "", run) for run in runs)
    return [digits.rjust(11, "0") for digits in found if len(digits) in (10, 11)]


@pytest.mark.parametrize("n", [0, 1, 999_999_999, 123_456_789, 111_111_111, 5_000_000])
def test_invented_cpfs_have_wrong_check_digits(n: int) -> None:
    assert len(impossible_cpf(n)) == 11
    assert not stdnum_cpf.is_valid(impossible_cpf(n))


def test_no_name_and_no_partner_has_a_cpf_that_could_be_anybodys() -> None:
    seen = 0
    for company in [*(company for company, _ in sample()), *COMPANIES.values()]:
        documents = digits_in(company.name)
        for partner in company.partners:
            documents += digits_in(partner.name) + digits_in(partner.representative_name)
            documents += [d for d in (partner.document, partner.representative) if len(d) == 11]
        seen += len(documents)
        assert not [d for d in documents if stdnum_cpf.is_valid(d)], company
    assert seen > COUNT / 4


def test_cpfs_in_names_come_in_every_spelling_and_all_of_them_can_be_masked() -> None:
    names = [company.name for company, _ in sample() if digits_in(company.name)]
    spellings = [
        r" [0-9]{11}$",
        r" [0-9]{10}$",
        r" [0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}$",
        r" [0-9]{3} [0-9]{3} [0-9]{3} [0-9]{2}$",
        r" [0-9]{9}-[0-9]{2}$",
    ]
    for spelling in spellings:
        assert any(re.search(spelling, name) for name in names), spelling
    for name in names:
        masked = mask_cpf_in_text(name)
        assert masked is not None
        assert re.search(r" \*\*\*[0-9]{6}\*\*$", masked), name


def test_everybody_is_recognisably_fictitious() -> None:
    for company, establishment in sample():
        assert re.search(r"FICTICI[AO]|DA FICCAO", company.name), company.name
        for partner in company.partners:
            mark = {"1": "FICTICI|FICCAO", "2": "DA FICCAO", "3": "FICTION"}[partner.kind]
            assert re.search(mark, partner.name), partner
        # Numbers that begin with 1 are nobody's, addresses below `example` are delivered to nobody.
        for phone in (*establishment.phones, *filter(None, [establishment.fax])):
            assert re.fullmatch(r"1[0-9]{7}", phone.number)
        if establishment.email:
            assert re.search(r"@(example\.(com|net|org)|.+\.example)$", establishment.email.lower())


def test_place_codes_fit_each_other() -> None:
    for _, establishment in sample():
        place = establishment.address.municipality
        assert places.BY_TOM[place.tom] is place
        if place.uf == "EX":
            assert (place.tom, place.name) == ("9707", "EXTERIOR")
            assert establishment.city_abroad
            assert establishment.country not in ("", "105")
            assert establishment.address.cep == ""
            assert establishment.phones == ()
        else:
            assert establishment.country in ("", "105")
            assert re.fullmatch(r"[0-9]{8}", establishment.address.cep)
            assert establishment.address.cep.startswith(place.cep_prefix)
            assert all(phone.area_code == place.area_code for phone in establishment.phones)


# First two digits of IBGE's codes.
UF_NUMBERS = {
    "RO": "11", "AC": "12", "AM": "13", "RR": "14", "PA": "15", "AP": "16", "TO": "17", "MA": "21",
    "PI": "22", "CE": "23", "RN": "24", "PB": "25", "PE": "26", "AL": "27", "SE": "28", "BA": "29",
    "MG": "31", "ES": "32", "RJ": "33", "SP": "35", "PR": "41", "SC": "42", "RS": "43", "MS": "50",
    "MT": "51", "GO": "52", "DF": "53",
}  # fmt: skip


def test_there_are_all_federal_units_with_their_capitals() -> None:
    by_uf: dict[str, list[str]] = {}
    for place in places.MUNICIPALITIES:
        by_uf.setdefault(place.uf, []).append(place.name)
        if place.uf != "EX":
            assert place.ibge.startswith(UF_NUMBERS[place.uf]), place
            assert re.fullmatch(r"[0-9]{7}", place.ibge)
            assert re.fullmatch(r"[1-9][0-9]", place.area_code)
        assert re.fullmatch(r"[0-9]{4}", place.tom)

    assert set(by_uf) == {*UF_NUMBERS, "EX"}
    assert len({place.tom for place in places.MUNICIPALITIES}) == len(places.MUNICIPALITIES)
    capitals = {"SP": "SAO PAULO", "RO": "PORTO VELHO", "DF": "BRASILIA", "TO": "PALMAS"}
    for uf, capital in capitals.items():
        assert by_uf[uf][0] == capital


def test_codes_are_in_the_tables_or_known_not_to_be() -> None:
    for company, establishment in sample():
        assert company.nature in codes.NATURES
        assert company.responsible in codes.QUALIFICATIONS
        assert company.size in {*SIZE_TEXTS, ""}
        assert establishment.status in STATUS_TEXTS
        assert establishment.reason in {*codes.REASONS, codes.REASON_WITHOUT_DESCRIPTION}
        assert establishment.activity in codes.ACTIVITIES
        assert set(establishment.side_activities) <= set(codes.ACTIVITIES)
        for partner in company.partners:
            assert partner.age_band in AGE_BAND_TEXTS
            assert partner.qualification in {
                *codes.QUALIFICATIONS,
                codes.QUALIFICATION_WITHOUT_DESCRIPTION,
            }
            assert partner.country in {*codes.COUNTRIES, codes.COUNTRY_WITHOUT_DESCRIPTION, ""}


def test_side_activities_do_not_repeat_each_other_or_the_main_one() -> None:
    for _, establishment in sample():
        everything = [establishment.activity, *establishment.side_activities]
        assert len(set(everything)) == len(everything)
        assert len(everything) <= 100


def test_dates_follow_each_other() -> None:
    for company, establishment in sample():
        assert FIRST_DAY <= establishment.opened <= establishment.status_date <= LAST_DAY
        for partner in company.partners:
            assert partner.entered <= LAST_DAY
            assert partner.entered >= establishment.opened or not establishment.head_office
        if (simples := company.simples) is not None:
            assert simples.opted_on is not None
            assert simples.opted == (simples.left_on is None)
            assert simples.mei == (simples.mei_on is not None and simples.mei_left_on is None)
            if simples.left_on is not None:
                assert simples.opted_on < simples.left_on


def test_who_is_closed_has_left_simples_on_that_day() -> None:
    closed = 0
    for company, establishment in sample():
        if establishment.status == "08" and company.simples and establishment.head_office:
            assert not company.simples.opted
            assert not company.simples.mei
            assert company.simples.left_on == establishment.status_date
            closed += 1
    assert closed > COUNT / 4


def test_a_branch_is_not_older_than_its_company_and_does_not_outlive_it() -> None:
    for company, head_office in sample()[:4000]:
        branch = establishment_of(cnpj(company.root, "0042"))
        assert not branch.head_office
        assert branch.opened >= head_office.opened or not head_office.head_office
        if head_office.head_office and head_office.status != "02":
            assert branch.status == head_office.status


def test_a_root_has_one_head_office_and_it_is_not_always_0001() -> None:
    moved = [company.root for company, e in sample() if not e.head_office]

    assert 0 < len(moved) < COUNT / 250
    for root in moved:
        orders = [f"{n:04d}" for n in range(1, 12)]
        heads = [order for order in orders if establishment_of(cnpj(root, order)).head_office]
        assert heads == [root_facts(root).head_office_order]
        assert heads != ["0001"]


def test_partners_that_are_companies_have_their_company_s_name() -> None:
    legal = [p for company, _ in sample() for p in company.partners if p.kind == "1"]

    assert len(legal) > 50
    for partner in legal:
        assert stdnum_cnpj.is_valid(partner.document)
        assert company_of(partner.document[:8]).name == partner.name
        assert establishment_of(partner.document).head_office


def test_people_have_a_home_and_an_age() -> None:
    people = [person_of(f"{n:011d}") for n in range(2000)]

    assert {person.home.uf for person in people} >= {"SP", "MG", "RJ", "PR", "RS", "BA"}
    assert all(person.home.uf != "EX" for person in people)
    assert all(1930 <= person.born.year <= 2006 for person in people)


def test_the_large_companies_are_companies() -> None:
    assert len(company_of(ROOT_OF_1000_PARTNERS).partners) == 1000
    for root in (ROOT_OF_1000_PARTNERS, ROOT_OF_5000_ESTABLISHMENTS):
        assert company_of(root).nature == "2054"
        assert establishment_of(cnpj(root, "0001")).status == "02"


def test_shares_are_those_of_the_registry() -> None:
    """`rfb-open-data.md` section 11, within what a sample of 20 000 allows."""
    companies = [company for company, _ in sample()]
    establishments = [establishment for _, establishment in sample()]
    natures = Counter(company.nature for company in companies)
    statuses = Counter(e.status for e in establishments)
    ufs = Counter(e.address.municipality.uf for e in establishments)
    sizes = Counter(company.size for company in companies)
    capitals = Counter(company.capital_cents for company in companies)
    years = Counter(e.opened.year for e in establishments)

    def near(count: int, per_cent: float) -> bool:
        # Three standard deviations of a share, and half a point for rounding to decks.
        p = per_cent / 100
        return abs(count / COUNT - p) < 3 * math.sqrt(p * (1 - p) / COUNT) + 0.005

    expected: list[tuple[Counter[Any], dict[Any, float]]] = [
        (natures, {"2135": 69, "2062": 24, "4090": 2}),
        (statuses, {"08": 47, "02": 39, "04": 13}),
        (ufs, {"SP": 28.6, "MG": 9.8, "RJ": 7.5}),
        (sizes, {"01": 79, "05": 18, "03": 3}),
        (capitals, {0: 20, 100_000: 16, 500_000: 10}),
        (years, {2025: 8, 2021: 7, 2024: 7}),
    ]
    for counted, shares in expected:
        assert [each for each in shares if not near(counted[each], shares[each])] == []
    assert sum(len(c.partners) for c in companies) / COUNT == pytest.approx(0.405, abs=0.03)
    assert share([c.simples is not None for c in companies]) == pytest.approx(0.72, abs=0.02)
    with_simples = [c.simples for c in companies if c.simples is not None]
    assert share([s.opted for s in with_simples]) == pytest.approx(0.53, abs=0.03)
    assert share([s.mei for s in with_simples]) == pytest.approx(0.37, abs=0.03)


def test_fill_rates_are_those_of_the_registry() -> None:
    """`rfb-open-data.md` section 4.2."""
    es = [establishment for _, establishment in sample()]

    assert share([bool(e.trade_name) for e in es]) == pytest.approx(0.36, abs=0.02)
    assert share([bool(e.phones) for e in es]) == pytest.approx(0.85, abs=0.02)
    assert share([len(e.phones) > 1 for e in es]) == pytest.approx(0.08, abs=0.02)
    assert share([e.fax is not None for e in es]) == pytest.approx(0.12, abs=0.02)
    assert share([bool(e.email) for e in es]) == pytest.approx(0.71, abs=0.02)
    assert share([bool(e.side_activities) for e in es]) == pytest.approx(0.49, abs=0.02)
    assert share([bool(e.address.complement) for e in es]) == pytest.approx(0.41, abs=0.02)
    assert share([";" in e.address.complement for e in es]) == pytest.approx(0.05, abs=0.01)
    assert share([e.address.number in ("S/N", "SN", "S N") for e in es]) == pytest.approx(
        0.10, abs=0.02
    )
    accented = [
        not (e.address.street + e.address.district + e.address.complement).isascii() for e in es
    ]
    assert share(accented) == pytest.approx(0.01, abs=0.005)
    mails = [e.email for e in es if e.email]
    assert share([mail.isupper() for mail in mails]) == pytest.approx(0.77, abs=0.02)


def test_every_text_can_be_written_in_the_encoding_of_the_open_data() -> None:
    for company, establishment in sample():
        repr(company).encode("latin-1")
        repr(establishment).encode("latin-1")
        assert '"' not in company.name
        assert "\n" not in establishment.address.complement
