"""The verdict of a certificate, and until when it may be served (contract 4.6, 4.7; "Cache")."""

from datetime import date
from typing import Any

import pytest

from balcao.core import certificate_words
from balcao.core.calendar import day_starts_ms
from balcao.core.certificates import (
    FederalCertificate,
    StateCertificate,
    may_serve,
    state_may_serve,
    state_valid_until,
    valid_until,
)

CNPJ = "90010001000100"
HOUR_MS = 3_600_000
TITLE = "DE DÉBITOS RELATIVOS AOS TRIBUTOS FEDERAIS E À DÍVIDA ATIVA DA UNIÃO"
POSITIVE = f"CERTIDÃO POSITIVA {TITLE}"
NEGATIVE = f"CERTIDÃO NEGATIVA {TITLE}"
WITH_EFFECTS = f"CERTIDÃO POSITIVA COM EFEITOS DE NEGATIVA {TITLE}"


def at(day: str, hour: float = 12) -> int:
    """An hour of a civil day in Brasília."""
    return day_starts_ms(date.fromisoformat(day)) + round(hour * HOUR_MS)


ASKED = at("2026-08-05")


def federal(**fields: Any) -> FederalCertificate:
    known: dict[str, Any] = {"kind": "CND", "code": "A1B2", "validity": "2026-12-17"}
    return FederalCertificate(CNPJ, **(known | fields))


def state(**fields: Any) -> StateCertificate:
    known: dict[str, Any] = {"negative": True, "issued": True, "validity": "2026-10-04"}
    return StateCertificate(CNPJ, "SP", **(known | fields))


@pytest.mark.parametrize(
    ("kind_text", "title", "kind"),
    [
        ("Negativa", NEGATIVE, "CND"),
        ("Positiva com efeitos de negativa", WITH_EFFECTS, "CPEND"),
        ("Positiva", POSITIVE, "CPD"),
        (None, NEGATIVE, "CND"),
        (None, WITH_EFFECTS, "CPEND"),
        (None, POSITIVE, "CPD"),
        ("", WITH_EFFECTS, "CPEND"),
        # The type text comes before the title.
        ("Positiva", NEGATIVE, "CPD"),
        ("Positiva com efeitos de negativa", NEGATIVE, "CPEND"),
        # Case, accents, spaces and hyphens are the source's own affair.
        ("NEGATIVA", None, "CND"),
        ("positiva  com\nefeitos de\u00a0negativa", None, "CPEND"),
        ("Positiva-com-efeitos-de-negativa", None, "CPEND"),
        ("Positiva com efeito de negativa", None, "CPEND"),
        ("POSITIVA COM EFEITOS DE NEGATIVA", None, "CPEND"),
        # Nothing that names a type.
        (None, None, None),
        ("", "", None),
        ("Outra", "CERTIDÃO DE SITUAÇÃO DIVERSA", None),
    ],
)
def test_the_type_is_read_off_the_text(
    kind_text: str | None, title: str | None, kind: str | None
) -> None:
    """The type text counts before the title, and "with effects" before the rest."""
    assert certificate_words.kind(kind_text, title) == kind


@pytest.mark.parametrize(("kind", "good"), [("CND", True), ("CPEND", True), ("CPD", False)])
@pytest.mark.parametrize("issued", [True, False])
def test_good_is_the_type_and_never_the_flag(kind: Any, good: bool, issued: bool) -> None:
    """The issuance flag does not affect the type."""
    assert federal(kind=kind, issued=issued).good is good
    assert federal(kind=None, issued=issued).good is False


@pytest.mark.parametrize(
    ("validity", "extended", "effective"),
    [
        ("2026-12-17", None, "2026-12-17"),
        ("2026-12-17", "2027-01-16", "2027-01-16"),
        ("2026-12-17", "2026-11-01", "2026-12-17"),
        ("2026-12-17", "2026-12-17", "2026-12-17"),
        (None, None, None),
    ],
)
def test_the_effective_validity_is_the_later_one(
    validity: str | None, extended: str | None, effective: str | None
) -> None:
    """The later of validity and extension (contract 4.6)."""
    assert federal(validity=validity, extended_validity=extended).effective_validity == effective


