"""Receipts of certificates: fetched at the address in `print`, and access to them.

Specification, "Receipt download"; contract 7.3. A `Storage` is a live account's network with
strange contents at the address of a receipt.
"""

import logging
import re
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx2
import pikepdf
import pytest
import structlog
from pydantic import SecretStr
from structlog.testing import capture_logs

from balcao.home import Home
from balcao.http import receipts
from balcao.providers.infosimples.settings import InfosimplesSettings
from balcao.service.clock import system_now_ms
from balcao.storage import blobs
from balcao.storage.blobs import open_blobs
from tests.providers import PROVIDERS, SERPRO, Wire
from tests.records import FEDERAL, STATE, federal_of, state_of
from tests.service import CREDITS, DEFAULT, By, Client, Reply, Service, assert_refused, open_service
from tests.test_receipt_keeping import purge

CNPJ = "90010001000100"  # PDF
HTML_CNPJ = "90010011000145"  # HTML of the federal certificate; HTML only in SP
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


@pytest.fixture(scope="module")
def sandbox(house: Service) -> Service:
    return house


@pytest.fixture(scope="module")
def other(sandbox: Service) -> Client:
    """Another account."""
    return sandbox.account("bia")


def number_of(address: str) -> str:
    """Return the receipt_id at the end of an address of one of the two shapes."""
    found = re.fullmatch(rf"(?:{FEDERAL}|{STATE})/print/({UUID})", address)
    assert found, address
    return found[1]


def printed(house: Service, path: str, by: By = DEFAULT) -> str:
    """Return the value of `print` of a lookup."""
    answer = house.get(path, by)
    assert answer.status in (200, 404), answer.json
    address = answer.json["print"]
    assert isinstance(address, str)
    assert number_of(address) != answer.json["request_id"]
    return address


