"""The documentation of each error code, put together from its parts.

Its name, statuses and messages are on the error's class (`core.errors`), the operations that raise
it are in their pages, and `errors.toml` has the rest: when it occurs, what to do, how to see it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import msgspec

from balcao.core.errors import public_errors
from balcao.core.problems import PAGES, Problem, problem_of
from balcao.http.openapi.errors import PLAIN
from balcao.web.kit.words.vocabulary import CODES
from balcao.web.pages.docs import markdown
from balcao.web.pages.docs.language import ENGLISH, PORTUGUESE, Language
from balcao.web.pages.docs.navigation import Chapter, Leaf
from balcao.web.pages.docs.reference import Entry

INDEX = PAGES.removesuffix("/")  # the page with all codes
_WITH_KEY = '-H "x-api-key: $BALCAO_KEY"'
_NEW = "{novo}"
_ID = "{id}"

_NO_COST = "Não. Erros não são cobrados."
_WAITED = "Sim, depois do tempo indicado em `Retry-After`. Antes disso, a resposta é a mesma."
_AS_SENT = "Não sem mudar a requisição: a resposta seria a mesma."
SENTENCES = (_NO_COST, _WAITED, _AS_SENT)


class SandboxStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One request. `{id}` is a value taken from an earlier answer, `{novo}` is new each time."""

    path: str
    method: str = "GET"
    headers: dict[str, str] = {}
    type: str = ""  # the body's media type
    body: str = ""
    take: str = ""  # the value to take from the answer, as a `jq` expression
    until: str = ""  # repeated until `estado` has this value
    meanwhile: bool = False  # the next steps are sent while it runs


class CodeWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The section of a code in `errors.toml`."""

    when: str
    todo: str
    repeat: str = ""
    charged: str = ""
    cost: str = ""
    account: str = "pre-pago"
    setup: tuple[str, ...] = ()
    steps: tuple[SandboxStep, ...] = ()
    unseen: str = ""


@dataclass(frozen=True, slots=True)
class CodePage:
    """The content of the page of a code."""

    code: str
    title: str
    words: CodeWords
    problems: Sequence[Problem]
    raised_by: Sequence[Entry]  # empty: any operation
    language: Language

    @property
    def href(self) -> str:
        """The page's address; in Portuguese, as in the `Link` header of answers."""
        return self.language.page_of(self.code)

    @property
    def statuses(self) -> Sequence[int]:
        """The statuses it may come with, the usual one first."""
        return list(dict.fromkeys(problem.status for problem in self.problems))

    @property
    def wait_seconds(self) -> int | None:
        """An example of its `Retry-After`; None: it comes without."""
        waits = (problem.retry_after_seconds for problem in self.problems)
        return next((seconds for seconds in waits if seconds is not None), None)

    @property
    def repeat(self) -> str:
        """A sentence about sending the request again."""
        usual = _AS_SENT if self.wait_seconds is None else _WAITED
        return self.words.repeat or self.language.say(usual)

    @property
    def charged(self) -> str:
        """A sentence about the cost."""
        return self.words.cost or f"{self.language.say(_NO_COST)} {self.words.charged}".rstrip()

    @property
    def messages(self) -> Sequence[str]:
        return list(dict.fromkeys(problem.message for problem in self.problems))

    @property
    def body(self) -> str:
        """An example of the answer."""
        written = msgspec.json.encode(PLAIN.body(self.problems[0]))
        return msgspec.json.format(written, indent=2).decode()

    def script(self, address: str) -> str:
        """Return a shell script that reproduces the error. Empty: it cannot be reproduced."""
        return script(self.words, address)


@cache
def words() -> Mapping[str, CodeWords]:
    """Return the sections of `errors.toml`, by code."""
    text = resources.files(__package__).joinpath("errors.toml").read_bytes()
    return msgspec.toml.decode(text, type=dict[str, CodeWords])


