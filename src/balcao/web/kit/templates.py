"""Templates: Jinja, autoescaped, with filters for numbers and days."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined

from balcao import __version__
from balcao.accounts.links import new_token
from balcao.core import writing
from balcao.core.people import EMAIL_CHARACTERS_MAX, NAME_CHARACTERS_MAX
from balcao.http.assets import TYPES, Asset, digest_of
from balcao.operations.company.page import STATUS_TONES
from balcao.web.kit.drawing import STRIP_SHAPES, SYMBOLS
from balcao.web.kit.words.vocabulary import last_day

_STATIC = resources.files("balcao.web").joinpath("static")

_FILTERS = (
    "ago",
    "cep",
    "change",
    "cnpj",
    "counted",
    "cpf",
    "credits",
    "credits_between",
    "day",
    "decimal",
    "document",
    "instant",
    "moment",
    "percent",
    "phone",
    "seconds",
    "time_of_day",
    "whole",
)


@dataclass(frozen=True, slots=True)
class Place:
    """One entry of the navigation."""

    text: str
    href: str
    current: bool


# Further addresses that belong to an entry.
_ALSO_UNDER: Mapping[str, Sequence[str]] = {
    "/app/operador/sistema": (
        "/app/operador/operadores",
        "/app/operador/dados-abertos",
        "/app/operador/copias",
        "/app/operador/prorrogacoes",
        "/app/operador/obsoletos",
        "/app/operador/configuracoes",
        "/app/operador/auditoria",
    ),
}
# Address, text, and the roles that see it.
_PLACES: Sequence[tuple[str, str, frozenset[str]]] = (
    ("/app", "Consultar", frozenset({"consultant", "manager"})),
    ("/app/carteira", "Carteira", frozenset({"consultant", "manager"})),
    ("/app/lotes", "Lotes", frozenset({"consultant", "manager"})),
    ("/app/historico", "Histórico", frozenset({"consultant", "manager"})),
    ("/app/extrato", "Extrato", frozenset({"manager"})),
    ("/app/chaves", "Chaves", frozenset({"manager"})),
    ("/app/webhooks", "Webhooks", frozenset({"manager"})),
    ("/app/usuarios", "Usuários", frozenset({"manager"})),
    ("/app/operador", "Painel", frozenset({"operator"})),
    ("/app/operador/contas", "Contas", frozenset({"operator"})),
    ("/app/operador/fontes", "Fontes", frozenset({"operator"})),
    ("/app/operador/sistema", "Sistema", frozenset({"operator"})),
)


class Assets:
    """The application's own files: addresses contain the content's digest and never change."""

    def __init__(self) -> None:
        self._files: dict[str, Asset] = {}
        self._names: dict[str, str] = {}
        for entry in _STATIC.iterdir():
            stem, _, extension = entry.name.rpartition(".")
            if extension in ("css", "js", "svg"):
                content = entry.read_bytes()
                name = f"{stem}-{digest_of(content)}.{extension}"
                self._names[entry.name] = name
                self._files[name] = Asset(content, TYPES[extension])

    def address(self, name: str) -> str:
        return f"/app/arquivos/{self._names[name]}"

    def named(self, name: str) -> Asset | None:
        """Return the file with this name in its address."""
        return self._files.get(name)


@cache
def environment() -> Environment:
    """Return the environment of all templates; only `asset` is added later.

    There is one per process: a template is compiled when it is first rendered.
    """
    made = Environment(
        loader=PackageLoader("balcao.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update({name: getattr(writing, name) for name in _FILTERS})
    made.filters["said"] = _said
    made.globals.update(
        new_form_id=new_token,
        # Of pages in Portuguese; the documentation also has another language.
        lang="pt-BR",
        root="/docs",
        say=str,
        last_day=last_day,
        symbols=SYMBOLS,
        strip_shapes=STRIP_SHAPES,
        status_tones=STATUS_TONES,
        version=__version__,
        name_characters_max=NAME_CHARACTERS_MAX,
        email_characters_max=EMAIL_CHARACTERS_MAX,
    )
    return made


def _said(
    options: Sequence[tuple[str, ...]], say: Callable[[str], str]
) -> Sequence[tuple[str, ...]]:
    """Return the options of a field with their texts, but not their values, in a language."""
    return [(value, *map(say, texts)) for value, *texts in options]


class Pages:
    """Renders templates."""

    def __init__(self) -> None:
        self.assets = Assets()
        self._templates = environment()
        self._templates.globals["asset"] = self.assets.address

    def render(self, template: str, values: Mapping[str, object]) -> str:
        """Return a template's HTML. `PageContext.page` adds the values that every page has."""
        return self._templates.get_template(template).render(values)


def navigation(role: str | None, path: str) -> Sequence[Place]:
    """Return the navigation for a person's role; None: not signed in."""
    visible = [(href, text) for href, text, roles in _PLACES if role in roles]
    # The current entry has the longest matching address.
    matching = {
        place: href
        for href, _ in visible
        for place in (href, *_ALSO_UNDER.get(href, ()))
        if path == place or path.startswith(f"{place}/")
    }
    current = matching[max(matching, key=len)] if matching else ""
    return [Place(text, href, href == current) for href, text in visible]
