"""Signing in with a simulated browser: passwords, second factor, one-time links, throttling."""

import asyncio
import re
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import quote

import pytest

from balcao.accounts.links import LINK_HOURS, make_sign_in, new_token, token_digest
from balcao.accounts.recovery import CODES, code_digest, new_codes
from balcao.accounts.seal import Seal
from balcao.core.people import Signature, User
from balcao.core.secrets import single
from balcao.core.writing import counted
from balcao.service.clock import system_now_ms
from balcao.storage.people import NewUser
from balcao.web.kit import guard
from balcao.web.kit.application import SECOND_FACTOR
from balcao.web.kit.passwords import AT_ONCE, Passwords
from balcao.web.kit.returning import local_address
from balcao.web.kit.throttle import (
    ADDRESS_LIMIT,
    BROWSER_LIMIT,
    EMAIL_AND_ADDRESS_LIMIT,
    EMAIL_LIMIT,
    LINKS_LIMIT,
    Throttle,
)
from balcao.web.pages.signing import second_factor
from tests.clocks import Clocks
from tests.records import suframa
from tests.service import Service, open_service
from tests.web.browser import Browser, PageResponse, signed_in

EMAIL, PASSWORD = "Ana.Souza@balcao.test", "uma frase bem comprida"
WRONG = "E-mail ou senha incorretos."


@pytest.fixture
def house(fresh: Service) -> Service:
    return fresh


def _person(house: Service, role: str = "manager", email: str = EMAIL) -> User:
    """Create a user who has chosen a password by a link."""
    people, now = house.desk.people, system_now_ms()
    account = None if role == "operator" else house.client.account_id
    new = NewUser(email, "Ana Souza", role, account)  # type: ignore[arg-type]
    user = house.run(people.add_user(new, Signature("cli"), now))
    link = _link(house, user)
    answer = Browser(house).post(link, {"senha": PASSWORD, "de_novo": PASSWORD})
    assert answer.status == 303, answer.words
    return user


def _link(house: Service, user: User | None, hours: int = LINK_HOURS) -> str:
    people, now, token = house.desk.people, system_now_ms(), new_token()
    house.run(
        people.make_link(
            token_digest(token),
            "set_password" if user else "first_operator",
            user.user_id if user else None,
            signed=Signature("cli"),
            now_ms=now,
            expires_ms=now + hours * 3_600_000,
        )
    )
    return f"/app/convite/{token}"


def _from_terminal(house: Service, user: User) -> str:
    """Make a link as `balcao open` does."""
    seal: Seal = house.front.web._tools.seal  # type: ignore[union-attr]
    people, signed = house.desk.people, Signature("cli")
    token = house.run(make_sign_in(seal, people, user.user_id, signed, system_now_ms()))
    return f"/app/convite/{token}"


def _secret_in(house: Service, user: User, sealed: str) -> bytes:
    """Return the new secret in a form."""
    seal: Seal = house.front.web._tools.seal  # type: ignore[union-attr]
    secret = seal.open(b"totp secret to be confirmed by %d" % user.user_id, sealed.encode())
    assert secret is not None
    return secret


def _recovery_codes(page: PageResponse) -> list[str]:
    (text,) = page.tree.xpath("//pre/code/text()")
    codes = text.split()
    assert len(codes) == len(set(codes)) == CODES
    return list(codes)


def _enter(
    browser: Browser, email: str = EMAIL, password: str = PASSWORD, at: str = ""
) -> PageResponse:
    fields = {"email": email, "senha": password, "para": "/app/eu"}
    return browser.post("/app/entrar", fields, x_forwarded_for=at)


def test_in_and_out(house: Service) -> None:
    _person(house)
    browser = Browser(house)
    answer = _enter(browser, email=f"  {EMAIL.upper()} ")  # case-insensitive
    assert (answer.status, answer.location) == (303, "/app/eu")
    assert "Ana Souza" in browser.get("/app/eu").words
    old = dict(browser.cookies)
    answer = browser.post("/app/sair")
    assert answer.location == "/app/entrar"
    assert answer.headers["clear-site-data"] == '"cache", "storage"'
    browser.cookies = old  # a stolen copy
    assert browser.get("/app/eu").location.startswith("/app/entrar")


