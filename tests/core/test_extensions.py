"""Acts that extend certificates: which day they come to (contract 4.12)."""

from dataclasses import replace

import pytest

from balcao.core.extensions import Extended, Extension, extended, problem_of

BY_DAYS = Extension(
    "federal_certificate", None, "2019-09-26", "2020-03-24", None, 90, "Portaria 555/2020"
)
BY_DAY = Extension(
    "state_certificate", "SP", "2026-05-01", "2026-05-31", "2026-12-31", None, "Decreto 1"
)
LATER = replace(BY_DAY, until_day="2027-01-31", act="Decreto 2")


@pytest.mark.parametrize(
    ("uf", "issued_on", "validity", "found"),
    [
        (None, "2020-01-10", "2020-07-08", Extended("2020-10-06", "Portaria 555/2020")),
        (None, "2019-09-26", "2020-03-24", Extended("2020-06-22", "Portaria 555/2020")),
        (None, "2020-03-24T10:00:00-03:00", "2020-09-20", Extended("2020-12-19", BY_DAYS.act)),
        (None, "2019-09-25", "2020-03-23", None),
        (None, "2020-03-25", "2020-09-21", None),
        ("SP", "2026-05-01 08:00:00", "2026-11-01", Extended("2027-01-31", "Decreto 2")),
        ("SP", "2026-05-31", "2027-01-30", Extended("2027-01-31", "Decreto 2")),
        ("SP", "2026-05-31", "2027-01-31", None),
        ("RJ", "2026-05-10", "2026-11-01", None),
        ("SP", None, "2026-11-01", None),
        ("SP", "2026-05-10", None, None),
        ("SP", "2026-05-10", "", None),
    ],
)
def test_the_latest_day_that_an_act_gives(
    uf: str | None, issued_on: str | None, validity: str | None, found: Extended | None
) -> None:
    subject = "state_certificate" if uf else "federal_certificate"
    acts = [BY_DAY, LATER, BY_DAYS]
    assert extended(acts, subject, uf, issued_on, validity) == found
    assert extended(acts[::-1], subject, uf, issued_on, validity) == found
    assert extended(acts, "another", uf, issued_on, validity) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, None),
        ({"issued_to": "2019-09-26"}, None),
        ({"issued_to": "2019-09-25"}, "antes do começo"),
        ({"days": None}, "não os dois"),
        ({"until_day": "2020-12-31"}, "não os dois"),
        ({"days": 0}, "de 1 a 3650"),
        ({"days": 3651}, "de 1 a 3650"),
        ({"days": None, "until_day": "2019-09-25"}, "antes do período"),
        ({"act": " "}, "de 1 a 200"),
        ({"act": "a\nb"}, "de 1 a 200"),
        ({"act": "a" * 201}, "de 1 a 200"),
    ],
)
def test_what_is_wrong_with_an_act(changes: dict[str, object], said: str | None) -> None:
    problem = problem_of(replace(BY_DAYS, **changes))  # type: ignore[arg-type]
    assert problem is None if said is None else said in (problem or "")
