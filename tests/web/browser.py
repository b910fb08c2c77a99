"""A browser for tests without a real browser: cookies, forms, and responses.

with opened(tmp_path) as house:
browser = signed_in(house)
page = browser.get("/app")
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx2
from lxml import html

from balcao.accounts.links import new_token, token_digest
from balcao.core.access import Account
from balcao.core.people import Role, Signature, User
from balcao.service.clock import system_now_ms
from balcao.storage.people import NewUser
from balcao.web.kit import guard
from tests.service import Client, Service

BASE = "http://balcao.test"

_numbers = count(1)


@dataclass(frozen=True)
class PageResponse:
    """One response."""

    status: int
    headers: httpx2.Headers
    text: str
    content: bytes

    @property
    def tree(self) -> Any:
        """The page's parsed HTML."""
        return html.fromstring(self.text)

    @property
    def words(self) -> str:
        """The page's text, in one line."""
        return " ".join(self.tree.text_content().split())

    @property
    def location(self) -> str:
        """The address of a redirect."""
        return self.headers["location"]

    def field(self, name: str) -> str:
        """Return the value of the first input of this name."""
        value: str = self.tree.xpath(f"//input[@name='{name}']/@value")[0]
        return value


@dataclass
class Browser:
    """Keeps cookies, and sends forms as our pages would."""

    house: Service
    user: User | None = None
    cookies: dict[str, str] = field(default_factory=dict)

    def sign_in_as(self, role: Role, account_id: int | None = None) -> User:
        """Create a user and a session for them, without hashing a password."""
        people, now = self.house.desk.people, system_now_ms()
        number = next(_numbers)
        new = NewUser(f"pessoa{number}@balcao.test", f"Pessoa {number}", role, account_id)
        return self.sign_in(self.house.run(people.add_user(new, Signature("cli"), now)))

    def sign_in(self, user: User) -> User:
        """Create a session for an existing user."""
        people, token = self.house.desk.people, new_token()
        opening = people.open_session(
            user.user_id, token_digest(token), Signature("web"), system_now_ms()
        )
        self.house.run(opening)
        self.user, self.cookies[guard.SESSION] = user, token
        return user

    def get(self, path: str, **headers: str) -> PageResponse:
        """Follow a link."""
        return self.house.run(self.send("GET", path, None, headers))

    def post(
        self, path: str, fields: Mapping[str, str] | None = None, **headers: str
    ) -> PageResponse:
        """Send a form. `sec_fetch_site="cross-site"` makes it a cross-site request."""
        named = {"sec_fetch_site": "same-origin", **headers}
        return self.house.run(self.send("POST", path, fields or {}, named))

    def upload(self, path: str, content: bytes, media_type: str, **headers: str) -> PageResponse:
        """Send a form with a file in it."""
        named = {"sec_fetch_site": "same-origin", "content-type": media_type, **headers}
        return self.house.run(self.send("POST", path, None, named, content))

    async def send(
        self,
        method: str,
        path: str,
        fields: Mapping[str, str] | None,
        headers: Mapping[str, str],
        content: bytes | None = None,
    ) -> PageResponse:
        """Send a request, inside a coroutine; headers with empty values are not sent."""
        sent = {name.replace("_", "-"): value for name, value in headers.items() if value}
        if self.cookies:
            sent["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if fields is not None:
            sent.setdefault("content-type", "application/x-www-form-urlencoded")
        transport = httpx2.ASGITransport(app=self.house.front)
        async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
            answer = await client.request(
                method,
                path,
                data=dict(fields) if fields else None,
                content=content,
                headers=sent,
            )
        for name, value in answer.cookies.items():
            self.cookies[name] = value
        return PageResponse(answer.status_code, answer.headers, answer.text, answer.content)


def signed_in(
    house: Service, of: Client | Account | None = None, role: Role = "manager"
) -> Browser:
    """Return the browser of a new user of an account (default: the usual one) or operator."""
    browser = Browser(house)
    browser.sign_in_as(role, None if role == "operator" else (of or house.client).account_id)
    return browser