@pytest.mark.parametrize(
    ("to", "back"),
    [
        ("/app", "/app"),
        ("/app/extrato?de=2026-10-01&ate=2026-10-31", "/app/extrato?de=2026-10-01&ate=2026-10-31"),
        ("/app/historico.csv?chave=web", "/app/historico.csv?chave=web"),
        (
            "/app/historico?documento=90.010.001/0001-00",
            "/app/historico?documento=90.010.001%2F0001-00",
        ),
        (
            "/app/consultas/empresa?cnpj=90010001000100",
            "/app/consultas/empresa?cnpj=90010001000100",
        ),
        ("/app/eu?a=b#c", "/app/eu?a=b%23c"),
        # No other address.
        ("", "/app"),
        ("//evil.test", "/app"),
        ("https://evil.test/app", "/app"),
        ("/app//evil.test", "/app"),
        ("/app/..//evil.test", "/app"),
        ("/app/../docs", "/app"),
        ("/app\\evil.test", "/app"),
        ("/app/%2f%2fevil.test", "/app"),
        ("/app/%5cevil.test", "/app"),
        ("/app/\t/evil.test", "/app"),
        ("/app@evil.test", "/app"),
        ("/app.evil.test", "/app"),
        ("/apparatus", "/app"),
        ("/docs/chaves", "/docs/chaves"),
        ("/docsx", "/app"),
        ("javascript:alert(1)", "/app"),
        ("/app/entrar?para=/app/entrar", "/app"),
        ("/app/sair", "/app"),
        ("/app/eu?x=" + "a" * 2_000, "/app/eu"),
        ("/app/eu?" + "&".join(f"a{n}=1" for n in range(99)), "/app/eu"),
        ("/app/eu?next=//evil.test", "/app/eu?next=%2F%2Fevil.test"),  # means nothing to a browser
        # Nothing about a person.
        ("/app/historico?documento=90010000100&de=2026-10-01", "/app/historico?de=2026-10-01"),
        ("/app/historico?documento=900.100.001-00", "/app/historico"),
        ("/app/historico?documento=90.010.000/100", "/app/historico"),
        ("/app/historico?documento=900+100+001+00", "/app/historico"),
        ("/app/usuarios?email=ana%40balcao.test", "/app/usuarios"),
    ],
)
def test_only_own_addresses_without_personal_data_are_followed(to: str, back: str) -> None:
    assert local_address(to) == back


def test_signing_in_leads_to_the_requested_page(house: Service) -> None:
    _person(house)
    browser = Browser(house)
    wanted = "/app/extrato?de=2026-10-01&ate=2026-10-31&operacao=&chave=web"
    page = browser.get(browser.get(wanted).location)
    assert "Sua sessão terminou" not in page.words
    to = page.field("para")
    assert to == "/app/extrato?de=2026-10-01&ate=2026-10-31&chave=web"
    fields = {"email": EMAIL, "senha": "outra coisa", "para": to}
    again = browser.post("/app/entrar", fields)  # a typing error keeps the address
    assert again.field("para") == to
    assert browser.post("/app/entrar", {**fields, "senha": PASSWORD}).location == to
    # Another tab with an open sign-in page.
    assert browser.get(f"/app/entrar?para={quote(to)}").location == to
    out = Browser(house)
    evil = out.get(out.get("/app/historico?documento=90010000100").location)
    assert "90010000100" not in evil.text
    fields = {"email": EMAIL, "senha": PASSWORD, "para": "//evil.test"}
    assert out.post("/app/entrar", fields).location == "/app"


def test_unknown_wrong_and_suspended_look_alike(house: Service) -> None:
    user = _person(house)
    browser = Browser(house)
    pages = [_enter(browser, email="ninguem@balcao.test"), _enter(browser, password="outra coisa")]
    people = house.desk.people
    house.run(people.suspend_user(user.user_id, True, Signature("cli"), system_now_ms()))
    pages.append(_enter(browser))
    assert [page.status for page in pages] == [403] * 3
    assert all(WRONG in page.words for page in pages)
    assert guard.SESSION not in browser.cookies


