"""Settings as the command line sees them: read, complained about, shown and written down."""

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from balcao.cli.failures import CommandFailed
from balcao.cli.output import program

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from balcao.settings import Settings

PREFIX = "BALCAO_"
BESIDE_THE_CLASS = frozenset({"BALCAO_CONFIG"})  # says where the settings are

Origin: TypeAlias = Literal["ambiente", "arquivo", "padrão"]

_HIDDEN = "***"
_USER_OF_ADDRESS = re.compile(r"(?<=://)[^/@\s]+(?=@)")


def read_settings(**overrides: object) -> "Settings":
    """All settings, or all complaints together. Values are not repeated: they may be secrets."""
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from balcao.settings import Settings, config_file

    file = config_file()
    if file is not None and not file.is_file():
        raise CommandFailed(
            f"BALCAO_CONFIG indica {file}, que não existe. Corrija o caminho, ou remova a variável."
        )
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)  # type: ignore[arg-type]
    except ValidationError as error:
        complaints = [
            f"  {setting_name(found['loc'])}: {_portuguese(found['type'], found.get('ctx') or {})}"
            for found in error.errors(include_url=False, include_input=False)
        ]
    except SettingsError as error:  # its text names the field, and quotes nothing else
        field = re.search(r'field "(\w+)"', str(error))
        name = setting_name((field[1],)) if field else "uma variável"
        complaints = [f'  {name}: deve ser JSON válido, como ["a", "b"]']
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        complaints = [f"  {file}: o arquivo não é TOML válido"]
    raise CommandFailed(
        "\n".join(
            [
                "Configuração inválida:",
                *complaints,
                f"Corrija e repita; todas as configurações: {program()} config docs",
            ]
        )
    )


def unknown_variables(environment: Mapping[str, str]) -> Sequence[str]:
    """Variables that look like settings and are none: typing errors, most likely."""
    from balcao.settings import Settings

    known = [f"{PREFIX}{name.upper()}" for name in Settings.model_fields]
    complaints: list[str] = []
    for name in sorted(environment):
        head = name.upper().partition("__")[0]
        if not head.startswith(PREFIX) or head in known or head in BESIDE_THE_CLASS:
            continue
        nearest = difflib.get_close_matches(head, known, 1)
        complaints.append(
            f"{name} não é uma configuração e foi ignorada."
            + (f" Seria {nearest[0]}?" if nearest else "")
        )
    return complaints


def setting_name(path: Sequence[object]) -> str:
    """A setting as it is called where it comes from, most likely the environment."""
    # A place in a list has no variable of its own.
    return PREFIX + "__".join(part.upper() for part in path if isinstance(part, str))


def _portuguese(kind: str, context: Mapping[str, Any]) -> str:
    match kind:
        case "missing":
            return "falta; é obrigatória quando as vizinhas são informadas"
        case "extra_forbidden":
            return "não existe"
        case "int_parsing" | "int_type" | "int_from_float":
            return "deve ser um número inteiro"
        case "float_parsing" | "float_type" | "finite_number":
            return "deve ser um número"
        case "bool_parsing" | "bool_type":
            return "deve ser true ou false"
        case "greater_than_equal":
            return f"deve ser {context['ge']} ou mais"
        case "greater_than":
            return f"deve ser mais que {context['gt']}"
        case "less_than_equal":
            return f"deve ser {context['le']} ou menos"
        case "less_than":
            return f"deve ser menos que {context['lt']}"
        case "literal_error" | "enum":
            return f"deve ser {str(context['expected']).replace(' or ', ' ou ')}"
        case "tuple_type" | "list_type":
            return 'deve ser uma lista em JSON, como ["a", "b"]'
        case "model_type" | "dict_type" | "model_attributes_type":
            return "tem partes; configure cada uma com dois sublinhados, como BALCAO_CNPJA__KEY"
        case "string_type" | "path_type":
            return "deve ser um texto"
        case _:
            return f"valor inválido ({kind})"


# Shown: every setting with its value and where it comes from.


@dataclass(frozen=True, slots=True)
class Shown:
    """One setting in force. Secrets are hidden already."""

    path: tuple[str, ...]
    value: object
    origin: Origin

    @property
    def name(self) -> str:
        """As in the file: `cnpja.key`."""
        return ".".join(self.path)


def in_force(settings: "Settings") -> Iterator[Shown]:
    """Every setting, parts one by one."""
    from pydantic_settings import EnvSettingsSource, TomlConfigSettingsSource

    from balcao.settings import Settings, config_file

    environment = EnvSettingsSource(Settings)()
    file = TomlConfigSettingsSource(Settings, toml_file=config_file())()

    def origin(path: tuple[str, ...]) -> Origin:
        if _holds(environment, path):
            return "ambiente"
        return "arquivo" if _holds(file, path) else "padrão"

    for path, value in _leaves(settings):
        yield Shown(path, _printable(value), origin(path))


