"""Reader of the settings of a command; it reports all errors together."""

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from balcao.cli.failures import CommandFailed
from balcao.cli.output import program

if TYPE_CHECKING:
    from balcao.settings import Settings


def read_settings(**overrides: object) -> "Settings":
    """Read all settings. Raises `CommandFailed` with all errors, without values (secrets)."""
    from pydantic import ValidationError

    from balcao.settings import NotUtf8, Settings, config_file

    file = config_file()
    if file is not None and not file.is_file():
        raise CommandFailed(
            f"BALCAO_CONFIG indica {file}, que não existe. Corrija o caminho ou remova a variável."
        )
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)  # type: ignore[arg-type]
    except ValidationError as error:
        from balcao.settings.in_force import given_settings, names_in

        where = _SettingPlaces(file, given, *given_settings(file))
        all_found = error.errors(include_url=False, include_input=False)
        wrong_parts = {found["loc"][:-1] for found in all_found}
        complaints = [
            f"  {name}: "
            + (
                _unknown(name, *names_in(found["loc"]))
                if found["type"] == "extra_forbidden"
                else _portuguese(found["type"], found.get("ctx") or {})
            )
            for found in all_found
            for name in [where.name(found["loc"])]
            # Pydantic also reports a list as too short without its invalid items.
            if found["type"] != "too_short" or found["loc"] not in wrong_parts
        ]
    except NotUtf8 as error:
        complaints = [
            f"  {file}{_at(error.line)}: o arquivo não está em UTF-8. No editor, escolha “Salvar"
            " como” e a codificação UTF-8: salve em UTF-8 e repita"
        ]
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"\(at line (\d+)", str(error))
        complaints = [f"  {file}{_at(int(line[1]) if line else None)}: o arquivo não é TOML válido"]
    raise CommandFailed(
        "\n".join(
            [
                "Configuração inválida:",
                *complaints,
                f"Corrija e repita. Todas as configurações: {program()} config docs",
            ]
        )
    )


@dataclass(frozen=True, slots=True)
class _SettingPlaces:
    """The places of settings, to name a setting as the operator wrote it."""

    file: Path | None
    given: Mapping[str, object]  # options of the command
    in_environment: Mapping[str, Any]
    in_file: Mapping[str, Any]

    def name(self, path: Sequence[object]) -> str:
        """Return the setting's variable, or its file, line and name there."""
        from balcao.settings import toml_text
        from balcao.settings.in_force import contains, names_in, setting_name

        names = names_in(path)
        # A missing setting is reported at the place of its neighbours.
        for known in (names, names[:-1]):
            if not known or known[0] in self.given or contains(self.in_environment, known):
                break
            if self.file is not None and contains(self.in_file, known):
                line = line_of(toml_text(self.file), known)
                return f"{self.file}{_at(line)}: {'.'.join(names)}"
        return setting_name(path)


def line_of(text: str, path: Sequence[str]) -> int | None:
    """Return the line of this name in a TOML text, else of the nearest enclosing name."""
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if head := _TABLE.match(line):
            table = _parts(head[1])
            found.setdefault(table, number)
        elif entry := _ENTRY.match(line):
            found.setdefault((*table, *_parts(entry[1])), number)
    known = (found.get(tuple(path[:length])) for length in range(len(path), 0, -1))
    return next((line for line in known if line is not None), None)


_TABLE = re.compile(r"\s*\[([\w\s.\"'-]+)\]")
_ENTRY = re.compile(r"\s*([\w\s.\"'-]+?)\s*=")


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip(" \t\"'") for part in dotted.split("."))


def _at(line: int | None) -> str:
    return f", linha {line}" if line else ""


def _unknown(name: str, head: str, *parts: str) -> str:
    """Return the message for an unknown name, with its new or the nearest name."""
    from balcao.settings import RENAMED, Settings
    from balcao.settings.in_force import PREFIX, setting_name

    if not parts and (new := RENAMED.get(head)) is not None:
        return f"agora se chama {setting_name([new]) if name.startswith(PREFIX) else new}"
    nearest = [] if parts else difflib.get_close_matches(head, Settings.model_fields, 1)
    return f"não existe. Seria {nearest[0]}?" if nearest else "não existe"


def _portuguese(kind: str, context: Mapping[str, Any]) -> str:
    match kind:
        case "missing":
            return "é obrigatória quando as configurações relacionadas são informadas"
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
            return 'deve ser uma lista, como ["a", "b"]; no ambiente também a,b'
        case "dict_type":
            return 'deve ser uma tabela; no ambiente em JSON, como {"SP": "https://…"}'
        case "string_too_short":
            return "não pode ser vazio"
        case "string_pattern_mismatch":
            return "não pode ter espaços, acentos nem quebras de linha"
        case "model_type" | "model_attributes_type":
            return "tem partes: configure cada uma com dois sublinhados, como BALCAO_CNPJA__KEY"
        case "too_short":
            return "não pode ser vazia"
        case "value_error":  # raised by our settings, without the value
            return str(context["error"])
        case "string_type" | "path_type":
            return "deve ser um texto"
        case _:
            return f"valor inválido ({kind})"