class Translated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The section of a code in `english/errors.toml`: its title, and the texts of `CodeWords`."""

    title: str
    when: str
    todo: str
    repeat: str = ""
    charged: str = ""
    cost: str = ""
    unseen: str = ""


@cache
def translations() -> Mapping[str, Translated]:
    """Return the sections of `english/errors.toml`, by code."""
    text = ENGLISH.joinpath("errors.toml").read_bytes()
    return msgspec.toml.decode(text, type=dict[str, Translated])


def sources() -> Mapping[str, str]:
    """Return the Portuguese texts of every code, as one text each."""
    return {
        code: "\n".join(
            (
                CODES[code].text,
                *(getattr(section, name) for name in Translated.__struct_fields__[1:]),
            )
        )
        for code, section in words().items()
    }


def _in(language: Language, code: str) -> tuple[str, CodeWords]:
    """Return the title and the section of a code in this language."""
    section = words()[code]
    if language.is_source:
        return CODES[code].text, section
    texts = msgspec.structs.asdict(translations()[code])
    return texts.pop("title"), msgspec.structs.replace(section, **texts)


def pages(entries: Mapping[str, Entry], language: Language = PORTUGUESE) -> Mapping[str, CodePage]:
    """Return the page of every code, by status, then in the order of `errors.toml`."""
    problems: dict[str, list[Problem]] = {}
    for kind in public_errors():
        for error in kind.samples():
            problem = problem_of(error)
            problems.setdefault(problem.code, []).append(problem)
    bug = problem_of(RuntimeError())
    problems[bug.code].append(bug)
    raised_by: dict[str, list[Entry]] = {}
    for entry in entries.values():
        for code in dict.fromkeys(refused.code for refused in entry.refusals):
            raised_by.setdefault(code, []).append(entry)
    found = [
        CodePage(code, *_in(language, code), problems[code], raised_by.get(code, ()), language)
        for code in words()
    ]
    return {page.code: page for page in sorted(found, key=lambda page: page.statuses[0])}


def script(section: CodeWords, address: str) -> str:
    """Return the steps as a shell script, which may call `balcao` on the service's machine."""
    texts = [*section.setup, *(text for step in section.steps for text in _texts(step))]
    lines = ["novo=$(date +%s)"] if any(_NEW in text for text in texts) else []
    lines += map(_in_shell, section.setup)
    lines += [
        _command(step, section, address, last=step is section.steps[-1]) for step in section.steps
    ]
    return "\n".join(lines)


def _texts(step: SandboxStep) -> Sequence[str]:
    return (step.path, step.body, *step.headers.values())


def _command(step: SandboxStep, section: CodeWords, address: str, *, last: bool) -> str:
    parts = [f'curl -sS{"i" if last else ""} "{address}{_in_shell(step.path)}"']
    if step.method != "GET":
        parts[0] += f" -X {step.method}"
    elif step.body:
        parts[0] += " -X GET"
    if section.account:
        parts.append(_WITH_KEY)
    parts += [f'-H "{name}: {_in_shell(value)}"' for name, value in step.headers.items()]
    if step.type:
        parts.append(f'-H "Content-Type: {step.type}"')
    if step.body:
        quoted = f"'{step.body}'"
        if _in_shell(step.body) != step.body:
            quoted = '"' + _in_shell(step.body.replace('"', '\\"')) + '"'
        parts.append(f"--data-binary {quoted}")
    text = " \\\n  ".join(parts)
    if step.take:
        return f"id=$({text} | jq -r '{step.take}')"
    if step.until:
        return f'until {text} | grep -q \'"estado":"{step.until}"\'; do sleep 1; done'
    if step.meanwhile:
        return f"{text} > /dev/null &\nsleep 1"
    return text if last else f"{text} > /dev/null"


def _in_shell(text: str) -> str:
    return text.replace(_NEW, "$novo").replace(_ID, "$id")


def chapter(pages: Mapping[str, CodePage], language: Language = PORTUGUESE) -> Chapter:
    """Return the chapter of error codes, for navigation and search."""
    say = language.say
    every = Leaf(
        language.href(INDEX),
        say("Códigos de erro"),
        say("O significado de cada código, quando repetir e como reproduzir na sandbox."),
    )
    return Chapter(say("Erros"), (every, *map(_leaf, pages.values())))


def _leaf(page: CodePage) -> Leaf:
    statuses = " ".join(map(str, page.statuses))
    words = markdown.plain(f"{statuses} {page.words.when} {page.words.todo}")
    return Leaf(page.href, page.code, f"{page.title}.", words, listed=False)