def _leaves(
    model: "BaseModel", above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    from pydantic import BaseModel

    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _leaves(value, (*above, name))
        else:
            yield (*above, name), value


def _holds(tree: Mapping[str, Any], path: Sequence[str]) -> bool:
    here: Any = tree
    for name in path:
        if not isinstance(here, Mapping) or name not in here:
            return False
        here = here[name]
    return True


def _printable(value: object) -> object:
    from pydantic import SecretStr

    match value:
        case SecretStr():
            return _HIDDEN if value.get_secret_value() else ""
        case Path():
            return str(value)
        case str():
            return shown_address(value)
        case tuple():
            return [_printable(item) for item in value]
        case _:
            return value


def shown_address(text: str) -> str:
    """An address without the user and password it may carry."""
    return _USER_OF_ADDRESS.sub(_HIDDEN, text)


# Written down: docs/settings.md.

_HEAD = """\
# Configurações

<!-- Gerado por `balcao config docs > docs/settings.md`; não edite à mão. -->

Vêm do ambiente e de um arquivo TOML; o ambiente vence. O arquivo é o de `BALCAO_CONFIG`, senão
`balcao.toml` na pasta de dados (`BALCAO_HOME`), senão `balcao.toml` na pasta atual. São lidas uma
vez, na partida, e todos os erros são mostrados juntos. O que está em vigor, e de onde veio:
`balcao config show`.

Partes levam dois sublinhados no ambiente (`BALCAO_CNPJA__KEY`) e uma tabela no arquivo:

```toml
port = 8000

[cnpja]
key = "..."
```
"""

_TABLE_HEAD = (
    "| Variável | No arquivo | Tipo | Padrão | Descrição |",
    "|---|---|---|---|---|",
)


def write_manual() -> str:
    """The text of `docs/settings.md`."""
    from balcao.settings import Settings

    groups: list[tuple[str, FieldInfo, type[BaseModel]]] = []
    lines = [_HEAD, "## Gerais", "", *_TABLE_HEAD]
    for name, field in Settings.model_fields.items():
        group = _group(field)
        if group is None:
            lines.append(_row((name,), field))
        else:
            groups.append((name, field, group))
    for name, field, group in groups:
        lines += ["", f"## `{name}`", "", str(field.description), "", *_TABLE_HEAD]
        defaults = None if field.is_required() else field.default
        for part, of_part in group.model_fields.items():
            lines.append(_row((name, part), of_part, getattr(defaults, part, None)))
    return "\n".join(lines) + "\n"


def _group(field: "FieldInfo") -> "type[BaseModel] | None":
    """The class of a setting that has parts."""
    from typing import get_args

    from pydantic import BaseModel

    for kind in (field.annotation, *get_args(field.annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def _row(path: Sequence[str], field: "FieldInfo", default: object = None) -> str:
    if default is None and not field.is_required():
        default = field.default
    cells = (
        f"`{setting_name(path)}`",
        f"`{'.'.join(path)}`",
        _type(field),
        _default(default),
        str(field.description or "").replace("|", "\\|"),
    )
    return f"| {' | '.join(cells)} |"


def _default(value: object) -> str:
    import json

    from pydantic import SecretStr

    if value is None or isinstance(value, SecretStr):
        return "—"
    shown = _printable(value)
    return f"`{shown if isinstance(value, Path) else json.dumps(shown, ensure_ascii=False)}`"


def _type(field: "FieldInfo") -> str:
    from types import NoneType
    from typing import get_args, get_origin

    from pydantic import SecretStr

    kinds = [kind for kind in get_args(field.annotation) if kind is not NoneType]
    optional = NoneType in get_args(field.annotation)
    kind = kinds[0] if optional and len(kinds) == 1 else field.annotation
    if get_origin(kind) is Literal:
        return " ou ".join(f"`{value}`" for value in get_args(kind))
    if get_origin(kind) is tuple:
        (item, *_) = get_args(kind)
        return f"lista de {', '.join(f'`{value}`' for value in get_args(item))}"
    names: Mapping[Any, str] = {
        bool: "sim ou não",
        int: "inteiro",
        float: "número",
        str: "texto",
        Path: "caminho",
        SecretStr: "segredo",
    }
    bounds = [
        f"{sign} {getattr(mark, name)}"
        for mark in field.metadata
        for name, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<"))
        if getattr(mark, name, None) is not None
    ]
    return " ".join([names.get(kind, "texto"), *bounds])
