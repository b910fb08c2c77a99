"""CNPJá's commercial API as `cnpja.md`, sections 1, 4 and 5, describes it."""

import re

import pytest

from tests.simulator.world import CNPJA_KEY, get, post


def test_an_office_with_everything() -> None:
    reply = get("/cnpja/office/90010001000100", headers=CNPJA_KEY)
    said = reply.json()

    assert reply.status_code == 200
    assert said["taxId"] == "90010001000100"
    assert said["updated"] == "2026-08-20T12:30:15.250Z"
    assert said["head"] is True
    assert said["founded"] == "2015-03-02"
    assert said["status"] == {"id": 2, "text": "Ativa"}
    assert "reason" not in said
    assert said["alias"] == "SANDBOX FICTICIO"
    assert said["mainActivity"]["id"] == 6201501
    assert [activity["id"] for activity in said["sideActivities"]] == [6204000, 6209100]
    assert said["address"] == {
        "municipality": 3550308,
        "street": "RUA DAS ACACIAS FICTICIAS",
        "number": "100",
        "district": "CENTRO",
        "city": "SAO PAULO",
        "state": "SP",
        "details": "SALA 2",
        "zip": "04000100",
        "country": {"id": 76, "name": "Brasil"},
    }
    assert said["phones"] == [{"type": "LANDLINE", "area": "11", "number": "10000001"}]
    assert said["emails"] == [
        {"ownership": "CORPORATE", "address": "contato@example.com", "domain": "example.com"}
    ]
    company = said["company"]
    assert company["id"] == 90010001
    assert company["name"] == "EMPRESA ATIVA FICTICIA LTDA"
    assert company["equity"] == 100_000
    assert company["nature"] == {"id": 2062, "text": "Sociedade Empresária Limitada"}
    assert company["size"] == {"id": 5, "acronym": "DEMAIS", "text": "Demais"}
    assert "jurisdiction" not in company


def test_members_are_of_three_types_and_masked() -> None:
    said = get("/cnpja/office/90010001000100", headers=CNPJA_KEY).json()
    natural, legal, foreign = said["company"]["members"]

    assert natural["since"] == "2015-03-02"
    assert natural["role"] == {"id": 49, "text": "Sócio-Administrador"}
    assert natural["person"]["type"] == "NATURAL"
    assert re.fullmatch(r"\*{3}[0-9]{6}\*{2}", natural["person"]["taxId"])
    assert natural["person"]["age"] == "41-50"
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", natural["person"]["id"])
    assert "agent" not in natural
    assert legal["person"]["type"] == "LEGAL"
    assert legal["person"]["taxId"] == "90010007000187"
    assert "age" not in legal["person"]
    assert foreign["person"]["type"] == "FOREIGN"
    assert "taxId" not in foreign["person"]
    assert foreign["person"]["country"] == {"id": 840, "name": "Estados Unidos"}
    assert re.fullmatch(r"\*{3}[0-9]{6}\*{2}", foreign["agent"]["person"]["taxId"])


def test_rfb_says_the_same_without_the_company_in_between() -> None:
    office = get("/cnpja/office/90010002000154", headers=CNPJA_KEY).json()
    record = get("/cnpja/rfb", headers=CNPJA_KEY, params={"taxId": "90010002000154"}).json()

    company = office.pop("company")
    del company["id"]
    assert record == office | company
    assert record["name"] == "INDUSTRIA DE MANAUS FICTICIA LTDA"
    assert record["address"]["state"] == "AM"


@pytest.mark.parametrize(
    ("cnpj", "status"),
    [
        ("90010003000107", {"id": 8, "text": "Baixada"}),
        ("90010004000143", {"id": 3, "text": "Suspensa"}),
        ("90010005000198", {"id": 4, "text": "Inapta"}),
        ("90010006000132", {"id": 1, "text": "Nula"}),
    ],
)
def test_who_is_not_active_has_a_reason(cnpj: str, status: dict[str, object]) -> None:
    said = get(f"/cnpja/office/{cnpj}", headers=CNPJA_KEY).json()

    assert said["status"] == status
    assert set(said["reason"]) == {"id", "text"}


