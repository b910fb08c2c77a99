"""Sessions and the origin of forms, independent of the pages' content."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from balcao.accounts.links import new_token, token_digest
from balcao.core.errors import StorageFailed
from balcao.core.people import Role
from balcao.settings import Settings
from balcao.web.kit import application, guard
from balcao.web.kit.application import FORM
from balcao.web.pages.status import pages as status
from balcao.web.routes import PAGES
from tests.service import open_service
from tests.web.browser import BASE, Browser, signed_in


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with open_service(tmp_path) as house:
        yield signed_in(house)


PASSWORD = "/app/eu/senha"  # any form that changes something
REFUSED = "Formulário recusado"
ROLES: tuple[Role, ...] = ("consultant", "manager", "operator")


@pytest.mark.parametrize(
    ("headers", "token", "accepted"),
    [
        # Fetch Metadata is decisive.
        ({"sec_fetch_site": "same-origin"}, False, True),
        ({"sec_fetch_site": "none"}, False, True),
        ({"sec_fetch_site": "same-site"}, True, False),
        ({"sec_fetch_site": "cross-site"}, True, False),
        # Without it, the Origin is.
        ({"sec_fetch_site": "", "origin": "http://balcao.test"}, False, True),
        ({"sec_fetch_site": "", "origin": "http://evil.test"}, True, False),
        ({"sec_fetch_site": "", "origin": "null"}, True, False),
        # Without both, the form's token must belong to the browser's cookie.
        ({"sec_fetch_site": ""}, True, True),
        ({"sec_fetch_site": ""}, False, False),
    ],
)
def test_forms_are_accepted_from_our_own_pages_only(
    browser: Browser, headers: dict[str, str], token: bool, accepted: bool
) -> None:
    fields = {"atual": "errada"}
    if token:
        fields["csrf"] = browser.get("/app/eu").field("csrf")
    answer = browser.post(PASSWORD, fields, **headers)
    if accepted:
        assert answer.status == 422, answer.words
        assert "Senha atual incorreta" in answer.words
    else:
        assert answer.status == 403
        assert REFUSED in answer.words


def test_a_token_of_another_browser_is_refused(browser: Browser) -> None:
    other = signed_in(browser.house)
    token = other.get("/app/eu").field("csrf")
    answer = browser.post(PASSWORD, {"csrf": token, "atual": "x"}, sec_fetch_site="")
    assert answer.status == 403


def test_cross_site_signing_in_is_refused(browser: Browser) -> None:
    """Otherwise an attacker could sign a victim in as the attacker, and read their lookups."""
    stranger = Browser(browser.house)
    fields = {"email": "a@b.co", "senha": "x"}
    assert stranger.post("/app/entrar", fields, sec_fetch_site="cross-site").status == 403
    assert REFUSED in stranger.post("/app/entrar", fields, sec_fetch_site="").words
    fields["csrf"] = stranger.get("/app/entrar").field("csrf")
    assert "incorretos" in stranger.post("/app/entrar", fields, sec_fetch_site="").words


def _addresses(who: set[str]) -> list[tuple[str, str]]:
    return [
        (page.method, re.sub(r"\{\w+(:int)?\}", lambda at: "1" if at[1] else "x", page.path))
        for page in PAGES
        if page.audience in who
    ]


def test_only_public_pages_are_reachable_signed_out(browser: Browser) -> None:
    """Every address that is not public redirects strangers to sign-in."""
    stranger = Browser(browser.house)
    closed = _addresses({"signed_in", "account", "manager", "operator"})
    assert len(closed) > 30
    for method, path in closed:
        answer = stranger.get(path) if method == "GET" else stranger.post(path)
        assert answer.status == 303, (method, path)
        assert answer.location.startswith("/app/entrar"), (method, path)


def test_pages_of_other_roles_are_refused(browser: Browser) -> None:
    """Pages of another audience are refused before the page's code runs."""
    people = browser.house.desk.people
    closed: dict[Role, set[str]] = {
        "consultant": {"manager", "operator"},
        "manager": {"operator"},
        "operator": {"account", "manager"},
    }
    why = (
        "Esta página não é para o seu tipo de usuário",
        "Esta página é para usuários de uma conta",
    )
    for role, others in closed.items():
        person = signed_in(browser.house, role=role)
        done = len(people.audit(1000))
        for method, path in _addresses(others):
            answer = person.get(path) if method == "GET" else person.post(path)
            assert answer.status == 403, (role, method, path)
            assert why[role == "operator"] in answer.words
        assert len(people.audit(1000)) == done


def test_no_cross_site_form_is_accepted(browser: Browser) -> None:
    for role in ROLES:
        person = signed_in(browser.house, role=role)
        for method, path in _addresses({"anyone", "signed_in", "account", "manager", "operator"}):
            # Mail programs post to the address of a person's notices, which is the proof.
            if method == "POST" and not path.startswith("/app/avisos/"):
                answer = person.post(path, sec_fetch_site="cross-site")
                assert (answer.status, REFUSED in answer.words) == (403, True), path


