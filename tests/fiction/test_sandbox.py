"""The promised documents, row by row, as `docs/sandbox.md` has them."""

from datetime import date

import pytest
from stdnum.br import cnpj as stdnum_cnpj
from stdnum.br import cpf as stdnum_cpf

from balcao.core.personal import mask_cpf_in_text
from balcao.fiction import EXISTING_COMPANIES, company_of, establishment_of, exists, person_of
from balcao.fiction.sandbox import ABSENT_COMPANIES, MISBEHAVING_COMPANIES, MISBEHAVING_PEOPLE
from balcao.fiction.sandbox.promises import Misbehaviour

# CNPJ, status of the registry (contract 8 and the layout's code), head office, UF
ROWS = [
    ("90010001000100", "02", True, "SP"),
    ("90010002000154", "02", True, "AM"),
    ("90010003000107", "08", True, "SP"),
    ("90010004000143", "03", True, "SP"),
    ("90010005000198", "04", True, "SP"),
    ("90010006000132", "01", True, "SP"),
    ("90010007000187", "02", True, "SP"),
    ("90010007000268", "02", False, "SP"),
    ("90010008000121", "02", True, "SP"),
    ("90010009000176", "02", True, "SP"),
    ("90010010000109", "02", True, "SP"),
    ("90010011000145", "02", True, "SP"),
    ("90010012000190", "02", True, "SP"),
    ("12ABC34501DE35", "02", True, "SP"),
    ("00000000E08G12", "02", False, "SP"),
    ("90030001000171", "04", True, "SP"),
    ("90030002000116", "02", True, "SP"),
    ("90030003000160", "02", True, "SP"),
    ("90030004000105", "02", True, "SP"),
    ("90030005000150", "02", True, "SP"),
    ("90030006000102", "02", True, "SP"),
    ("90030006000285", "08", False, "SP"),
    ("90030006000366", "02", False, "SP"),
    ("90030007000149", "02", True, "SP"),
    ("90030008000193", "02", True, "SP"),
    ("90030010000162", "02", True, "SP"),
    ("90030011000107", "02", True, "SP"),
    ("90030012000151", "02", True, "SP"),
    ("90030013000104", "02", True, "SP"),
    ("90030014000140", "02", True, "SP"),
    ("90030015000195", "02", True, "SP"),
]

MISBEHAVING = [
    ("90020001000190", Misbehaviour.MAINTENANCE),
    ("90020002000135", Misbehaviour.NEVER),
    ("90020003000180", Misbehaviour.ERROR),
    ("90020004000124", Misbehaviour.HTML),
    ("90020005000179", Misbehaviour.ANOTHER),
    ("90020006000113", Misbehaviour.SLOW),
    ("90020007000168", Misbehaviour.ONCE),
    ("90020008000102", Misbehaviour.SOME_UFS),
    ("90020009000157", Misbehaviour.INCOMPLETE),
    ("90020010000181", Misbehaviour.CUT),
]

PEOPLE = [
    "90010000100",
    "90010000291",
    "90010000372",
    "90010000453",
    "90020000146",
    "90020000227",
    "90020000308",
    "90030000181",
]


@pytest.mark.parametrize(("cnpj", "status", "head_office", "uf"), ROWS)
def test_registry_row(cnpj: str, status: str, head_office: bool, uf: str) -> None:
    establishment = establishment_of(cnpj)

    assert stdnum_cnpj.is_valid(cnpj)
    assert exists(cnpj)
    assert establishment.cnpj == cnpj
    assert establishment.status == status
    assert establishment.head_office is head_office
    assert establishment.address.municipality.uf == uf


def test_all_existing_rows_are_offered_to_the_snapshot_and_no_other() -> None:
    assert sorted(EXISTING_COMPANIES) == sorted(cnpj for cnpj, *_ in ROWS)


def test_90010001000100_has_everything() -> None:
    establishment = establishment_of("90010001000100")
    company = company_of("90010001")

    assert company.size == "05"  # DEMAIS
    assert company.capital_cents > 0
    assert len(establishment.side_activities) == 2
    assert [partner.kind for partner in company.partners] == ["2", "1", "3"]
    natural, legal, foreign = company.partners
    assert len(natural.document) == 11
    assert stdnum_cnpj.is_valid(legal.document)
    assert company_of(legal.document[:8]).name == legal.name
    assert foreign.document == ""
    assert foreign.country == "249"


def test_90010002000154_is_in_manaus() -> None:
    place = establishment_of("90010002000154").address.municipality

    assert (place.name, place.tom, place.ibge) == ("MANAUS", "0255", "1302603")


def test_90010006000132_has_neither_partners_nor_trade_name_nor_number() -> None:
    establishment = establishment_of("90010006000132")

    assert company_of("90010006").partners == ()
    assert establishment.trade_name == ""
    assert establishment.address.number == ""


def test_90010012000190_is_a_mei_whose_name_ends_in_a_cpf() -> None:
    company = company_of("90010012")

    assert company.nature == "2135"
    assert company.simples is not None
    assert company.simples.mei
    assert company.name[-11:].isdigit()
    assert mask_cpf_in_text(company.name) == company.name[:-11] + f"***{company.name[-8:-2]}**"


def test_companies_that_do_not_exist() -> None:
    assert frozenset({"99999999000191", "90030009000138"}) == ABSENT_COMPANIES
    for cnpj in ABSENT_COMPANIES:
        assert stdnum_cnpj.is_valid(cnpj)
        assert not exists(cnpj)


def test_the_misbehaving_companies() -> None:
    assert list(MISBEHAVING_COMPANIES.items()) == MISBEHAVING
    for cnpj, _ in MISBEHAVING:
        assert stdnum_cnpj.is_valid(cnpj)
        assert establishment_of(cnpj).status == "02"
        assert establishment_of(cnpj).address.municipality.uf == "SP"
        assert cnpj not in EXISTING_COMPANIES


@pytest.mark.parametrize("cpf", PEOPLE)
def test_people_are_born_on_the_promised_day(cpf: str) -> None:
    person = person_of(cpf)

    assert stdnum_cpf.is_valid(cpf)
    assert person.cpf == cpf
    assert person.born == date(1980, 1, 1)
    assert "DA FICCAO" in person.name


def test_the_misbehaving_people() -> None:
    assert dict(MISBEHAVING_PEOPLE) == {
        "90020000146": Misbehaviour.MAINTENANCE,
        "90020000227": Misbehaviour.NEVER,
        "90020000308": Misbehaviour.ERROR,
    }
