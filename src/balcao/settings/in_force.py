"""The settings in force: values, without secrets, and where they come from."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, SecretStr

from balcao.core.addresses import HIDDEN, shown_address
from balcao.settings import FromEnvironment, Settings, TomlFile, config_file
from balcao.settings.groups import Group, group_of

PREFIX = "BALCAO_"
# The settings file; and, for `balcao lookup`, a key and its service.
OTHER_VARIABLES = frozenset({"BALCAO_CONFIG", "BALCAO_KEY", "BALCAO_URL"})

Origin: TypeAlias = Literal["ambiente", "arquivo", "padrão"]


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """A setting in force. Secrets are hidden."""

    path: tuple[str, ...]
    value: object
    origin: Origin
    group: Group

    @property
    def name(self) -> str:
        """Its name in the file, such as `cnpja.key`."""
        return ".".join(self.path)


def in_force(settings: Settings) -> Iterator[EffectiveSetting]:
    """Yield every setting, nested ones separately."""
    environment, file = given_settings(config_file())

    def origin(path: tuple[str, ...]) -> Origin:
        if contains(environment, path):
            return "ambiente"
        return "arquivo" if contains(file, path) else "padrão"

    for path, value in _leaves(settings):
        group = group_of(type(settings).model_fields[path[0]])
        yield EffectiveSetting(path, printable(value), origin(path), group)


def by_group(
    found: Iterable[EffectiveSetting],
) -> Sequence[tuple[Group, Sequence[EffectiveSetting]]]:
    """Return the groups of these settings, each with its settings in their order."""
    groups: dict[Group, list[EffectiveSetting]] = {group: [] for group in Group}
    for each in found:
        groups[each.group].append(each)
    return [(group, members) for group, members in groups.items() if members]


def given_settings(file: Path | None) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the settings in the environment, and those in the file."""
    return FromEnvironment(Settings)(), TomlFile(Settings, toml_file=file)()


def leaves_of_file(settings: Settings, file: Path) -> Iterator[tuple[str, object]]:
    """Yield names and values of the settings given in a file, secrets included."""
    _, tree = given_settings(file)
    for path, value in _leaves(settings):
        if contains(tree, path):
            yield ".".join(path), value


def _leaves(
    model: BaseModel, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _leaves(value, (*above, name))
        else:
            yield (*above, name), value


def contains(tree: Mapping[str, Any], path: Sequence[str]) -> bool:
    """Return whether a tree of settings has a setting with this path."""
    node: Any = tree
    for name in path:
        if not isinstance(node, Mapping) or name not in node:
            return False
        node = node[name]
    return True


def printable(value: object) -> object:
    """Convert a value for people and JSON, without secrets."""
    match value:
        case SecretStr():
            return HIDDEN if value.get_secret_value() else ""
        case Path() | IPv4Network() | IPv6Network():
            return str(value)
        case str():
            return shown_address(value)
        case tuple():
            return [printable(item) for item in value]
        case dict():
            return {name: printable(item) for name, item in value.items()}
        case _:
            return value


def setting_name(path: Sequence[object]) -> str:
    """Return a setting's name as an environment variable."""
    return PREFIX + "__".join(names_in(path)).upper()


def names_in(path: Sequence[object]) -> Sequence[str]:
    """Return the names in a complaint's path, outermost first."""
    # Skip indexes of lists and pydantic's marker of keys ("[key]").
    return [part for part in path if isinstance(part, str) and part != "[key]"]


def unknown_variables(environment: Mapping[str, str]) -> Sequence[str]:
    """Return complaints about variables that look like settings, most likely typing errors."""
    known = [f"{PREFIX}{name.upper()}" for name in Settings.model_fields]
    complaints: list[str] = []
    for name in sorted(environment):
        head = name.upper().partition("__")[0]
        if not head.startswith(PREFIX) or head in known or head in OTHER_VARIABLES:
            continue
        nearest = difflib.get_close_matches(head, known, 1)
        complaints.append(
            f"{name} não é uma configuração e foi ignorada."
            + (f" Seria {nearest[0]}?" if nearest else "")
        )
    return complaints