@pytest.mark.parametrize(
    ("fields", "until"),
    [
        ({}, "2026-12-16"),
        ({"kind": "CPEND"}, "2026-12-16"),
        ({"extended_validity": "2027-01-01"}, "2026-12-31"),
        ({"validity": "2026-08-01", "extended_validity": "2026-09-01"}, "2026-08-31"),
        ({"validity": "2028-03-01"}, "2028-02-29"),
        ({"validity": "2027-03-01"}, "2027-02-28"),
        ({"validity": "2026-08-06"}, "2026-08-05"),
        ({"validity": "2026-08-05"}, None),
        ({"validity": "2026-08-04"}, None),
        ({"code": None}, None),
        ({"validity": None}, None),
        ({"validity": None, "extended_validity": "2027-01-01"}, None),
        ({"kind": "CPD"}, "2026-08-05"),
        ({"kind": "CPD", "code": None, "validity": None}, "2026-08-05"),
        ({"kind": None, "code": None, "validity": None}, "2026-08-05"),
        ({"kind": None, "kind_text": "Outra"}, "2026-08-05"),
    ],
)
def test_the_last_day_of_a_federal_entry(fields: dict[str, Any], until: str | None) -> None:
    """The day before the effective validity; today for what is no CND or CPEND; else none."""
    assert valid_until(federal(**fields), ASKED) == until


@pytest.mark.parametrize(
    ("day", "hour", "served"),
    [
        ("2026-08-05", 12, True),
        ("2026-12-16", 0, True),
        ("2026-12-16", 21, True),  # the next day in UTC
        ("2026-12-16", 23.9999, True),
        ("2026-12-17", 0, False),
        ("2026-12-17", 12, False),
        ("2027-01-01", 0, False),
    ],
)
def test_a_certificate_is_served_until_the_end_of_the_day_before(
    day: str, hour: float, served: bool
) -> None:
    """Brazilian civil days: never on the validity date itself."""
    assert may_serve(federal(), ASKED, at(day, hour)) is served
    assert state_may_serve(state(validity="2026-12-17"), ASKED, at(day, hour)) is served


@pytest.mark.parametrize(
    ("asked_hour", "after_ms", "served"),
    [
        (12, 0, True),
        (12, HOUR_MS - 1, True),
        (12, HOUR_MS, False),
        (12, 24 * HOUR_MS, False),
        (23.5, HOUR_MS // 2 - 1, True),
        (23.5, HOUR_MS // 2, False),  # midnight
        (20.5, HOUR_MS - 1, True),  # midnight in UTC is none
        (12, -60_000, True),  # another machine's clock
        (12, -60_001, False),  # one that was wrong
    ],
)
@pytest.mark.parametrize("kind", ["CPD", None])
def test_a_negative_is_served_for_an_hour_of_its_day(
    kind: Any, asked_hour: float, after_ms: int, served: bool
) -> None:
    """60 minutes, and not after midnight (contract 4.6)."""
    asked = at("2026-08-05", asked_hour)
    assert may_serve(federal(kind=kind), asked, asked + after_ms) is served


@pytest.mark.parametrize(
    ("fields", "until"),
    [
        ({}, "2026-10-03"),
        ({"code": None, "number": None}, "2026-10-03"),
        ({"validity": "2026-08-06"}, "2026-08-05"),
        ({"validity": "2026-08-05"}, None),
        ({"validity": None}, None),
        ({"issued": False, "negative": False}, None),
        ({"issued": True, "negative": False}, None),
        ({"issued": False, "negative": None}, None),
        ({"issued": None, "negative": None}, None),
    ],
)
def test_the_last_day_of_a_state_entry(fields: dict[str, Any], until: str | None) -> None:
    """Only a positive result with a validity date is kept (contract 4.7)."""
    assert state_valid_until(state(**fields), ASKED) == until
    assert state_may_serve(state(**fields), ASKED, ASKED) is (until is not None)


@pytest.mark.parametrize("day", ["0001-01-01", "0001-01-02", "9999-12-31"])
def test_the_ends_of_the_calendar_are_no_accident(day: str) -> None:
    """A nonsense date of a source breaks nothing, and the first ones are long over."""
    assert may_serve(federal(validity=day), ASKED, ASKED) is (day == "9999-12-31")
    assert state_may_serve(state(validity=day), ASKED, ASKED) is (day == "9999-12-31")


@pytest.mark.parametrize(
    ("reasons", "reason"),
    [
        ("Existem pendências. Procure o sistema e-CAC", "TAXPAYER"),
        ("Constam débitos em aberto; o pagamento é processado em 2 dias.", "TAXPAYER"),
        ("Foram identificadas pendências. Acesse o Sistema de Parcelamento.", "TAXPAYER"),
        ("As informações disponíveis no sistema são insuficientes.", "TAXPAYER"),
        ("Erro ao verificar os débitos do contribuinte", "TROUBLE"),
        ("Não foi possível emitir a certidão: erro no sistema", "TROUBLE"),
        ("Não existem débitos; erro ao gerar o arquivo", "TROUBLE"),
        ("Contribuinte irregular", "TAXPAYER"),
    ],
)
def test_debts_that_are_named_are_no_outage(reasons: str, reason: str) -> None:
    assert certificate_words.reason_of(reasons).name == reason