def assert_a_pdf(answer: Reply) -> None:
    """Check that it is a valid PDF, with the headers of every receipt."""
    assert answer.status == 200
    assert answer.raw.startswith(b"%PDF")
    with pikepdf.open(BytesIO(answer.raw)) as document:
        assert len(document.pages) >= 1
    assert answer.headers["content-type"] == "application/pdf"
    assert ".pdf" in answer.headers["content-disposition"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-length"] == str(len(answer.raw))
    assert "content-encoding" not in answer.headers
    assert re.fullmatch(UUID, answer.headers["x-request-id"])


def assert_no_receipt(answer: Reply) -> None:
    assert_refused_here(answer, 404, "COMPROVANTE_NAO_ENCONTRADO")


def assert_refused_here(answer: Reply, status: int, code: str) -> None:
    assert_refused(answer, status, code)
    assert answer.headers["access-control-allow-origin"] == "*"


# The files themselves


@pytest.mark.parametrize("cnpj", [CNPJ, "90010002000154", "90010003000107", "12ABC34501DE35"])
def test_a_federal_receipt_as_pdf(sandbox: Service, cnpj: str) -> None:
    """For any certified subject, the account that asked downloads a PDF, for free."""
    address, before = printed(sandbox, federal_of(cnpj)), sandbox.money()
    answer = sandbox.get(address)
    assert_a_pdf(answer)
    assert "public" not in answer.headers["cache-control"]
    assert answer.headers["access-control-allow-origin"] == "*"
    assert sandbox.money() == before


@pytest.mark.parametrize("document", [HTML_CNPJ, "90010004000143"])
def test_a_federal_receipt_as_html(sandbox: Service, document: str) -> None:
    """HTML is sent as a file, in a sandbox without any rights."""
    answer = sandbox.get(printed(sandbox, federal_of(document)))
    assert answer.status == 200
    assert answer.headers["content-type"].split(";")[0] == "text/html"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert ".html" in answer.headers["content-disposition"]
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.body.lower().startswith(b"<!doctype html")


def test_a_persons_receipt(sandbox: Service) -> None:
    """A certificate by CPF has its receipt, too."""
    assert_a_pdf(sandbox.get(printed(sandbox, federal_of("90010000100"))))


@pytest.mark.parametrize(
    ("path", "kind", "stem"),
    [
        (federal_of(CNPJ), "inline", r"CND-federal_90010001000100_EMPRESA-ATIVA_vale-D\.pdf"),
        (federal_of("90010003000107"), "inline", r"CPD-federal_90010003000107_[A-Z-]+\.pdf"),
        (
            federal_of(HTML_CNPJ),
            "attachment",
            r"[A-Z]+-federal_90010011000145_[A-Z-]+_vale-D\.html",
        ),
        (federal_of("90010000100"), "inline", r"CND-federal_xxx100001xx_vale-D\.pdf"),
        (state_of(CNPJ), "inline", r"CND-estadual-SP_90010001000100_vale-D\.pdf"),
    ],
)
def test_receipts_are_named_for_people(sandbox: Service, path: str, kind: str, stem: str) -> None:
    value = sandbox.get(printed(sandbox, path)).headers["content-disposition"]
    found = re.fullmatch(r"(\w+); filename=\"([^\"]+)\"; filename\*=UTF-8''(.+)", value)
    assert found, value
    assert (found[1], found[2]) == (kind, found[3])
    assert re.fullmatch(stem.replace("vale-D", r"vale-20\d\d-\d\d-\d\d"), found[2]), value


def test_a_states_receipt_has_the_companys_name_of_our_own_copy(tmp_path: Path) -> None:
    """Also if it was delivered last with a cached certificate, to another account."""
    with open_service(tmp_path, establishments=600) as house:
        for by in (house.client, house.account("bia")):
            value = house.get(printed(house, state_of(CNPJ), by)).headers["content-disposition"]
            assert "CND-estadual-SP_90010001000100_EMPRESA-ATIVA_vale-" in value


def test_a_state_receipt_is_public(sandbox: Service, other: Client) -> None:
    """No key is needed, and a good or a bad one does not matter."""
    address = printed(sandbox, state_of(CNPJ))
    answers = [
        sandbox.request("GET", address, None),
        sandbox.request("GET", address, other),
        sandbox.request("GET", address, None, x_api_key="balcao_test_nonsense"),
    ]
    for answer in answers:
        assert_a_pdf(answer)
        assert answer.raw == answers[0].raw
        assert answer.headers["access-control-allow-origin"] == "*"


def test_compression_of_receipts(sandbox: Service) -> None:
    """HTML is compressed for those who ask, a PDF never is; the bytes are the same."""
    html, pdf = (printed(sandbox, federal_of(cnpj)) for cnpj in (HTML_CNPJ, CNPJ))
    packed = sandbox.get(html, accept_encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.body == sandbox.get(html).raw
    assert_a_pdf(sandbox.get(pdf, accept_encoding="gzip"))


# Who may fetch a federal one


def test_a_federal_receipt_needs_a_key(sandbox: Service) -> None:
    """Without a key, or with a bad one, it is 401, whether there is such a receipt or not."""
    address = printed(sandbox, federal_of(CNPJ))
    for path in (address, f"{FEDERAL}/print/{uuid.uuid4()}"):
        assert_refused_here(sandbox.request("GET", path, None), 401, "API_KEY_INVALIDA")
        bad = sandbox.request("GET", path, None, x_api_key="balcao_test_nonsense")
        assert_refused_here(bad, 401, "API_KEY_INVALIDA")


def test_a_federal_receipt_is_for_its_account_alone(sandbox: Service, other: Client) -> None:
    """For another account's key the answer is that to an unknown number."""
    address = printed(sandbox, federal_of(CNPJ))
    live = sandbox.account("live", mode="live")
    unknown = sandbox.get(f"{FEDERAL}/print/{uuid.uuid4()}").json
    for stranger in (other, live):
        answer = sandbox.get(address, stranger)
        assert_no_receipt(answer)
        assert answer.json["message"] == unknown["message"]
        assert set(answer.json) == set(unknown)


def test_another_key_of_the_same_account_fetches_it(sandbox: Service) -> None:
    """Any API key of the account permits it."""
    from balcao.accounts.keys import issue_key

    address = printed(sandbox, federal_of(CNPJ))
    desk = sandbox.desk
    text, key = issue_key(
        desk, Home(sandbox.settings.home), sandbox.balance(), "outra", system_now_ms()
    )
    assert_a_pdf(sandbox.get(address, Client(key.account_id, key.key_id, text)))


def test_each_account_has_its_own_number(sandbox: Service, other: Client) -> None:
    """Same certificate and bytes, different numbers, each valid only for its own account."""
    mine, theirs = printed(sandbox, federal_of(CNPJ)), printed(sandbox, federal_of(CNPJ), other)
    assert number_of(mine) != number_of(theirs)
    assert sandbox.get(mine).raw == sandbox.get(theirs, other).raw
    assert_no_receipt(sandbox.get(theirs))
    assert_no_receipt(sandbox.get(mine, other))


@pytest.mark.parametrize("base", [FEDERAL, STATE])
def test_numbers_that_name_no_receipt(sandbox: Service, base: str) -> None:
    """Unknown numbers, a request_id, and invalid numbers are 404."""
    path = federal_of(CNPJ) if base == FEDERAL else state_of(CNPJ)
    answer = sandbox.get(path)
    number = number_of(answer.json["print"])
    for wrong in (
        str(uuid.uuid4()),
        answer.json["request_id"],
        number[:-1],
        f"{number}0",
        f"{number}/",
        f"{number}.pdf",
        "",
        "x",
        "..%2F..%2Fbalcao.db",
        "%00",
        "a" * 1000,
    ):
        assert_no_receipt(sandbox.get(f"{base}/print/{wrong}"))


def test_a_number_is_valid_only_at_its_own_address(sandbox: Service) -> None:
    """A federal receipt is not public under the state's address, nor the other way round."""
    mine, public = (
        number_of(printed(sandbox, federal_of(CNPJ))),
        number_of(printed(sandbox, state_of(CNPJ))),
    )
    assert_no_receipt(sandbox.request("GET", f"{STATE}/print/{mine}", None))
    assert_no_receipt(sandbox.get(f"{STATE}/print/{mine}"))
    assert_no_receipt(sandbox.get(f"{FEDERAL}/print/{public}"))


# Numbers


def test_a_repeated_delivery_has_the_same_number(sandbox: Service) -> None:
    """From the cache, from the source, and by replay: the same certificate, the same number."""
    paths = [
        federal_of(CNPJ, f"cache_strategy={strategy}")
        for strategy in ("SO_ONLINE", "SO_CACHE", "ONLINE_PREFERENCIAL", "SO_ONLINE")
    ]
    assert len({printed(sandbox, path) for path in paths}) == 1
    keyed = [sandbox.get(federal_of(CNPJ), idempotency_key="recibo-0001") for _ in range(2)]
    assert keyed[0].body == keyed[1].body
    same = {
        printed(sandbox, state_of(CNPJ, "SP", query)) for query in ("", "atualizar_online=1", "")
    }
    assert len(same) == 1


def test_another_certificate_has_another_number(sandbox: Service) -> None:
    """A new issuance is another certificate; the old receipt is still there."""
    old = printed(sandbox, federal_of(CNPJ, "cache_strategy=SO_ONLINE"))
    new = printed(sandbox, federal_of(CNPJ, "preferencia_emissao=nova"))
    assert new != old
    first, second = sandbox.get(old), sandbox.get(new)
    assert_a_pdf(first)
    assert_a_pdf(second)
    assert first.raw != second.raw


def test_one_number_for_all_accounts_by_state(sandbox: Service, other: Client) -> None:
    """A state receipt is shared by all: one number per CNPJ, UF and certificate."""
    mine, theirs = printed(sandbox, state_of(CNPJ)), printed(sandbox, state_of(CNPJ), other)
    assert mine == theirs
    elsewhere = printed(sandbox, state_of("90010002000154", "AM"))
    branch, another = printed(sandbox, state_of("90010008000121")), printed(sandbox, state_of(CNPJ))
    assert len({mine, elsewhere, branch}) == 3
    assert another == mine


def test_numbers_and_receipts_survive_a_restart(tmp_path: Path) -> None:
    """After a restart the same numbers name the same bytes, and deliveries repeat them."""
    with open_service(tmp_path) as house:
        asker = house.client
        paths = (federal_of(CNPJ), state_of(CNPJ))
        addresses = [printed(house, path) for path in paths]
        files = [house.get(address).raw for address in addresses]
    with open_service(tmp_path, name="bia") as house:
        for address, path, file in zip(addresses, paths, files, strict=True):
            answer = house.get(address, asker)
            assert_a_pdf(answer)
            assert answer.raw == file
            assert printed(house, path, asker) == address
        assert_no_receipt(house.get(addresses[0]))
        assert printed(house, paths[0]) != addresses[0]
        house.assert_books_agree()


def test_numbers_of_two_installations_differ(tmp_path: Path) -> None:
    """A certificate does not suffice to compute the number of another installation's receipt."""
    found = []
    for name in ("a", "b"):
        with open_service(tmp_path / name) as house:
            found.append([printed(house, path) for path in (federal_of(CNPJ), state_of(CNPJ))])
    assert not set(found[0]) & set(found[1])


def test_addresses_with_a_public_url(tmp_path: Path) -> None:
    """With the service's own address configured, `print` is absolute, and its path fetches it."""
    with open_service(tmp_path, public_url="https://balcao.example/") as house:
        for path in (federal_of(CNPJ), state_of(CNPJ)):
            address = house.get(path).json["print"]
            assert address.startswith("https://balcao.example/consultas/v2/")
            assert_a_pdf(house.get(address.removeprefix("https://balcao.example")))


# Methods


@pytest.mark.parametrize("path", [federal_of(CNPJ), state_of(CNPJ)])
def test_methods_on_a_receipt(sandbox: Service, path: str) -> None:
    """HEAD is GET without the content, OPTIONS asks no key, and others are not allowed."""
    address = printed(sandbox, path)
    got, head = sandbox.get(address), sandbox.request("HEAD", address, sandbox.client)
    assert (head.status, head.raw) == (200, b"")
    for name in ("content-type", "content-length", "content-disposition", "cache-control"):
        assert head.headers[name] == got.headers[name]

    preflight = sandbox.request("OPTIONS", address, None)
    assert (preflight.status, preflight.raw) == (204, b"")
    assert preflight.headers["access-control-allow-origin"] == "*"
    assert "GET" in preflight.headers["access-control-allow-methods"]
    assert "x-api-key" in preflight.headers["access-control-allow-headers"]

    for method in ("POST", "PUT", "DELETE", "PATCH"):
        answer = sandbox.request(method, address, sandbox.client)
        assert_refused_here(answer, 405, "METODO_NAO_PERMITIDO")
        assert {"GET", "HEAD"} <= set(answer.headers["allow"].split(", "))


def test_head_of_a_federal_receipt_needs_a_key(sandbox: Service, other: Client) -> None:
    """HEAD reveals no more than GET."""
    address = printed(sandbox, federal_of(CNPJ))
    assert sandbox.request("HEAD", address, None).status == 401
    assert sandbox.request("HEAD", address, other).status == 404


def test_federal_receipts_count_against_the_limits(sandbox: Service) -> None:
    """They count like lookups; state receipts count against no limit."""
    hurried = sandbox.account("apressada", per_minute=3)
    mine, public = (
        printed(sandbox, federal_of(CNPJ), hurried),
        printed(sandbox, state_of(CNPJ), hurried),
    )
    assert sandbox.get(mine, hurried).status == 200
    answer = sandbox.get(mine, hurried)
    assert_refused_here(answer, 429, "LIMITE_EXCEDIDO")
    assert_a_pdf(sandbox.get(public, hurried))


# Without a receipt


@pytest.mark.parametrize("cnpj", [HTML_CNPJ, "90010006000132"])
def test_a_state_without_a_pdf(sandbox: Service, cnpj: str) -> None:
    """No document at all, or HTML alone, is no PDF: `print` is null, also from the cache."""
    for credits in (2, 1):
        answer = sandbox.get(state_of(cnpj))
        assert (answer.status, answer.credits, answer.json["print"]) == (200, credits, None)


def test_a_federal_source_without_a_receipt(tmp_path: Path) -> None:
    """A certificate whose source has no receipt is delivered and cached without one."""
    with open_service(tmp_path, mode="live", transport=Wire(), serpro=SERPRO) as house:
        for credits in (2, 1):
            answer = house.get(federal_of(HTML_CNPJ))
            assert (answer.status, answer.credits) == (200, credits)
            assert answer.json["print"] is None
        assert_a_pdf(house.get(printed(house, federal_of(CNPJ))))


# Receipts that providers keep at an address


GOOD_PDF_START = b"%PDF-1.7\n"


@dataclass
class Storage(Wire):
    """A network with contents for a receipt's address, by `keeps`."""

    keeps: Callable[[], httpx2.Response] | None = None
    never: bool = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        at_receipts = "/receipts/" in request.url.path
        if at_receipts:
            self.fetched += 1
        if at_receipts and self.never:
            self.black_holes = {"infosimples"}
        if at_receipts and self.keeps is not None:
            return self.keeps()
        return await super().handle_async_request(request)

    fetched: int = 0


def infosimples(*origins: str) -> InfosimplesSettings:
    return InfosimplesSettings(
        url=f"{PROVIDERS}/infosimples", token=SecretStr("chave"), receipt_origins=origins
    )


def served(content: bytes, status: int = 200, **headers: str) -> Callable[[], httpx2.Response]:
    return lambda: httpx2.Response(status, content=content, headers=headers)


def assert_without_receipt(house: Service, wire: Storage, fetched: int) -> None:
    """Check that both certificates are delivered, charged and cached without a receipt."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(0))
    with capture_logs() as logged:
        for path in (federal_of(CNPJ), state_of(CNPJ)):
            for credits in (2, 1):
                answer = house.get(path)
                body = answer.json
                assert (answer.status, answer.credits) == (200, credits), body
                assert (body["success"], body["error"], body["print"]) == (True, False, None)
    warnings = [each for each in logged if each["event"] == "receipt.unusable"]
    assert [each["log_level"] for each in warnings] == ["warning"] * 2
    assert PROVIDERS.removeprefix("http://") not in str(warnings)
    assert CNPJ not in str(warnings)
    assert wire.fetched == fetched
    assert house.money() == (CREDITS - 6, 0)
    assert not files(house)
    house.assert_books_agree()


@pytest.mark.parametrize(
    "origins",
    [
        (),
        ("https://provedores.invalid",),
        ("http://provedores.invalid:8080",),
        ("http://armazem.provedores.invalid",),
        ("http://invalid", "http://outros.invalid"),
    ],
)
def test_receipts_only_from_configured_origins(tmp_path: Path, origins: tuple[str, ...]) -> None:
    """Nothing is fetched from a host, port or scheme that is not configured."""
    wire = Storage()
    with open_service(
        tmp_path, mode="live", transport=wire, infosimples=infosimples(*origins)
    ) as house:
        assert_without_receipt(house, wire, fetched=0)
        assert wire.count("infosimples") == 2


def test_receipts_from_a_configured_origin(tmp_path: Path) -> None:
    """Each is fetched once, when the certificate is bought."""
    wire = Storage()
    with open_service(
        tmp_path, mode="live", transport=wire, infosimples=infosimples(PROVIDERS)
    ) as house:
        for path in (federal_of(CNPJ), state_of(CNPJ)):
            address = printed(house, path)
            assert_a_pdf(house.get(address))
            assert printed(house, path) == address
            assert_a_pdf(house.get(address))
        assert wire.fetched == 2
        assert wire.count("infosimples") == 4


async def _endless() -> AsyncIterator[bytes]:
    yield GOOD_PDF_START
    for _ in range(11):
        yield b"\0" * 1_000_000


def _streamed() -> httpx2.Response:
    return httpx2.Response(200, content=_endless(), headers={"content-type": "application/pdf"})


@pytest.mark.parametrize(
    "keeps",
    [
        pytest.param(served(GOOD_PDF_START + b"\0" * 10_000_000), id="too large"),
        pytest.param(_streamed, id="too large and unannounced"),
        pytest.param(served(b"\x89PNG\r\n\x1a\n", content_type="application/pdf"), id="an image"),
        pytest.param(served(b'{"code":200}', content_type="application/pdf"), id="JSON"),
        pytest.param(served(GOOD_PDF_START, content_type="application/pdf"), id="half a PDF"),
        pytest.param(served(b"", content_type="application/pdf"), id="empty"),
        pytest.param(
            served(b"", 302, location=f"{PROVIDERS}/infosimples/receipts/outro"), id="redirect"
        ),
        pytest.param(served(b"<html></html>", 404, content_type="text/html"), id="gone"),
        pytest.param(served(b"", 503), id="unavailable"),
    ],
)
def test_receipts_that_are_not_stored(tmp_path: Path, keeps: Callable[[], httpx2.Response]) -> None:
    """A certificate is delivered without a receipt that has any of these faults."""
    wire = Storage(keeps=keeps)
    with open_service(
        tmp_path, mode="live", transport=wire, infosimples=infosimples(PROVIDERS)
    ) as house:
        assert_without_receipt(house, wire, fetched=2)


def test_a_receipt_that_never_arrives(tmp_path: Path) -> None:
    """It is waited for within the deadline; the certificate is delivered nevertheless."""
    wire = Storage(never=True)
    with open_service(
        tmp_path, mode="live", transport=wire, infosimples=infosimples(PROVIDERS), deadline=2.0
    ) as house:
        answer = house.get(federal_of(CNPJ))
        assert (answer.status, answer.credits, answer.json["print"]) == (200, 2, None)
        assert wire.fetched == 1
        kept = house.get(federal_of(CNPJ, "cache_strategy=SO_CACHE"))
        assert (kept.status, kept.credits, kept.json["print"]) == (200, 1, None)
        house.assert_books_agree()


def test_the_type_of_a_receipt_is_that_of_its_bytes(tmp_path: Path) -> None:
    """HTML declared as a PDF is sent as HTML, in its sandbox."""
    page = served(b"<!DOCTYPE html><html><body>x</body></html>", content_type="application/pdf")
    wire = Storage(keeps=page)
    with open_service(
        tmp_path, mode="live", transport=wire, infosimples=infosimples(PROVIDERS)
    ) as house:
        body = house.get(federal_of(CNPJ)).json
        assert body["receipt_type"] == "text/html"
        answer = house.get(body["print"])
        assert answer.headers["content-type"].split(";")[0] == "text/html"
        assert answer.headers["content-disposition"].startswith("attachment")
        assert house.get(state_of(CNPJ)).json["print"] is None


# Bytes on disk


def files(house: Service) -> list[Path]:
    """Return the receipts' bytes."""
    folder = Home(house.settings.home).receipts
    return sorted(path for path in folder.rglob("*") if path.is_file())


def purged(house: Service, before_ms: int, limit: int = 100) -> int:
    """Run the periodic purge; return the number of records removed."""
    blobs = open_blobs(Home(house.settings.home).receipts)
    return house.run(purge(house.desk, blobs, before_ms, limit))


def test_the_same_bytes_are_stored_once(fresh: Service) -> None:
    """Receipts are stored by content, for all accounts and deliveries."""
    second = fresh.account("bia")
    for by in (fresh.client, second):
        printed(fresh, federal_of(CNPJ, "cache_strategy=SO_ONLINE"), by)
    assert len(files(fresh)) == 1


def test_a_purge_removes_record_and_bytes(fresh: Service) -> None:
    """Afterwards the number is unknown and the bytes are deleted, also if fetched before."""
    addresses = [printed(fresh, path) for path in (federal_of(CNPJ), state_of(CNPJ))]
    for address in addresses:
        assert_a_pdf(fresh.get(address))
    assert purged(fresh, 0) == 0
    assert len(files(fresh)) == 2
    assert purged(fresh, system_now_ms() + 1) == 2
    assert not files(fresh)
    for address in addresses:
        assert_no_receipt(fresh.get(address))
    assert not fresh.desk.check().complaints


def test_a_purge_leaves_bytes_of_another_account(fresh: Service) -> None:
    """The bytes are deleted with the last record that names them."""
    second = fresh.account("bia")
    mine = printed(fresh, federal_of(CNPJ))
    between = system_now_ms() + 1

    async def wait() -> None:
        await fresh.until(lambda: system_now_ms() > between)

    fresh.run(wait())
    theirs = printed(fresh, federal_of(CNPJ), second)
    assert purged(fresh, between) == 1
    assert_no_receipt(fresh.get(mine))
    assert_a_pdf(fresh.get(theirs, second))
    assert len(files(fresh)) == 1


def _flipped(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(_flipped, id="one bit"),
        pytest.param(lambda content: content[:100], id="cut"),
        pytest.param(lambda content: b"", id="empty"),
    ],
)
@pytest.mark.parametrize("path", [federal_of(CNPJ), state_of(CNPJ)])
def test_damaged_bytes(
    fresh: Service,
    caplog: pytest.LogCaptureFixture,
    path: str,
    damage: Callable[[bytes], bytes],
) -> None:
    """Bytes that differ from those stored are never sent, and the damage is logged."""
    address = printed(fresh, path)
    (file,) = files(fresh)
    file.write_bytes(damage(file.read_bytes()))
    with caplog.at_level(logging.WARNING):
        assert_no_receipt(fresh.get(address))
    assert any("damaged" in record.getMessage() for record in caplog.records)
    assert CNPJ not in caplog.text


def test_a_damaged_receipt_is_replaced_by_the_next_one_bought(fresh: Service) -> None:
    """Buying the certificate again brings its receipt again, under the same number."""
    address = printed(fresh, federal_of(CNPJ))
    (file,) = files(fresh)
    good = file.read_bytes()
    file.write_bytes(_flipped(good))
    assert_no_receipt(fresh.get(address))
    assert printed(fresh, federal_of(CNPJ, "cache_strategy=SO_ONLINE")) == address
    answer: Any = fresh.get(address)
    assert_a_pdf(answer)
    assert answer.raw == good


def test_missing_bytes(fresh: Service) -> None:
    """A record whose bytes are missing is 404, and the certificate is still served."""
    address = printed(fresh, federal_of(CNPJ))
    (file,) = files(fresh)
    file.unlink()
    assert_no_receipt(fresh.get(address))
    assert fresh.get(federal_of(CNPJ)).status == 200


# Large ones are handed on in pieces


def test_the_receipt_fetched_longest_ago_is_evicted_first(
    fresh: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receipts, "RECENT_MAX", 2)
    addresses = [
        printed(fresh, path) for path in (federal_of(CNPJ), federal_of(HTML_CNPJ), state_of(CNPJ))
    ]
    assert [fresh.get(each).status for each in addresses] == [200] * 3
    for file in files(fresh):
        file.unlink()
    assert [fresh.get(each).status for each in addresses] == [404, 200, 200]
    fresh.front.parts.forget()  # a person was erased
    assert [fresh.get(each).status for each in addresses] == [404] * 3


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every receipt counts as large."""
    monkeypatch.setattr(receipts, "WHOLE_BYTES_MAX", 100)
    monkeypatch.setattr(blobs, "PIECE_BYTES", 512)


@pytest.mark.usefixtures("in_pieces")
def test_a_large_receipt(fresh: Service) -> None:
    """Bytes and headers are equal; it is never in memory as a whole; HEAD has no content."""
    address = printed(fresh, federal_of(CNPJ))
    answer = fresh.get(address)
    assert_a_pdf(answer)
    assert answer.headers["cache-control"] == "private, no-store"
    head = fresh.request("HEAD", address, fresh.client)
    assert (head.status, head.raw) == (200, b"")
    assert head.headers["content-length"] == str(len(answer.raw))
    html = fresh.get(printed(fresh, federal_of(HTML_CNPJ)), accept_encoding="gzip")
    assert html.raw.lower().startswith(b"<!doctype html")
    assert html.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert fresh.event(answer.headers["x-request-id"])["status"] == 200


@pytest.mark.usefixtures("in_pieces")
def test_a_missing_large_receipt(fresh: Service) -> None:
    """Failures before the first byte are answered as usual."""
    address = printed(fresh, federal_of(CNPJ))
    (file,) = files(fresh)
    file.write_bytes(file.read_bytes()[:-1])
    assert_no_receipt(fresh.get(address))
    file.unlink()
    assert_no_receipt(fresh.get(address))


@pytest.mark.usefixtures("in_pieces")
def test_a_damaged_large_receipt_is_cut_off(
    fresh: Service, caplog: pytest.LogCaptureFixture
) -> None:
    """Fewer bytes than announced, so that no client accepts it. It is logged."""
    address = printed(fresh, federal_of(CNPJ))
    (file,) = files(fresh)
    file.write_bytes(_flipped(file.read_bytes()))
    answer = fresh.get(address)
    assert answer.status == 200
    assert len(answer.raw) < int(answer.headers["content-length"])
    assert "receipt damaged" in caplog.text
