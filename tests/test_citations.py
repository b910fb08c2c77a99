"""Every citation of a rule leads to a heading in `docs/`. The forms: `docs/contract/README.md`."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CONTRACT = DOCS / "contract"
TREES = ("src", "tests", "docs", "deploy", "bench", "tools", "clients")
KINDS = {".py", ".md", ".sql", ".xsd", ".toml", ".html", ".css", ".conf", ".yaml", ".yml", ".sh"}
TEXTS = [
    *sorted(ROOT.glob("*.md")),
    *(
        path
        for tree in TREES
        for path in sorted((ROOT / tree).rglob("*"))
        if path.suffix in KINDS and path != Path(__file__)
    ),
]

_NUMBER = r"\d+(?:\.\d+)*(?![\w])"
_ASIDE = r"(?: \([^()]*\))?"  # "4.9 (single flight), 5.5 (hanging up)"
_NUMBERS = rf"{_NUMBER}{_ASIDE}(?:(?:,? and |, | to ){_NUMBER}{_ASIDE})*"

_LINE_END = re.compile(r"\s*\n\s*(?:#+ |-- |// |> )?\s*")
_POINTS = re.compile(rf"\b[Cc]ontract ({_NUMBERS})")
_CHOICES = re.compile(r"(?:\bADR |adr/)(0\d{3})\b")
_SECTIONS = re.compile(rf"\b([\w-]+)\.md[`)]?,?(?: sections?)? ({_NUMBERS})")
_SECTIONS_ALONE = re.compile(rf"\bsections? ({_NUMBERS})")
_NOT_ALONE = re.compile(r"(?:\.md[`)]?,? |RFCs? [\d ,and]+|\[)$")
_TITLES = re.compile(r'\b([\w-]+)\.md`?, ("[^"]+"(?: and "[^"]+")*|[A-Z][\w ]+)')
_SPECIFICATION = re.compile(r"\b[Ss]pecification, ")
_PLACE = re.compile(
    rf'(?:"(?P<title>[^"]+)"|endpoints? (?P<endpoints>{_NUMBERS})'
    r"|(?P<word>[A-Z][a-z]+)(?=[;:),. ]))"
    rf"(?: (?P<items>{_NUMBERS}))?(?:,? and |, )?"
)
_PAGE_NAMES = re.compile(r"(?<![\w/*{}<>-])([\w-]+\.md)\b")

_HEADING = re.compile(r"^#+ (?:(\d+(?:\.\d+)*)\.? )?(.*)$", re.MULTILINE)


@cache
def numbers_of(page: Path) -> frozenset[str]:
    """The numbers that a page's headings begin with."""
    return frozenset(number for number, _ in _HEADING.findall(page.read_text("utf-8")) if number)


@cache
def titles_of(page: Path) -> tuple[str, ...]:
    """A page's headings, without their numbers."""
    return tuple(title for _, title in _HEADING.findall(page.read_text("utf-8")))


@cache
def pages_called(name: str) -> tuple[Path, ...]:
    """A page by its name alone, as code cites it."""
    return tuple(DOCS.rglob(name))


@cache
def contract() -> str:
    return "\n".join(page.read_text("utf-8") for page in sorted(CONTRACT.glob("*.md")))


@cache
def point_exists(number: str) -> bool:
    """`4.6`: on the page whose name begins with `4-`."""
    section = number.partition(".")[0]
    return any(number in numbers_of(page) for page in CONTRACT.glob(f"{section}-*.md"))


@cache
def title_exists(title: str) -> bool:
    """A heading of the contract that is, or begins with, this text; else a field of its tables."""
    headings = [found for _, found in _HEADING.findall(contract())]
    starts = any(re.match(rf"{re.escape(title)}(?!\w)", heading) for heading in headings)
    return starts or re.search(rf"^\| [^|]*`{re.escape(title)}`", contract(), re.M) is not None


@cache
def item_exists(title: str, number: str) -> bool:
    """Item 3 of the list under "Cache"; of "Endpoints" it is the endpoint."""
    if title == "Endpoints":
        return title_exists(f"Endpoint {number}")
    below = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", contract(), re.M | re.S)
    return below is not None and re.search(rf"^{number}\. ", below[1], re.M) is not None


def numbers_in(text: str) -> list[str]:
    return re.findall(_NUMBER, re.sub(r" \([^()]*\)", "", text))


