"""Little programs that ask this service, in the languages of those who call it.

Each is one file of `programs/`, complete and run as it is: it asks a company and its federal
certificate, decides by the code of an error, and repeats what may be repeated (contract 6.4).
Address and key are literals at its top; `written` puts the reader's own there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

# What stands in the files where the reader's own belongs.
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
    """AdvPL has no escapes: a quote ends the text, and is put together with it."""
    return text.replace('"', '" + Chr(34) + "')


@dataclass(frozen=True, slots=True)
class Snippet:
    """A program in one language, and how a text stands between its quotation marks."""

    name: str
    """In addresses, and for those who choose some of them."""
    title: str
    """For people."""
    file: str
    """What the reader saves it as."""
    needs: str
    """What has to be there to run it, in Portuguese, to be read after the title."""
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
    """The program called so with the reader's own address and key in it.

    Give the key only where the page may show it; without one `SUA_CHAVE` stays. ValueError where
    one of them has characters that a line of a program cannot have.
    """
    snippet = SNIPPETS[name]
    address = address.rstrip("/")
    for each in (address, key or KEY):
        if not each.isprintable():
            raise ValueError("an address or a key with control characters")
    # Both at once: an address that held the key's placeholder would get the key.
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
