"""All codes, and their consequences."""

import csv

import pytest

from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.providers.sefaz import status
from tests import official
from tests.sources.sefaz.world import CNPJ, an_answer, ask

OPERATOR_CAN_MEND = ["257", "280", "281", "282", "283", "284", "285"]
UNAVAILABLE = {"108": 60, "109": 600, "286": 30, "999": 30, "262": 3600, "265": 3600, "656": 3600}
OUR_MISTAKE = "214 215 238 239 242 243 299 402 404 409 410 411 516 517 545 587 588"
OUR_DOCUMENT = "258 260 263"  # which we checked
IN_NO_TABLE = "100 110 200 266 000"


def refused(code: str) -> SourceError:
    """Return the error for a code with a text that contains the document."""
    with pytest.raises(SourceError) as caught:
        ask(an_answer(code, reason=f"Rejeicao: {CNPJ}"))
    assert CNPJ not in caught.value.detail
    assert "Rejeicao" not in caught.value.detail
    assert f"cStat {code}" in caught.value.detail or f"({code})" in caught.value.detail
    return caught.value


@pytest.mark.parametrize("code", ["111", "112"])
def test_found(code: str) -> None:
    assert status.has_registrations("sefaz", code)


@pytest.mark.parametrize("code", ["259", "261", "264"])
def test_not_registered_is_an_answer(code: str) -> None:
    assert not status.has_registrations("sefaz", code)
    assert ask(an_answer(code)).inscricoes == ()


@pytest.mark.parametrize("code", OPERATOR_CAN_MEND)
def test_codes_for_the_operator(code: str) -> None:
    error = refused(code)
    assert isinstance(error, SourceUnavailable)
    assert "CONFIGURAÇÃO" in error.detail
    assert error.retry_in_seconds == 600


@pytest.mark.parametrize(("code", "retry_in_seconds"), UNAVAILABLE.items())
def test_another_source_or_another_time(code: str, retry_in_seconds: int) -> None:
    error = refused(code)
    assert isinstance(error, SourceUnavailable)
    assert "CONFIGURAÇÃO" not in error.detail
    assert error.retry_in_seconds == retry_in_seconds


@pytest.mark.parametrize("code", f"{OUR_MISTAKE} {OUR_DOCUMENT} {IN_NO_TABLE}".split())
def test_failures(code: str) -> None:
    assert type(refused(code)) is SourceFailed


@pytest.mark.parametrize("code", ["1111", "11", CNPJ, "١١١"])
def test_invalid_code_is_not_repeated(code: str) -> None:
    with pytest.raises(SourceFailed, match="cStat desconhecido") as caught:
        ask(an_answer(code))
    assert code not in caught.value.detail


def test_no_code_at_all() -> None:
    with pytest.raises(SourceFailed, match="sem cStat"):
        ask(an_answer(""))


# Codes by meaning, from the lists above.
WHOLE_TABLE = {
    **dict.fromkeys(["111", "112"], status.StatusMeaning.FOUND),
    **dict.fromkeys(["259", "261", "264"], status.StatusMeaning.NONE),
    **dict.fromkeys(OPERATOR_CAN_MEND, status.StatusMeaning.REFUSED),
    **dict.fromkeys(["108", "109", "286", "999"], status.StatusMeaning.UNAVAILABLE),
    **dict.fromkeys(["262", "265"], status.StatusMeaning.UNSUPPORTED),
    "656": status.StatusMeaning.THROTTLED,
    **dict.fromkeys(OUR_MISTAKE.split(), status.StatusMeaning.MISTAKE),
    **dict.fromkeys(OUR_DOCUMENT.split(), status.StatusMeaning.ARGUMENT),
}


def test_the_whole_table_is_known() -> None:
    assert WHOLE_TABLE == status.MEANINGS


# The classes of the published table; 265 is unsupported here, since another source may answer.
CLASSES = {
    "found": status.StatusMeaning.FOUND,
    "not_found": status.StatusMeaning.NONE,
    "requester": status.StatusMeaning.REFUSED,
    "unavailable": status.StatusMeaning.UNAVAILABLE,
    "unsupported": status.StatusMeaning.UNSUPPORTED,
    "throttled": status.StatusMeaning.THROTTLED,
    "request": status.StatusMeaning.MISTAKE,
    "argument": status.StatusMeaning.ARGUMENT,
}


def test_the_published_table_has_no_other_codes() -> None:
    with official.needed(official.STATUSES).open(encoding="utf-8", newline="") as file:
        theirs = {row["cstat"]: CLASSES[row["class"]] for row in csv.DictReader(file)}
    assert theirs | {"265": status.StatusMeaning.UNSUPPORTED} == WHOLE_TABLE
