"""Federal certificates: the promised rows, and drawn ones."""

import re
from collections import Counter
from datetime import date, timedelta

import pytest
from stdnum.br import cpf as stdnum_cpf

from balcao.fiction import company_of, establishment_of, federal_certificate_of, person_of
from balcao.fiction.digits import cnpj
from balcao.fiction.records import FederalFiction, FederalKind, ReceiptKind
from balcao.fiction.sandbox import MISBEHAVING_COMPANIES, MISBEHAVING_PEOPLE
from balcao.fiction.sandbox.certificates import CLASSES, UNTYPED

CND, CPEND, CPD = FederalKind.CND, FederalKind.CPEND, FederalKind.CPD
IMPOSSIBLE, UNCLASSIFIED = FederalKind.IMPOSSIBLE, FederalKind.UNCLASSIFIED

# A leap day, the ends of years, and a day like any other.
TODAYS = [date(2024, 2, 29), date(2025, 12, 31), date(2026, 1, 1), date(2026, 8, 20)]

CODE = re.compile(r"([0-9A-F]{4}\.){3}[0-9A-F]{4}")

# Of branches.
HEAD_OFFICES = {"90010007000268": "90010007000187", "00000000E08G12": "00000000000191"}

# Document, kind, RFB debts, PGFN debts, receipt
FEDERAL = [
    ("90010001000100", CND, False, False, "pdf"),
    ("90010002000154", CPEND, True, False, "pdf"),
    ("90010003000107", CPD, True, True, "pdf"),
    ("90010004000143", IMPOSSIBLE, None, None, "html"),
    ("90010005000198", UNCLASSIFIED, None, None, "pdf"),
    ("90010006000132", CND, False, False, "pdf"),
    ("90010007000187", CND, False, False, "pdf"),
    ("90010007000268", CND, False, False, "pdf"),
    ("90010008000121", CND, False, False, "pdf"),
    ("90010009000176", CND, False, False, "pdf"),
    ("90010010000109", CND, False, False, "pdf"),
    ("90010011000145", CND, False, False, "html"),
    ("90010012000190", CND, False, False, "pdf"),
    ("12ABC34501DE35", CND, False, False, "pdf"),
    ("00000000E08G12", CND, False, False, "pdf"),
    ("99999999000191", IMPOSSIBLE, None, None, "html"),
    ("90010000100", CND, False, False, "pdf"),
    ("90010000291", CPEND, True, True, "pdf"),
    ("90010000372", CPD, True, False, "pdf"),
    ("90010000453", IMPOSSIBLE, None, None, "html"),
    *((document, CND, False, False, "pdf") for document in MISBEHAVING_COMPANIES),
    *((document, CND, False, False, "pdf") for document in MISBEHAVING_PEOPLE),
]


def federal(document: str, today: date = TODAYS[-1]) -> FederalFiction:
    return federal_certificate_of(document, today)


def in_days(day: date | None, today: date) -> int:
    assert day is not None
    return (day - today).days


@pytest.mark.parametrize("today", TODAYS, ids=str)
@pytest.mark.parametrize("row", FEDERAL, ids=lambda row: row[0])
def test_federal_row(
    row: tuple[str, FederalKind, bool | None, bool | None, str], today: date
) -> None:
    document, kind, rfb, pgfn, receipt = row
    found = federal(document, today)

    assert found.kind is kind
    assert (found.rfb_debts, found.pgfn_debts) == (rfb, pgfn)
    assert found.receipt.value == receipt
    assert found == federal(document, today)
    assert found.document == HEAD_OFFICES.get(document, document)
    if kind in (CND, CPEND):
        assert found.issued_on is not None
        assert found.issued_on <= today
        assert found.validity == found.issued_on + timedelta(180)
        assert found.validity >= today
    if kind is not IMPOSSIBLE and document != "90010006000132":
        assert CODE.fullmatch(found.code)


def test_titles() -> None:
    subject = "DE DÉBITOS RELATIVOS AOS TRIBUTOS FEDERAIS E À DÍVIDA ATIVA DA UNIÃO"

    assert federal("90010001000100").title == f"CERTIDÃO NEGATIVA {subject}"
    assert federal("90010002000154").title == f"CERTIDÃO POSITIVA COM EFEITOS DE NEGATIVA {subject}"
    assert federal("90010003000107").title == f"CERTIDÃO POSITIVA {subject}"
    assert federal("90010004000143").title == ""
    unclassified = federal("90010005000198").title
    assert unclassified
    assert not re.search("negativa|positiva", unclassified, re.IGNORECASE)


def test_names() -> None:
    assert federal("90010001000100").name == "EMPRESA ATIVA FICTICIA LTDA"
    assert federal("90010000291").name == "PRODUTOR DA FICCAO MINEIRO"
    assert federal("11222333000181").name == company_of("11222333").name


def test_without_a_code() -> None:
    found = federal("90010006000132")

    assert found.code == ""
    assert found.validity is not None
    assert federal_certificate_of("90010006000132", TODAYS[0], new=True).code == ""