def test_the_id_of_a_root_with_letters_is_still_an_integer() -> None:
    said = get("/cnpja/office/12ABC34501DE35", headers=CNPJA_KEY).json()

    assert said["taxId"] == "12ABC34501DE35"
    assert isinstance(said["company"]["id"], int)


PATHS = (
    "/cnpja/office/{}",
    "/cnpja/rfb?taxId={}",
    "/cnpja/ccc?states=SP&taxId={}",
    "/cnpja/suframa?taxId={}",
)


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> str:
    said: str = request.param
    return said


@pytest.mark.parametrize("key", [None, "", "invalid", "Bearer some-key"])  # theirs is bare
def test_keys_are_checked_first(path: str, key: str | None) -> None:
    headers = {} if key is None else {"authorization": key}
    for cnpj in ("11222333000182", "90010002000154"):
        reply = get(path.format(cnpj), headers=headers)
        assert reply.status_code == 401
        assert reply.json() == {"code": 401, "message": "invalid authentication"}


def test_absence(path: str) -> None:
    reply = get(path.format("99999999000191"), headers=CNPJA_KEY)

    assert reply.status_code == 404
    assert reply.json() == {"code": 404, "message": "tax id not registered at revenue service"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("strategy", "SOMETIMES"), ("maxAge", "0"), ("maxAge", "3651"), ("maxStale", "x")],
)
def test_parameters_are_checked(path: str, name: str, value: str) -> None:
    known = path.format("90010002000154")
    reply = get(f"{known}{'&' if '?' in known else '?'}{name}={value}", headers=CNPJA_KEY)

    assert reply.status_code == 400
    assert reply.json()["message"] == "request validation failed"
    assert len(reply.json()["constraints"]) == 1


def test_nothing_is_in_their_cache(path: str) -> None:
    known = path.format("90010002000154")
    asked = f"{known}{'&' if '?' in known else '?'}strategy=CACHE"

    assert get(asked, headers=CNPJA_KEY).status_code == 404


def test_refusals_of_the_account(path: str) -> None:
    known = path.format("90010002000154")
    poor = get(known, headers={"authorization": "without-credits"})
    fast = get(known, headers={"authorization": "rate-limited"})

    assert poor.status_code == fast.status_code == 429
    assert poor.json() == {
        "code": 429,
        "message": "not enough credits",
        "required": 1,
        "remaining": 0,
    }
    assert fast.json() == {"code": 429, "message": "rate limit exceeded"}


def test_a_wrong_document_is_a_constraint() -> None:
    reply = get("/cnpja/rfb", headers=CNPJA_KEY, params={"taxId": "11222333000182"})

    assert reply.status_code == 400
    assert reply.json()["constraints"] == ["taxId must be a valid CNPJ"]


def test_documented_parameters_pass() -> None:
    params = {"strategy": "CACHE_IF_FRESH", "maxAge": "1", "sync": "true"}
    reply = get("/cnpja/office/90010001000100", headers=CNPJA_KEY, params=params)

    assert reply.status_code == 200
    assert reply.headers["cnpja-request-cost"] == "1"
    assert reply.headers["x-credit-required"] == "1"
    assert "x-trace-id" in reply.headers


def test_credits_can_be_asked_for() -> None:
    reply = get("/cnpja/credit", headers=CNPJA_KEY)

    assert reply.json() == {"perpetual": 1_000_000, "transient": 0}


def test_other_addresses_and_methods_are_not_theirs() -> None:
    assert get("/cnpja/nothing", headers=CNPJA_KEY).status_code == 404
    assert post("/cnpja/office/90010001000100", headers=CNPJA_KEY).status_code == 405
