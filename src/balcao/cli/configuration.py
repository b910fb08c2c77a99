"""Settings as the command line sees them: read, complained about and shown."""

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from balcao.cli.failures import CommandFailed
from balcao.cli.output import program
from balcao.core.addresses import HIDDEN, shown_address

if TYPE_CHECKING:
    from pydantic import BaseModel

    from balcao.settings import Settings

PREFIX = "BALCAO_"
BESIDE_THE_CLASS = frozenset({"BALCAO_CONFIG"})  # says where the settings are

Origin: TypeAlias = Literal["ambiente", "arquivo", "padrão"]


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
        if any(variable.upper().startswith(f"{name}__") for variable in os.environ):
            name += "__..."  # one of its parts; it does not say which
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
    # A place in a list has no variable of its own, nor has the name of a part as such ("[key]").
    names = [part for part in path if isinstance(part, str) and part != "[key]"]
    return PREFIX + "__".join(names).upper()


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
        case "too_short":
            return "não pode ser vazia"
        case "value_error":  # ours, of settings.py: it repeats no value
            return str(context["error"])
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
        yield Shown(path, printable(value), origin(path))


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


def printable(value: object) -> object:
    """A value for people and JSON, without what is secret in it."""
    from pydantic import SecretStr

    match value:
        case SecretStr():
            return HIDDEN if value.get_secret_value() else ""
        case Path():
            return str(value)
        case str():
            return shown_address(value)
        case tuple():
            return [printable(item) for item in value]
        case dict():
            return {name: printable(item) for name, item in value.items()}
        case _:
            return value
