"""Every setting in force: its value, without what is secret, and where it comes from."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, SecretStr

from balcao.core.addresses import HIDDEN, shown_address
from balcao.settings import FromEnvironment, Settings, TomlFile, config_file

PREFIX = "BALCAO_"
# Where the settings are; and, for `balcao lookup`, a key and the service where it is good.
BESIDE_THE_CLASS = frozenset({"BALCAO_CONFIG", "BALCAO_KEY", "BALCAO_URL"})

Origin: TypeAlias = Literal["ambiente", "arquivo", "padrão"]


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


def in_force(settings: Settings) -> Iterator[Shown]:
    """Every setting, parts one by one."""
    environment, file = written(config_file())

    def origin(path: tuple[str, ...]) -> Origin:
        if holds(environment, path):
            return "ambiente"
        return "arquivo" if holds(file, path) else "padrão"

    for path, value in _leaves(settings):
        yield Shown(path, printable(value), origin(path))


def written(file: Path | None) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """What the environment says, and what the file does."""
    return FromEnvironment(Settings)(), TomlFile(Settings, toml_file=file)()


def leaves_of_file(settings: Settings, file: Path) -> Iterator[tuple[str, object]]:
    """The settings that a file gives, by name, secret ones included."""
    _, tree = written(file)
    for path, value in _leaves(settings):
        if holds(tree, path):
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


def holds(tree: Mapping[str, Any], path: Sequence[str]) -> bool:
    """Whether a tree of settings says something of this one."""
    here: Any = tree
    for name in path:
        if not isinstance(here, Mapping) or name not in here:
            return False
        here = here[name]
    return True


def printable(value: object) -> object:
    """A value for people and JSON, without what is secret in it."""
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
    """A setting as it is called where it comes from, most likely the environment."""
    return PREFIX + "__".join(names_in(path)).upper()


def names_in(path: Sequence[object]) -> Sequence[str]:
    """The names in the path of a complaint, outermost first."""
    # A place in a list has no name of its own, nor has the name of a part as such ("[key]").
    return [part for part in path if isinstance(part, str) and part != "[key]"]


def unknown_variables(environment: Mapping[str, str]) -> Sequence[str]:
    """Variables that look like settings and are none: typing errors, most likely."""
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
