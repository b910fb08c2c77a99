"""The documentation page: nothing from elsewhere, safe, cached."""

import re
from html.parser import HTMLParser

import pytest

from tests.world import Reply, World

PAGES = ["/docs", "/docs/", "/docs/sandbox"]


class Loads(HTMLParser):
    """What a page loads, what it links to, and whether it holds scripts or styles itself."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.files: list[str] = []
        self.links: list[str] = []
        self.inline: list[str] = []
        self.language = ""
        self.title = ""
        self._in = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in = tag
        given = dict(attrs)
        if tag == "html":
            self.language = given.get("lang") or ""
        for name, value in attrs:
            if name.startswith("on") or name == "style":
                self.inline.append(f"{tag} {name}")
            elif name == "src" or (name == "href" and tag == "link"):
                self.files.append(value or "")
            elif name == "href":
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in in ("script", "style") and data.strip():
            self.inline.append(data)
        if self._in == "title":
            self.title += data


def page(world: World, path: str = "/docs") -> Loads:
    return Loads(world.get(path, None).body.decode())


def files(world: World) -> dict[str, Reply]:
    """All files that the pages load."""
    addresses = {name for path in PAGES for name in page(world, path).files}
    return {
        name: world.get(name, None) for name in sorted(addresses) if not name.startswith("data:")
    }


def test_the_root_leads_to_the_application(world: World) -> None:
    answer = world.get("/", None)
    assert (answer.status, answer.headers["location"]) == (302, "/app")


@pytest.mark.parametrize("path", PAGES)
def test_the_pages_are_portuguese_and_without_inline_script(world: World, path: str) -> None:
    loads = page(world, path)

    assert loads.language == "pt-BR"
    assert "Balcão" in loads.title
    assert not loads.inline


def test_the_documentation_leads_to_the_sandbox_documents(world: World) -> None:
    assert "/docs/sandbox" in page(world).links
    assert "90010001000100" in world.get("/docs/sandbox", None).body.decode()


@pytest.mark.parametrize("path", PAGES)
def test_all_links_and_files_are_here(world: World, path: str) -> None:
    loads = page(world, path)
    for address in [*loads.files, *loads.links]:
        if not address.startswith("data:"):
            assert address.startswith("/")
            assert not address.startswith("//")
            assert world.get(address, None).status == 200


def test_no_file_loads_anything_from_elsewhere(world: World) -> None:
    for name, answer in files(world).items():
        text = answer.body.decode()
        assert "sourceMappingURL" not in text, name
        assert "@import" not in text, name
        for address in re.findall(r"url\(\s*[\"']?([^\"')]{0,20})", text):
            assert not name.endswith(".css") or address.startswith("data:"), f"{name}: {address}"
        if not name.endswith("swagger-ui-bundle.js"):
            # In the bundle: names of standards, and the validator that init.js turns off.
            cleaned = text.replace("http://www.w3.org/2000/svg", "")
            assert "://" not in cleaned.replace("http://www.w3.org/1999/xlink", ""), name


def test_the_validator_elsewhere_is_off(world: World) -> None:
    (init,) = (answer for name, answer in files(world).items() if name.endswith("/init.js"))
    assert "validatorUrl: null" in init.body.decode()
    assert 'url: "/openapi.json"' in init.body.decode()


@pytest.mark.parametrize("path", PAGES)
def test_a_strict_policy(world: World, path: str) -> None:
    headers = world.get(path, None).headers

    policy = dict(
        rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    for kind in ("script-src", "style-src", "connect-src"):
        assert policy[kind] == "'self'"
    assert policy["img-src"] == "'self' data:"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-type"] == "text/html; charset=utf-8"


def test_files_are_kept_for_ever_and_typed(world: World) -> None:
    kinds = {"js": "text/javascript", "css": "text/css"}
    found = files(world)
    assert len(found) >= 5
    for name, answer in found.items():
        assert answer.status == 200
        assert re.search(r"/[0-9a-f]{12}/", name), "the address changes with the content"
        assert "immutable" in answer.headers["cache-control"]
        assert "max-age=31536000" in answer.headers["cache-control"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        kind = kinds[name.rpartition(".")[2]]
        assert answer.headers["content-type"] == f"{kind}; charset=utf-8"


@pytest.mark.parametrize("path", [*PAGES, "/openapi.json"])
def test_pages_are_asked_for_again_and_not_sent_again(world: World, path: str) -> None:
    first = world.get(path, None)
    assert first.headers["cache-control"] == "no-cache"

    again = world.get(path, None, if_none_match=first.headers["etag"])
    assert (again.status, again.raw) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert world.get(path, None, if_none_match='"other"').status == 200
    several = f'"other", {first.headers["etag"]}'
    assert world.get(path, None, if_none_match=several).status == 304
    # Whatever there is (RFC 9110, 13.1.2).
    assert world.get(path, None, if_none_match="*").status == 304


def test_files_are_compressed_when_asked(world: World) -> None:
    for name, plain in files(world).items():
        packed = world.get(name, None, accept_encoding="gzip")
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.body == plain.raw
        assert len(packed.raw) < len(plain.raw)
        assert packed.headers["vary"] == "accept-encoding"
        head = world.request("HEAD", name, None, accept_encoding="gzip")
        assert head.raw == b""
        assert head.headers["content-length"] == str(len(packed.raw))
        assert world.get(name, None, accept_encoding="gzip").raw == packed.raw


def test_licences_are_served_with_what_they_license(world: World) -> None:
    folder = next(name for name in files(world)).rpartition("/")[0]
    assert "Apache License" in world.get(f"{folder}/LICENSE.txt", None).body.decode()
    assert "SmartBear" in world.get(f"{folder}/NOTICE.txt", None).body.decode()
    bundled = world.get(f"{folder}/swagger-ui-bundle.js.LICENSE.txt", None)
    assert bundled.headers["content-type"] == "text/plain; charset=utf-8"


def test_nothing_else_of_the_folder_is_served(world: World) -> None:
    folder = next(name for name in files(world)).rpartition("/")[0]
    for name in ("", "..", "docs.html", "../docs.html", "%2e%2e/docs.html", "VERSION.txt"):
        assert world.get(f"{folder}/{name}", None).status == 404
