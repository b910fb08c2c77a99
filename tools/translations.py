"""The English documentation compared with the Portuguese texts that it translates.

    python -m tools.translations                                  # names what is to be done
    python -m tools.translations --reviewed guides/lotes …        # records the present sources

A short text without a translation, or whose Portuguese was changed, is missing from
`english/phrases.toml`. For a longer text `english/sources.toml` has the digest of the Portuguese
text: review the translation named, then record it.
"""

import argparse
import hashlib
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from balcao import web
from balcao.http import documentation as openapi
from balcao.operations import OPERATIONS
from balcao.web.kit.lookups.forms import BY_PATH
from balcao.web.kit.snippets import SNIPPETS
from balcao.web.kit.standings import WORDS
from balcao.web.pages.docs import codes, event_pages, guides, reference
from balcao.web.pages.docs.contents import build
from balcao.web.pages.docs.language import Language, english, key
from balcao.web.pages.docs.pages import STATUSES

TEMPLATES = Path(web.__file__).parent / "templates"
RECORDS = Path(web.__file__).parent / "pages" / "docs" / "english" / "sources.toml"
ADDRESS = "https://balcao.example"
_LITERAL = re.compile(r'say\("([^"]*)"\)')


@dataclass(frozen=True, eq=False)
class Recording(Language):
    """A language that records the texts it is asked for."""

    asked: set[str] = field(default_factory=set)

    def say(self, text: str) -> str:
        """Return the text in this language, and record it."""
        self.asked.add(key(text))
        return super().say(text)


def _recording() -> Recording:
    of = english()
    return Recording(of.tag, of.root, of.folder, of.phrases)


def sources() -> Mapping[str, str]:
    """Return the digest of each Portuguese text that has an English file or section."""
    texts = {f"guides/{name}": text for name, text in guides.sources(_document()).items()}
    texts |= {f"errors/{code}": text for code, text in codes.sources().items()}
    for path in sorted(TEMPLATES.joinpath("docs", "en").iterdir()):
        source = TEMPLATES.joinpath("docs", path.name)
        texts[f"pages/{path.stem}"] = source.read_text("utf-8")
    return {name: digest(text) for name, text in texts.items()}


def digest(text: str) -> str:
    """Return the short digest of a text; line breaks do not count."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:12]


def recorded() -> Mapping[str, str]:
    """Return the digests of the sources at the last review."""
    return msgspec.toml.decode(RECORDS.read_bytes(), type=dict[str, str])


def differences(now: Mapping[str, str], then: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each text whose translation is to be reviewed, or has no source."""
    for name, of in now.items():
        if name not in then:
            yield f"{name}: not recorded"
        elif then[name] != of:
            yield f"{name}: the Portuguese text has changed"
    for name in then.keys() - now.keys():
        yield f"{name}: there is no Portuguese text any more"


def phrases() -> tuple[Set[str], Set[str]]:
    """Return the short texts that need a translation, and those that may have one."""
    lookups, others = _recording(), _recording()
    document = _document()
    paths = {f"/consultas/v2/{each}": each for each in BY_PATH}
    for path, node in document["paths"].items():
        of_lookup = any(path in (each, f"{each}/{{cnpj}}", f"{each}/{{cpf}}") for each in paths)
        language = lookups if of_lookup else others
        reference.entries({**document, "paths": {path: node}}, ADDRESS, language)
    whole = _recording()
    build(document, ADDRESS, whole)
    needed = lookups.asked | (whole.asked - others.asked) | {*_fixed()}
    return needed, others.asked


def _fixed() -> Iterator[str]:
    """Yield the texts of templates and forms."""
    names = ("docs/*.html", "_formulario.html", "base.html", "macros.html")
    for path in (path for name in names for path in TEMPLATES.glob(name)):
        yield from _LITERAL.findall(path.read_text("utf-8"))
    yield from STATUSES.values()
    yield from (snippet.needs for snippet in SNIPPETS.values())
    yield from (word.text for word in WORDS.values())
    yield from codes.SENTENCES
    yield from event_pages.GROUPS.values()
    yield from (*reference.TYPES.values(), *reference.FORMATS.values())
    yield from ("Cliente Python", "Cliente TypeScript")
    for operation in OPERATIONS.values():
        form = BY_PATH[operation.path]
        texts = [form.uf_hint, *(text for value, text in form.ufs(operation) if value != text)]
        for chosen in ("", "online", "nova"):
            texts += [text for _, *others in form.modes(chosen) for text in others]
        yield from filter(None, texts)


def complaints() -> Iterator[str]:
    """Yield a line for everything that is to be done."""
    yield from differences(sources(), recorded())
    needed, allowed = phrases()
    known = english().phrases.keys()
    yield from (f"phrases.toml: no translation of {text!r}" for text in sorted(needed - known))
    yield from (f"phrases.toml: unused: {text!r}" for text in sorted(known - needed - allowed))


def _document() -> Mapping[str, Any]:
    return openapi.document("1", ADDRESS)


def main() -> None:
    """Print what is to be done, or record reviewed translations."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--reviewed", nargs="+", metavar="NAME", default=[])
    reviewed = parser.parse_args().reviewed
    if reviewed:
        now = sources()
        kept = {name: of for name, of in recorded().items() if name in now}
        kept |= {name: now[name] for name in reviewed}
        lines = [f'"{name}" = "{of}"\n' for name, of in sorted(kept.items())]
        head = "# Digests of the Portuguese texts, written by `python -m tools.translations`.\n"
        RECORDS.write_text(head + "".join(lines), "utf-8")
    for line in complaints():
        print(line)


if __name__ == "__main__":
    main()