def test_unknown_users_cost_as_much_work_as_known_ones() -> None:
    """Counted, since timing would be unreliable."""

    class Counting(Passwords):
        verified = 0

        def _matches(self, password_hash: str, password: str) -> bool:
            self.verified += 1
            assert password_hash.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
            return super()._matches(password_hash, password)

    async def story() -> None:
        passwords = Counting()
        known = await passwords.hash(PASSWORD)
        assert await passwords.verify(known, PASSWORD)
        assert not await passwords.verify(known, "x")
        assert not await passwords.verify(None, PASSWORD)
        assert not await passwords.verify(None, "nobody has this password")
        assert passwords.verified == 4

    asyncio.run(story())


def test_never_more_than_two_hashes_at_a_time() -> None:
    class Watching(Passwords):
        now = most = 0

        def _matches(self, password_hash: str, password: str) -> bool:
            self.now += 1
            self.most = max(self.most, self.now)
            found = super()._matches(password_hash, password)
            self.now -= 1
            return found

    async def story() -> None:
        passwords = Watching()
        known = await passwords.hash(PASSWORD)
        await asyncio.gather(*(passwords.verify(known, "x") for _ in range(8)))
        assert passwords.most <= AT_ONCE

    asyncio.run(story())


def test_guessing_is_limited_with_the_time_to_wait(house: Service) -> None:
    _person(house)
    browser = Browser(house)
    answer = [_enter(browser, password=f"errada {n}") for n in range(EMAIL_AND_ADDRESS_LIMIT.quota)]
    assert {page.status for page in answer} == {403}
    late = _enter(browser)  # correct, but too late
    assert late.status == 429
    seconds = int(late.headers["retry-after"])
    minutes = counted(-(-seconds // 60), "minuto", "minutos")
    assert f"Muitas tentativas. Aguarde {minutes} e tente de novo." in late.words
    assert "Retry-After" not in late.text
    assert "/docs/erros" not in late.text
    assert "O que é isto" not in late.text


def test_no_password_is_made_of_one_s_own_name(house: Service) -> None:
    people, account = house.desk.people, house.client.account_id
    new = NewUser("u@balcao.test", "Olívia Guaraxaim", "manager", account)
    user = house.run(people.add_user(new, Signature("cli"), system_now_ms()))
    link = _link(house, user)

    def refused(at: str, password: str, browser: Browser, **more: str) -> bool:
        answer = browser.post(at, {"senha": password, "de_novo": password, **more})
        return answer.status == 422 and "o seu nome" in answer.words

    assert refused(link, "OliviaGuaraxaim1", Browser(house))
    first = {"nome": "Olívia Guaraxaim", "email": "o@balcao.test"}
    assert refused(_link(house, None), "OliviaGuaraxaim1", Browser(house), **first)
    answer = Browser(house).post(link, {"senha": PASSWORD, "de_novo": PASSWORD})
    assert answer.status == 303
    browser = Browser(house)
    assert _enter(browser, "u@balcao.test").status == 303
    assert refused("/app/eu/senha", "guaraxaim.olivia1", browser, atual=PASSWORD)


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[Service]:
    """Return a service behind a proxy that reports each browser's address."""
    clock = Clocks().clock()  # frozen, since the limits recover with time
    with open_service(tmp_path, clock=clock, trusted_proxies=(ip_network("127.0.0.0/8"),)) as house:
        yield house


def test_guesses_of_others_lock_nobody_out(proxied: Service) -> None:
    """Neither in their browser nor from the address of earlier sign-ins (contract 7.7)."""
    house = proxied
    _person(house)
    own = Browser(house)
    assert _enter(own, at="203.0.113.1").status == 303
    attempts = [
        _enter(Browser(house), password=f"errada {n}", at=f"198.51.100.{n}")
        for n in range(EMAIL_LIMIT.quota + 5)
    ]
    assert [answer.status for answer in attempts[-5:]] == [429] * 5
    assert _enter(Browser(house), at="198.51.100.200").status == 429

    known = own.cookies[guard.KNOWN_BROWSER]
    elsewhere = Browser(house)
    elsewhere.cookies[guard.KNOWN_BROWSER] = known
    assert _enter(elsewhere, at="198.51.100.201").status == 303
    assert _enter(Browser(house), at="203.0.113.1").status == 303
    # The cookie is valid only for this person, and has its own limit.
    another = "outra@exemplo.com.br"
    _person(house, email=another)
    thief = Browser(house)
    thief.cookies[guard.KNOWN_BROWSER] = known
    assert {
        _enter(thief, email=another, password="x", at="198.51.100.202").status
        for _ in range(EMAIL_AND_ADDRESS_LIMIT.quota)
    } == {403}
    assert _enter(thief, email=another, at="198.51.100.202").status == 429
    tries = [
        _enter(thief, password="x", at=f"192.0.2.{n}").status
        for n in range(BROWSER_LIMIT.quota + 1)
    ]
    assert tries == [*[403] * BROWSER_LIMIT.quota, 429]


def test_a_network_of_ipv6_counts_as_one_address(proxied: Service) -> None:
    """An attacker has all addresses of a /64, for passwords and for links."""
    house = proxied
    statuses = [
        _enter(Browser(house), f"p{n}@exemplo.com.br", "errada", at=f"2001:db8::{n:x}").status
        for n in range(1, ADDRESS_LIMIT.quota + 2)
    ]
    assert statuses == [*[403] * ADDRESS_LIMIT.quota, 429]
    other = _enter(Browser(house), "p@exemplo.com.br", "x", at="2001:db8:0:1::1")
    assert other.status == 403
    links = [
        Browser(house).get(f"/app/convite/{'x' * 43}", x_forwarded_for=f"2001:db8::a:{n:x}").status
        for n in range(LINKS_LIMIT.quota + 1)
    ]
    assert links == [*[404] * LINKS_LIMIT.quota, 429]


def test_the_throttle_opens_again() -> None:
    throttle, limit, now = Throttle(), EMAIL_AND_ADDRESS_LIMIT, 1_000_000_000
    tries = [(limit, "a")]
    assert [throttle.wait_seconds(tries, now) for _ in range(limit.quota)] == [0] * limit.quota
    wait = throttle.wait_seconds(tries, now)
    assert wait > 0
    assert throttle.wait_seconds([(limit, "b")], now) == 0  # others are not limited
    assert throttle.wait_seconds(tries, now + wait * 1000) == 0


def test_a_link_is_valid_once(house: Service) -> None:
    user = _person(house)
    link = _link(house, user)
    browser = Browser(house)
    assert "Escolha a sua senha" in browser.get(link).words
    new = {"senha": "outra frase comprida", "de_novo": "outra frase comprida"}
    assert browser.post(link, new).location == "/app"
    assert browser.post(link, new).status == 404
    assert "não é mais válido" in Browser(house).get(link).words
    assert _enter(Browser(house)).status == 403  # the old password
    assert _enter(Browser(house), password="outra frase comprida").status == 303


def test_a_new_link_voids_the_earlier_one_and_links_expire(house: Service) -> None:
    user = _person(house)
    first, second = _link(house, user), _link(house, user)
    assert Browser(house).get(first).status == 404
    assert Browser(house).get(second).status == 200
    assert Browser(house).get(_link(house, user, hours=0)).status == 404
    assert Browser(house).get(f"/app/convite/{new_token()}").status == 404


@pytest.mark.parametrize(
    ("password", "again", "complaint"),
    [
        ("curta", "curta", "pelo menos 12"),
        (PASSWORD, "outra", "não são iguais"),
        ("aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaa", "repete muito"),
        ("minhasenha123456", "minhasenha123456", "fácil de adivinhar"),
        (EMAIL, EMAIL, "não pode ser o e-mail"),
    ],
)
def test_weak_passwords_are_refused_and_the_link_stays_valid(
    house: Service, password: str, again: str, complaint: str
) -> None:
    user = _person(house)
    link = _link(house, user)
    answer = Browser(house).post(link, {"senha": password, "de_novo": again})
    assert answer.status == 422
    assert complaint in answer.words
    assert Browser(house).get(link).status == 200


def test_the_first_operator(house: Service) -> None:
    browser, link = Browser(house), _link(house, None)
    fields = {"nome": "Olga", "email": "olga", "senha": PASSWORD, "de_novo": PASSWORD}
    assert browser.post(link, fields).status == 422
    assert browser.post(link, {**fields, "email": "olga@balcao.test"}).status == 303
    assert "Operador" in browser.get("/app/eu").words
    assert Browser(house).get(link).status == 404


def test_a_link_from_the_terminal_signs_in_once(house: Service) -> None:
    user, manager = _person(house, "operator"), _person(house, email="rui@balcao.test")
    link, browser = _from_terminal(house, user), Browser(house)
    assert "Entrar como Ana Souza" in browser.get(link).words
    assert "Entrar como" in browser.get(link).words  # opening it does not use it up
    assert guard.SESSION not in browser.cookies
    assert browser.post(link, {}).location == "/app"
    assert "Operador" in browser.get("/app/eu").words
    again = Browser(house)
    assert again.post(link, {}).status == 404
    assert guard.SESSION not in again.cookies
    assert Browser(house).post(_from_terminal(house, manager), {}).status == 404
    suspended = _from_terminal(house, user)
    _person(house, "operator", "olga@balcao.test")  # one must remain
    people = house.desk.people
    house.run(people.suspend_user(user.user_id, True, Signature("cli"), system_now_ms()))
    assert Browser(house).post(suspended, {}).status == 404


def test_a_password_is_verified_as_it_was_typed(house: Service) -> None:
    user, password = _person(house), "  Uma Frase bem comprida "
    Browser(house).post(_link(house, user), {"senha": password, "de_novo": password})
    for other in (password.strip(), password.lower(), password[:-1]):
        assert _enter(Browser(house), password=other).status == 403
    assert _enter(Browser(house), password=password).status == 303


def test_passwords_are_masked_and_filled_in_by_managers(house: Service) -> None:
    user = _person(house)
    browser = Browser(house)
    _enter(browser)
    signing, link = Browser(house).get("/app/entrar"), Browser(house).get(_link(house, user))
    for page, names in ((signing, 1), (link, 2), (browser.get("/app/eu"), 4)):
        fields = page.tree.xpath("//input[contains(@autocomplete, '-password')]")
        assert len(fields) >= names
        assert {field.get("type") for field in fields} == {"password"}
        assert not page.tree.xpath("//input[@type='password'][not(@autocomplete)]")
        assert not page.tree.xpath("//@onpaste")


def test_changing_the_password_ends_the_other_sessions(house: Service) -> None:
    _person(house)
    here, elsewhere = Browser(house), Browser(house)
    _enter(here)
    _enter(elsewhere)
    stolen = Browser(house, cookies=dict(here.cookies))
    new = {"senha": "outra frase comprida", "de_novo": "outra frase comprida"}
    assert here.post("/app/eu/senha", {"atual": "errada", **new}).status == 422
    assert here.post("/app/eu/senha", {"atual": PASSWORD, **new}).status == 303
    assert "Senha trocada" in here.get("/app/eu?feito=senha").words
    assert elsewhere.get("/app/eu").status == 303
    assert stolen.get("/app/eu").status == 303  # this browser continues under a new token


def test_a_second_factor_from_beginning_to_end(house: Service) -> None:
    user = _person(house, "operator")
    browser, elsewhere = Browser(house), Browser(house)
    _enter(browser)
    _enter(elsewhere)
    assert browser.post("/app/eu/segundo-fator", {"atual": "errada"}).status == 422
    page = browser.post("/app/eu/segundo-fator", {"atual": PASSWORD})
    assert "<svg" in page.text
    sealed = page.field("segredo")
    secret = _secret_in(house, user, sealed)
    step = system_now_ms() // 30_000
    wrong = "000000" if second_factor.code_of(secret, step) != "000000" else "111111"
    again = browser.post("/app/eu/segundo-fator/ligar", {"segredo": sealed, "codigo": wrong})
    assert "Código incorreto" in again.words
    right = {"segredo": sealed, "codigo": second_factor.code_of(secret, step)}
    on = browser.post("/app/eu/segundo-fator/ligar", right)
    assert on.status == 201
    codes = _recovery_codes(on)
    assert "Ativado" in browser.get("/app/eu").words
    assert elsewhere.get("/app/eu").status == 303  # an earlier session without a code
    assert browser.post("/app/eu/segundo-fator", {"atual": PASSWORD}).status == 422
    assert browser.post("/app/eu/segundo-fator/ligar", right).status == 422

    # At the next sign-in the password alone does not suffice, and a code is valid once.
    other = Browser(house)
    halfway = _enter(other)
    assert "Segundo fator" in halfway.words
    assert guard.SESSION not in other.cookies
    passo = halfway.field("passo")
    used = other.post("/app/entrar/codigo", {"passo": passo, "codigo": right["codigo"]})
    assert used.status == 403
    fresh = {"passo": passo, "codigo": second_factor.code_of(secret, step + 1)}
    assert other.post("/app/entrar/codigo", fresh).status == 303
    assert other.get("/app/eu").status == 200
    assert Browser(house).post("/app/entrar/codigo", fresh).status == 403

    # A link sets the password, and still requires the code.
    link = _link(house, user)
    chosen = Browser(house).post(link, {"senha": PASSWORD, "de_novo": PASSWORD})
    assert (chosen.status, "Segundo fator" in chosen.words) == (200, True)
    other = Browser(house)
    other.sign_in(user)

    # So does a link that needs no password.
    elsewhere = Browser(house)
    halfway = elsewhere.post(_from_terminal(house, user), {})
    assert "Segundo fator" in halfway.words
    spent = {"passo": halfway.field("passo"), "codigo": fresh["codigo"]}
    assert elsewhere.post("/app/entrar/codigo", spent).status == 403
    assert guard.SESSION not in elsewhere.cookies

    # Without the phone: each recovery code is valid once, however it is typed.
    passo = _enter(Browser(house)).field("passo")
    typed = {"passo": passo, "codigo": codes[0].replace("-", " ").upper()}
    assert Browser(house).post("/app/entrar/codigo", typed).status == 303
    assert Browser(house).post("/app/entrar/codigo", typed).status == 403
    assert "Restam 9 códigos" in other.get("/app/eu").words
    renewal = {"atual": PASSWORD, "codigo": codes[1]}
    assert other.post("/app/eu/codigos", {**renewal, "atual": "errada"}).status == 422
    renewed = other.post("/app/eu/codigos", renewal)
    assert renewed.status == 201
    assert not set(_recovery_codes(renewed)) & set(codes)
    stale = {"passo": passo, "codigo": codes[2]}
    assert Browser(house).post("/app/entrar/codigo", stale).status == 403
    entries = house.desk.people.audit(100, action="user.recovery")
    details = [entry.detail for entry in reversed(entries)]
    assert details == ["código usado; 9 restam", "código usado; 8 restam", "10 códigos gerados"]


def test_both_factors_turn_the_second_one_off(house: Service) -> None:
    user, browser, off = _person(house), Browser(house), "/app/eu/segundo-fator/desligar"
    _enter(browser)
    sealed = browser.post("/app/eu/segundo-fator", {"atual": PASSWORD}).field("segredo")
    seal: Seal = house.front.web._tools.seal  # type: ignore[union-attr]
    secret = seal.open(b"totp secret to be confirmed by %d" % user.user_id, sealed.encode())
    assert secret is not None
    code = second_factor.code_of(secret, system_now_ms() // 30_000)
    on = browser.post("/app/eu/segundo-fator/ligar", {"segredo": sealed, "codigo": code})
    recovery, *_ = _recovery_codes(on)
    for wrong in (
        {"atual": "errada", "codigo": recovery},
        {"atual": PASSWORD, "codigo": code},  # used already
        {"atual": PASSWORD},
    ):
        assert browser.post(off, wrong).status == 422
    assert browser.post(off, {"atual": PASSWORD, "codigo": recovery}).status == 303
    assert _enter(Browser(house)).location == "/app/eu"


def test_recovery_codes_have_120_bits() -> None:
    codes = new_codes()
    assert len(set(codes)) == CODES
    assert all(re.fullmatch(r"(?:[a-z2-7]{4}-){5}[a-z2-7]{4}", code) for code in codes)
    digests = {code_digest(Seal(single(key * 32)), 1, codes[0]) for key in (b"s", b"t")}
    assert [len(digest) for digest in digests] == [32, 32]


def test_codes_are_those_of_the_standard() -> None:
    """RFC 6238, appendix B, for SHA-1; the last six of its eight digits."""
    secret = b"12345678901234567890"
    for seconds, code in ((59, "287082"), (1111111109, "081804"), (20000000000, "353130")):
        assert second_factor.code_of(secret, seconds // 30) == code
        assert second_factor.step_of(secret, f"{code[:3]} {code[3:]}", seconds * 1000) is not None
        assert second_factor.step_of(secret, code, seconds * 1000 + 90_000) is None


def test_seals_open_for_their_purpose_only() -> None:
    seal = Seal(single(b"s" * 32))
    sealed = seal.close(b"one", b"value")
    assert seal.open(b"one", sealed) == b"value"
    assert seal.open(b"two", sealed) is None
    assert Seal(single(b"t" * 32)).open(b"one", sealed) is None
    assert seal.open(b"one", sealed[:-2] + b"xx") is None
    assert seal.open(b"one", b"\xff nonsense") is None


def test_nothing_personal_is_logged(house: Service, capfd: pytest.CaptureFixture[str]) -> None:
    user = _person(house)
    link = _link(house, user)
    browser = Browser(house)
    browser.get(link)
    _enter(browser, password="errada e secreta")
    _enter(browser)
    house.front.request_log.flush()
    answer = house.logged.decode() + "".join(capfd.readouterr())
    assert '"operation":"app:entrar"' in answer
    for secret in ("ana.souza", "Ana Souza", PASSWORD, "errada e secreta", link.rpartition("/")[2]):
        assert secret.casefold() not in answer.casefold()


def _field_errors(page: PageResponse) -> dict[str, str]:
    """Return the texts next to the fields that are marked, by the field's id."""
    marked = page.tree.xpath("//input[@aria-invalid='true']/@id")
    return {each: page.tree.xpath(f"string(//*[@id='{each}-error'])") for each in marked}


def test_errors_stand_at_their_fields_and_no_browser_checks_first(house: Service) -> None:
    browser = Browser(house)
    for missing in ({}, {"email": "a@balcao.test"}, {"senha": "x"}):
        answer = browser.post("/app/entrar", missing)
        assert answer.status == 422
        assert set(_field_errors(answer)) == {"email", "senha"} - set(missing)
        assert answer.tree.xpath("//form[@action='/app/entrar']/@novalidate")
    signed = signed_in(house)
    answer = signed.post("/app/eu/senha", {"atual": "errada", "senha": "x", "de_novo": "x"})
    assert _field_errors(answer) == {"atual": "Senha atual incorreta."}
    answer = signed.post("/app/eu/segundo-fator", {"atual": "errada"})
    assert _field_errors(answer) == {"atual-totp": "Senha atual incorreta."}


def test_an_operator_sets_up_the_second_factor_first(tmp_path: Path) -> None:
    clocks = Clocks()
    clock = clocks.clock()
    with open_service(tmp_path, mode="live", second_factor="operators", clock=clock) as service:
        user = _person(service, "operator")
        _person(service, "manager", "gestora@exemplo.com.br")
        browser = Browser(service)
        assert _enter(browser).location == "/app/eu"
        for path in ("/app", "/app/eu", "/app/operador/contas", "/app/operador/auditoria"):
            assert browser.get(path).location == SECOND_FACTOR
        asked = browser.post("/app/operador/contas/nova", {"nome": "outra"})
        assert asked.location == SECOND_FACTOR
        assert "outra" not in [account.name for account in service.desk.accounts()]
        manager = Browser(service)
        _enter(manager, "gestora@exemplo.com.br")
        assert manager.get(SECOND_FACTOR).location == "/app/eu"

        # The password was just given, so it is not asked for again; later it is.
        page = browser.get(SECOND_FACTOR)
        (drawn,) = page.tree.xpath("//div[@class='qr-frame']/svg")
        assert drawn.get("viewbox") or drawn.get("viewBox"), "otherwise it is cut off, not scaled"
        assert "/app/operador" not in page.text
        clocks.go_on(11 * 60_000)
        assert "qr-frame" not in browser.get(SECOND_FACTOR).text
        assert browser.post(SECOND_FACTOR, {"atual": "errada"}).status == 422
        sealed = browser.post(SECOND_FACTOR, {"atual": PASSWORD}).field("segredo")
        late = browser.post(f"{SECOND_FACTOR}/ligar", {"segredo": "x", "codigo": "1"})
        assert (late.status, "Comece de novo" in late.words) == (422, True)
        code = second_factor.code_of(_secret_in(service, user, sealed), clocks.system // 30_000)
        on = browser.post(f"{SECOND_FACTOR}/ligar", {"segredo": sealed, "codigo": code})
        assert (on.status, len(_recovery_codes(on))) == (201, 10)
        assert browser.get("/app/operador").status == 200

        # It cannot be turned off, except by another operator or at the terminal.
        refused = browser.post(f"{SECOND_FACTOR}/desligar", {"atual": PASSWORD})
        assert (refused.status, "exige o segundo fator" in refused.words) == (422, True)
        assert f"{SECOND_FACTOR}/desligar" not in browser.get("/app/eu").text


def test_without_a_live_account_no_second_factor_is_needed(tmp_path: Path) -> None:
    with open_service(tmp_path, second_factor="all") as service:
        _person(service, "operator")
        browser = Browser(service)
        _enter(browser)
        assert browser.get("/app/operador").status == 200
        service.account("real", mode="live")
        assert browser.get("/app/operador").location == SECOND_FACTOR


def test_public_pages_show_nothing_of_the_account_before_the_second_factor(
    tmp_path: Path,
) -> None:
    with open_service(tmp_path, second_factor="all") as service:
        _person(service)
        browser = Browser(service)
        _enter(browser)
        number = service.get(suframa()).headers["x-request-id"]
        answer = f"/docs/operacoes/suframa?resposta={number}"
        assert f"/app/historico/{number}" in browser.get(answer).text
        service.account("real", mode="live")
        page = browser.get(answer)
        assert page.status == 200
        assert f"/app/historico/{number}" not in page.text


def test_failed_sign_ins_are_shown_to_their_person(house: Service) -> None:
    _person(house)
    browser = Browser(house)
    agent = {"user_agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"}
    typed = {"email": EMAIL, "senha": "senha secreta errada", "para": "/app"}
    assert browser.post("/app/entrar", typed, **agent).status == 403
    nobody = {**typed, "email": "ninguem@balcao.test"}
    assert browser.post("/app/entrar", nobody, **agent).status == 403
    house.run(_written(house))
    _enter(browser)
    page = browser.get("/app/eu").words
    assert "senha incorreta (127.0.0.0/24, Firefox em Linux)" in page
    operator = signed_in(house, role="operator")
    log = operator.get("/app/operador/auditoria?acao=user.sign_in_failed").words
    assert log.count("senha incorreta") == 1
    assert "secreta" not in log + page
    assert "ninguem" not in log


async def _written(house: Service) -> None:
    await asyncio.gather(*house.front.web._tools.writing)  # type: ignore[union-attr]