def test_operators_find_every_page(browser: Browser) -> None:
    operator = signed_in(browser.house, role="operator")
    found = [path for method, path in _addresses({"operator"}) if method == "GET"]
    assert len(found) > 15
    for path in found:
        answer = operator.get(path)
        assert answer.status in (200, 303, 404, 409, 422), f"{path}: {answer.status}"
        assert len(answer.content) < 100_000
        if answer.status == 200 and "content-disposition" not in answer.headers:
            assert len(answer.tree.xpath("//h1")) == 1, path
            assert answer.tree.xpath("//form[@action='/app/sair']"), path


def test_public_pages_are_a_short_list() -> None:
    open_to_all = {(page.method, page.path) for page in PAGES if page.audience == "anyone"}
    documentation = {("GET", path) for _, path in open_to_all if path.startswith("/docs")}
    # They write the request for typed values: nothing is looked up or stored.
    documentation |= {("POST", f"{root}/operacoes/{{name}}") for root in ("/docs", "/docs/en")}
    assert open_to_all - documentation == {
        ("GET", "/"),
        ("GET", "/app/entrar"),
        ("POST", "/app/entrar"),
        ("POST", "/app/entrar/codigo"),
        ("GET", "/app/esqueci"),
        ("POST", "/app/esqueci"),
        ("POST", "/app/sair"),
        ("GET", "/app/avisos/{token}"),
        ("POST", "/app/avisos/{token}"),
        ("GET", "/app/calendario/{name}"),  # the address is the secret
        ("GET", "/app/convite/{token}"),
        ("POST", "/app/convite/{token}"),
        ("GET", "/status"),
        ("GET", "/status/estado.json"),
        ("GET", "/status/historico.json"),
        ("GET", "/status/incidentes.atom"),
        ("GET", "/status/selo.svg"),
    }


