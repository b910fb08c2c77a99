"""Example programs that call this service, in the languages of its users.

Each is one complete file of `programs/`: it asks for a company and its federal certificate, decides
by error codes, and repeats what may be repeated (contract 6.4). Address and key are literals at its
top, which `written` replaces.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

# The literals in the files that are replaced.
ADDRESS = "http://127.0.0.1:8000"
KEY = "SUA_CHAVE"


def _with_backslashes(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _in_shell(text: str) -> str:
    return text.replace("'", "'\\''")


def _in_php(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _doubled(quote: str) -> Callable[[str], str]:
    return lambda text: text.replace(quote, quote * 2)


def _in_power_query(text: str) -> str:
    return text.replace("#(", "#(#)(").replace('"', '""')


def _in_advpl(text: str) -> str:
    """Escape for AdvPL, which has no escapes: a quote ends the text, and `Chr(34)` is appended."""
    return text.replace('"', '" + Chr(34) + "')


@dataclass(frozen=True, slots=True)
class Snippet:
    """A program in one language, and how a text is escaped in it."""

    name: str
    """Its name in addresses and in code."""
    title: str
    """The name that people read."""
    file: str
    """The file name to save it under."""
    needs: str
    """Requirements of a program, in Portuguese, shown after its title."""
    escaped: Callable[[str], str]


SNIPPETS: Mapping[str, Snippet] = {
    each.name: each
    for each in (
        Snippet("curl", "curl", "consulta.sh", "7.84 ou mais novo, e jq", _in_shell),
        Snippet("python", "Python", "consulta.py", "3.9 ou mais novo", _with_backslashes),
        Snippet("node", "Node", "consulta.mjs", "18 ou mais novo", _with_backslashes),
        Snippet("php", "PHP", "consulta.php", "8.1 ou mais novo", _in_php),
        Snippet("csharp", "C#", "Consulta.cs", ".NET 8 ou mais novo", _with_backslashes),
        Snippet("java", "Java", "Consulta.java", "17 ou mais novo", _with_backslashes),
        Snippet("go", "Go", "consulta.go", "1.20 ou mais novo", _with_backslashes),
        Snippet("delphi", "Delphi", "Consulta.dpr", "10.4 ou mais novo", _doubled("'")),
        Snippet("tlpp", "TLPP", "consulta.tlpp", "Protheus 12.1.33 ou mais novo", _in_advpl),
        Snippet("power-query", "Power Query", "consulta.pq", "Excel ou Power BI", _in_power_query),
        Snippet("apps-script", "Apps Script", "consulta.gs", "Planilhas Google", _with_backslashes),
    )
}


def written(name: str, address: str, key: str | None = None) -> str:
    """Return the program of this name, with the reader's own address and key in it.

    Pass the key only where the page may show it; without one, `SUA_CHAVE` stays. Raises ValueError
    for an address or key with unprintable characters.
    """
    snippet = SNIPPETS[name]
    address = address.rstrip("/")
    for each in (address, key or KEY):
        if not each.isprintable():
            raise ValueError("an address or a key with control characters")
    # Split before inserting: an address may contain the key's placeholder.
    before, _, rest = _program(snippet.file).partition(ADDRESS)
    between, _, after = rest.partition(KEY)
    return snippet.escaped(address).join((before, between)) + snippet.escaped(key or KEY) + after


def for_reader(
    address: str, key: str | None = None, names: Sequence[str] | None = None
) -> Sequence[tuple[Snippet, str]]:
    """Return these programs, or all of them, each as `written`, in the given order."""
    return [(SNIPPETS[name], written(name, address, key)) for name in names or SNIPPETS]


@cache
def _program(file: str) -> str:
    return resources.files(__package__).joinpath("programs", file).read_text("utf-8")