@pytest.mark.parametrize("today", TODAYS, ids=str)
def test_promised_validities(today: date) -> None:
    extended = federal("90010008000121", today)
    assert in_days(extended.validity, today) == 10
    assert in_days(extended.extended_validity, today) == 40
    assert in_days(federal("90010009000176", today).validity, today) == 1
    assert in_days(federal("90010010000109", today).validity, today) == 0
    for document in ("90010001000100", "90010009000176", "90010002000154"):
        assert federal(document, today).extended_validity is None


def test_a_branch_has_the_certificate_of_its_head_office() -> None:
    assert federal("90010007000268") == federal("90010007000187")
    assert federal("90010007000268").document == "90010007000187"
    drawn = cnpj("11222333", "0002")
    assert not establishment_of(drawn).head_office
    assert federal(drawn) == federal("11222333000181")


def test_impossible_is_nothing_but_a_reason() -> None:
    found = federal("90010004000143")

    assert (found.code, found.issued_on, found.validity) == ("", None, None)


def test_a_cpd_is_of_the_day_and_never_valid() -> None:
    found = federal("90010003000107")

    assert found.issued_on == TODAYS[-1]
    assert found.validity is None


@pytest.mark.parametrize("document", ["90010001000100", "90010000291", "11222333000181"])
def test_one_certificate_after_the_other_and_each_the_same_while_in_force(document: str) -> None:
    days = [date(2026, 1, 1) + timedelta(n) for n in range(400)]
    found = [federal(document, day) for day in days]

    assert all(each.validity is not None for each in found)
    left = [in_days(each.validity, day) for each, day in zip(found, days, strict=True)]
    assert (min(left), max(left)) == (1, 180)
    for earlier, later, day in zip(found[:-1], found[1:], days[1:], strict=True):
        if later != earlier:
            assert later.issued_on == day
            assert later.code != earlier.code
            assert in_days(earlier.validity, day) == 0
    assert len({each.code for each in found}) in (3, 4)
    assert len({(each.code, each.issued_on) for each in found}) in (3, 4)


@pytest.mark.parametrize("document", ["90010001000100", "90010008000121", "90010000100"])
def test_a_new_one_is_of_today(document: str) -> None:
    today = TODAYS[-1]
    old, new = federal(document), federal_certificate_of(document, today, new=True)

    assert new.issued_on == today
    assert new.validity == today + timedelta(180)
    assert new.extended_validity is None
    assert new.code != old.code
    assert CODE.fullmatch(new.code)
    assert new == federal_certificate_of(document, today, new=True)
    assert new.code != federal_certificate_of(document, today + timedelta(1), new=True).code


def test_classes_are_companies_with_a_cnd() -> None:
    for prefix in CLASSES:
        for n in range(1, 40):
            document = cnpj(f"{prefix}{n:04d}", "0001")
            found = federal(document)
            assert found.kind is CND
            assert found.receipt is ReceiptKind.PDF
            assert (found.rfb_debts is None) is (prefix == UNTYPED)


def test_a_person_is_of_no_class() -> None:
    kinds = {
        federal(f"{int(prefix) * 10**7 + n:011d}").kind for prefix in CLASSES for n in range(50)
    }

    assert CPEND in kinds


def test_shares_of_the_drawn() -> None:
    roots = [f"{n * 7919 % 90_000_000:08d}" for n in range(1, 4001)]
    documents = [cnpj(root, "0001") for root in roots]
    by_activity: dict[bool, Counter[FederalKind]] = {True: Counter(), False: Counter()}
    for document in documents:
        found = federal(document)
        by_activity[establishment_of(found.document).status == "02"][found.kind] += 1

    alive, ended = by_activity[True], by_activity[False]
    assert alive[CND] / alive.total() > 0.75
    assert 0.06 < alive[CPEND] / alive.total() < 0.15
    assert 0.01 < alive[CPD] / alive.total() < 0.07
    assert 0.01 < alive[IMPOSSIBLE] / alive.total() < 0.07
    assert (ended[CPD] + ended[IMPOSSIBLE]) / ended.total() > 0.35


def test_debts_agree_with_the_kind() -> None:
    for n in range(3000):
        found = federal(cnpj(f"{n * 7919 % 90_000_000:08d}", "0001"))
        debts = (found.rfb_debts, found.pgfn_debts)
        if found.kind is CND:
            assert debts in ((False, False), (None, None))
        elif found.kind in (CPEND, CPD):
            assert any(debts)
        else:
            assert debts == (None, None)


def test_people_are_drawn_too() -> None:
    kinds = Counter[FederalKind]()
    for n in range(1, 1500):
        base = f"{n * 7919:09d}"
        cpf = base + str(stdnum_cpf._calc_check_digits(base))
        found = federal(cpf)
        assert found.document == cpf
        assert found.name == person_of(cpf).name
        kinds[found.kind] += 1

    assert kinds[CND] > 1100
    assert set(kinds) == set(FederalKind)


def test_written_down() -> None:
    """The values never change, as in `test_determinism.py`."""
    today = date(2026, 8, 20)
    found = federal_certificate_of("11222333000181", today)
    assert (found.code, found.issued_on) == ("5D18.182B.DE1E.00E1", date(2026, 8, 6))
    assert federal_certificate_of("90010001000100", today).code == "BCF6.24B5.98D7.4E50"