def test_every_response_has_the_security_headers(browser: Browser) -> None:
    for answer in (
        browser.get("/app/eu"),
        browser.get("/app/nada"),
        Browser(browser.house).get("/app"),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert len(answer.headers["x-request-id"]) == 36


def test_cookies_are_locked_to_this_host_under_tls(tmp_path: Path) -> None:
    """Cookies of a first visit, of a session, and of choices."""
    with open_service(tmp_path, public_url="https://balcao.example") as house:
        browser = signed_in(house)
        browser.cookies[f"__Host-{guard.SESSION}"] = browser.cookies.pop(guard.SESSION)
        answers = [
            Browser(house).get("/app/entrar"),
            Browser(house).get("/docs/operacoes/suframa?linguagem=go"),
            browser.post("/app/tema", {"tema": "dark"}),
            browser.post("/app/sair"),
        ]
        cookies = [text for each in answers for text in each.headers.get_list("set-cookie")]
        choices = {"__Host-balcao-linguagem", "__Host-balcao-tema"}
        names = {text.partition("=")[0] for text in cookies}
        assert names == {"__Host-balcao", "__Host-balcao-visita", *choices}
        for text in cookies:
            attributes = {part.strip().lower() for part in text.split(";")[1:]}
            assert {"secure", "httponly", "path=/", "samesite=lax"} <= attributes, text
            assert not any(part.startswith("domain") for part in attributes)


def test_a_session_ends_when_idle_and_when_old(browser: Browser) -> None:
    people, hour = browser.house.desk.people, 3_600_000
    digest = token_digest(browser.cookies[guard.SESSION])
    session = people.session(digest, 0, 1 << 60, 1 << 60)
    assert session is not None
    start = session.opened_ms
    assert people.session(digest, start + hour - 1, hour, 12 * hour) is not None
    assert people.session(digest, start + hour + 1, hour, 12 * hour) is None
    assert people.session(digest, start + 12 * hour + 1, 1 << 60, 12 * hour) is None


def test_forms_that_are_too_large_or_no_forms_are_refused(browser: Browser) -> None:
    assert browser.post(PASSWORD, {"atual": "x" * FORM.bytes_max}).status == 413
    assert browser.post(PASSWORD, {"a": "b"}, content_type="application/json").status == 415


def test_an_invented_cookie_is_no_session(browser: Browser) -> None:
    stranger = Browser(browser.house)
    for value in (new_token(), "", "x", "\u00e9", "a" * 5000):
        stranger.cookies[guard.SESSION] = value.encode("ascii", "ignore").decode()
        assert stranger.get("/app/eu").status == 303


def test_a_body_that_never_ends_is_not_waited_for(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that sends a little and then nothing must not occupy a slot forever."""
    monkeypatch.setattr(application, "FORM", replace(FORM, seconds=0.05))
    status: list[int] = []
    parts = iter([{"type": "http.request", "body": b"email=a", "more_body": True}])

    async def receive() -> dict[str, object]:
        if (part := next(parts, None)) is not None:
            return part
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            status.append(message["status"])  # type: ignore[arg-type]

    form = b"application/x-www-form-urlencoded"
    scope = {
        "type": "http", "method": "POST", "path": "/app/entrar", "raw_path": b"/app/entrar",
        "query_string": b"", "scheme": "http", "server": ("x", 80), "client": ("127.0.0.1", 1),
        "headers": [(b"host", b"x"), (b"content-type", form), (b"content-length", b"1000")],
    }  # fmt: skip
    browser.house.run(browser.house.front(scope, receive, send))
    assert status == [408]


def test_overlong_addresses_are_not_found(browser: Browser) -> None:
    for path in (
        "/app/operador/contas/" + "9" * 5000,
        "/app/" + "x/" * 2000,
        "/status/" + "9" * 999,
    ):
        answer = browser.get(path)
        assert answer.status == 404
        assert "content-security-policy" in answer.headers
        assert "x-request-id" in answer.headers


@pytest.mark.parametrize(
    ("public_url", "origin", "ours"),
    [
        ("https://balcao.example", "https://balcao.example", True),
        ("https://balcao.example", "http://balcao.example", False),
        ("https://balcao.example", "https://balcao.example:8443", False),
        ("https://Balcao.Example:443/", "https://balcao.example", True),
        ("https://balcao.example", "http://[", False),
        ("", BASE, True),
        ("", "http://[", False),
        ("", "//balcao.test", False),
    ],
)
def test_origins_are_compared_as_a_whole(
    tmp_path: Path, public_url: str, origin: str, ours: bool
) -> None:
    configured = Settings(public_url=public_url).public_url
    with open_service(tmp_path, public_url=configured) as house:
        fields = {"email": "a@b.co", "senha": "x"}
        answer = Browser(house).post("/app/entrar", fields, sec_fetch_site="", origin=origin)
        assert ("incorretos" in answer.words) is ours
        assert answer.status == 403


@pytest.mark.parametrize("text", ["balcao.example", "ftp://a.b", "https://", "https://a.b/c"])
def test_an_address_that_cannot_be_ours_is_refused_at_start(text: str) -> None:
    with pytest.raises(ValidationError):
        Settings(public_url=text)


@pytest.mark.parametrize(
    ("peer", "forwarded", "settings", "address"),
    [
        ("203.0.113.9", [], {}, "203.0.113.9"),
        ("203.0.113.9", ["198.51.100.1"], {}, "203.0.113.9"),  # anyone can send this
        (
            "10.0.0.5",
            ["6.6.6.6, 198.51.100.1"],
            {"trusted_proxies": ("10.0.0.0/8",)},
            "198.51.100.1",
        ),
        (
            "::ffff:10.0.0.5",  # the same proxy, where we listen on `::`
            ["198.51.100.1"],
            {"trusted_proxies": ("10.0.0.0/8",)},
            "198.51.100.1",
        ),
        ("10.0.0.5", [], {"public_url": "https://a.example"}, ""),  # a proxy that is not configured
        ("127.0.0.1", [], {}, "127.0.0.1"),
        ("", [], {}, ""),
    ],
)
def test_the_address_that_limits_sign_ins(
    peer: str, forwarded: list[str], settings: dict[str, Any], address: str
) -> None:
    assert Settings(**settings).proxies.client_address(peer, forwarded) == address


def test_pages_return_only_to_our_own_addresses(browser: Browser) -> None:
    stranger = Browser(browser.house)
    for there in ("//evil.test", "https://evil.test", "/app//evil.test", "/app/\\evil", "/apple"):
        assert stranger.get(f"/app/entrar?para={there}").field("para") == "/app"
    assert stranger.get("/app/entrar?para=/app/extrato").field("para") == "/app/extrato"


def test_no_password_is_requested_while_the_database_is_down(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(_: int) -> None:
        raise StorageFailed("database away")

    monkeypatch.setattr(status.ANSWERS, "_for_ms", 0)
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(browser.house.desk, "heartbeat", away)
        answer = Browser(browser.house).get("/app/entrar")
        assert answer.status == 503
        assert "Indisponível no momento" in answer.words
        assert int(answer.headers["retry-after"]) > 0
        assert not answer.tree.xpath("//input[@name='senha']")
    assert Browser(browser.house).get("/app/entrar").field("para") == "/app"


def test_pages_report_that_the_database_is_down(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In words, also to signed-in people: their session cannot be read."""

    def away(*_: object) -> None:
        raise StorageFailed("database away")

    monkeypatch.setattr(browser.house.desk.people, "session", away)
    for method, path in (("GET", "/app"), ("GET", "/app/historico"), ("POST", PASSWORD)):
        answer = browser.get(path) if method == "GET" else browser.post(path)
        assert answer.status == 503, (path, answer.text)
        assert answer.headers["content-type"].startswith("text/html")
        assert "Indisponível no momento" in answer.words
        assert int(answer.headers["retry-after"]) > 0
    # For a script only the fragment: no page within a page.
    answer = browser.get("/app/historico", hx_request="true")
    assert answer.status == 503
    assert "Indisponível no momento" in answer.words
    assert "<html" not in answer.text
    # Public pages need no session.
    assert browser.get("/status").status == 200
    assert browser.get("/app/nada").status == 404