def astray(text: str, own: Path | None = None) -> Iterator[str]:
    """The citations in a text that lead nowhere. `own` is the page that the text is, if it is."""
    text = _LINE_END.sub(" ", text)
    for cited in _POINTS.findall(text):
        yield from (f"contract {n}" for n in numbers_in(cited) if not point_exists(n))
    for number in _CHOICES.findall(text):
        if not list((DOCS / "adr").glob(f"{number}-*.md")):
            yield f"ADR {number}"
    yield from _sections_astray(text, own)
    for name, cited in _TITLES.findall(text):
        headings = [title for page in pages_called(f"{name}.md") for title in titles_of(page)]
        for title in re.findall(r'"([^"]+)"', cited):
            if title not in headings:
                yield f'{name}.md, "{title}"'
        if cited[0] != '"' and not any(cited.startswith(title) for title in headings):
            yield f"{name}.md, {cited}"
    yield from _specification_astray(text)


def _sections_astray(text: str, own: Path | None) -> Iterator[str]:
    cited: set[Path] = set() if own is None else {own}
    for name, numbers in _SECTIONS.findall(text):
        pages = pages_called(f"{name}.md")
        cited.update(pages)
        for number in numbers_in(numbers):
            if not any(number in numbers_of(page) for page in pages):
                yield f"{name}.md, section {number}"
    for found in _SECTIONS_ALONE.finditer(text):
        if _NOT_ALONE.search(text[: found.start()]):
            continue
        for number in numbers_in(found[1]):  # of a page that the same file cites
            if not any(number in numbers_of(page) for page in cited):
                yield f"section {number}"


def _specification_astray(text: str) -> Iterator[str]:
    for start in _SPECIFICATION.finditer(text):
        at = start.end()
        while place := _PLACE.match(text, at):
            at = place.end()
            if endpoints := place["endpoints"]:
                for number in numbers_in(endpoints):
                    if not title_exists(f"Endpoint {number}"):
                        yield f"specification, endpoint {number}"
                continue
            title = place["title"] or place["word"]
            if not title_exists(title):
                yield f'specification, "{title}"'
            for number in numbers_in(place["items"] or ""):
                if not item_exists(title, number):
                    yield f"specification, {title} {number}"


def test_every_citation_leads_somewhere() -> None:
    lost = [
        f"{path.relative_to(ROOT).as_posix()}: {cited}"
        for path in TEXTS
        for cited in astray(
            path.read_text("utf-8"), path if path.suffix == ".md" and DOCS in path.parents else None
        )
    ]
    assert not lost


def test_every_page_that_code_names_is_there() -> None:
    known = {path.name for path in TEXTS if path.suffix == ".md"}
    lost = {
        f"{path.relative_to(ROOT).as_posix()}: {name}"
        for path in TEXTS
        if path.suffix != ".md"
        for name in _PAGE_NAMES.findall(path.read_text("utf-8"))
        if name not in known
    }
    assert not lost


@pytest.mark.parametrize(
    "cited",
    [
        "contract 2.4",
        "contract 2.5 to 2.10",
        "contract 1.1, 3 (the paragraph on BR), 4.2 and 9.10",
        "ADR 0004",
        'specification, "Cache strategies (federal certificate)", "Credits"',
        "specification, Cache 3",
        "specification, endpoints 2 and 6",
        'specification, "Endpoints" 2 and 3',
        'specification, "datahora"',
        "specification, Authentication",
        "`rfb-open-data.md`, sections 3, 4.2 and 10.4",
        "`cnpja.md` section 2",
        "`infosimples.md`, 1 to 3",
        '`sandbox.md`, "Companies" and "People"',
        "`cnpja.md` section 3, and of the same page section 5",
        "RFC 9112, sections 2.2 and 77",
    ],
)
def test_a_form_that_leads_somewhere(cited: str) -> None:
    assert list(astray(f"A rule ({cited}).")) == []


@pytest.mark.parametrize(
    ("cited", "lost"),
    [
        ("contract 12.9", ["contract 12.9"]),
        ("contract 2.4, 2.99", ["contract 2.99"]),
        ("contract\n    # 4.99", ["contract 4.99"]),
        ("ADR 0999", ["ADR 0999"]),
        ('specification, "Credits", "Magic"', ['specification, "Magic"']),
        ("specification, Cache 7", ["specification, Cache 7"]),
        ("specification, endpoint 9", ["specification, endpoint 9"]),
        ("`cnpja.md`, sections 2 and 19", ["cnpja.md, section 19"]),
        ("`nobody.md`, section 1", ["nobody.md, section 1"]),
        ('`sandbox.md`, "Nowhere"', ['sandbox.md, "Nowhere"']),
        ("section 3", ["section 3"]),  # of which page?
    ],
)
def test_a_citation_that_leads_nowhere_is_told(cited: str, lost: list[str]) -> None:
    assert list(astray(f"A rule ({cited}).")) == lost
