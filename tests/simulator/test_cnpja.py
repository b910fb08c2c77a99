"""CNPJá's commercial API as `cnpja.md`, sections 1, 4 and 5, describes it."""

import pytest

from tests.simulator.world import CNPJA_KEY, get, post


def test_rfb_is_not_nested() -> None:
    office = get("/cnpja/office/90010002000154", headers=CNPJA_KEY).json()
    record = get("/cnpja/rfb", headers=CNPJA_KEY, params={"taxId": "90010002000154"}).json()

    company = office.pop("company")
    del company["id"]
    assert record == office | company
    assert record["name"] == "INDUSTRIA DE MANAUS FICTICIA LTDA"
    assert record["address"]["state"] == "AM"


def test_the_id_of_a_root_with_letters_is_still_an_integer() -> None:
    result = get("/cnpja/office/12ABC34501DE35", headers=CNPJA_KEY).json()

    assert result["taxId"] == "12ABC34501DE35"
    assert isinstance(result["company"]["id"], int)


PATHS = (
    "/cnpja/office/{}",
    "/cnpja/rfb?taxId={}",
    "/cnpja/ccc?states=SP&taxId={}",
    "/cnpja/suframa?taxId={}",
)


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> str:
    result: str = request.param
    return result


@pytest.mark.parametrize("key", [None, "", "invalid", "Bearer some-key"])  # theirs is bare
def test_keys_are_checked_first(path: str, key: str | None) -> None:
    headers = {} if key is None else {"authorization": key}
    for cnpj in ("11222333000182", "90010002000154"):
        reply = get(path.format(cnpj), headers=headers)
        assert reply.status_code == 401
        assert reply.json() == {"code": 401, "message": "invalid authentication"}


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


@pytest.mark.parametrize(
    ("cnpj", "status"),
    [
        ("90010003000107", {"id": 8, "text": "Baixada"}),
        ("90010004000143", {"id": 3, "text": "Suspensa"}),
        ("90010005000198", {"id": 4, "text": "Inapta"}),
        ("90010006000132", {"id": 1, "text": "Nula"}),
    ],
)
def test_inactive_company_has_a_reason(cnpj: str, status: dict[str, object]) -> None:
    result = get(f"/cnpja/office/{cnpj}", headers=CNPJA_KEY).json()

    assert result["status"] == status
    assert set(result["reason"]) == {"id", "text"}
