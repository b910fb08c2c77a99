"""Generator of the settings' manual, `docs/settings.md`, from their classes."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from balcao.core.federation import UFS
from balcao.providers.fields import Uf, WebAddress
from balcao.settings import OneOf, Settings
from balcao.settings.groups import Group, group_of
from balcao.settings.in_force import printable, setting_name
from balcao.settings.values import Network, Page

_HEAD = """\
# Configurações

<!-- Gerado por `balcao config docs > docs/settings.md`; não edite à mão. -->

As configurações vêm de variáveis de ambiente e de um arquivo TOML. As variáveis de ambiente
prevalecem. O arquivo é o indicado em `BALCAO_CONFIG`; se não houver, `balcao.toml` na pasta de
dados (`BALCAO_HOME`); se não houver, `balcao.toml` na pasta atual. São lidas uma vez, no início, e
todos os erros são mostrados juntos. Para ver os valores em uso e a origem de cada um:
`balcao config show`.

Configurações com partes usam dois sublinhados no ambiente (`BALCAO_CNPJA__KEY`) e uma tabela no
arquivo:

```toml
port = 8000

[cnpja]
key = "..."
```

Escreva listas como `["a", "b"]`. No ambiente, também vale `a,b`. Um nome desconhecido é um erro no
arquivo e um aviso no ambiente (de `balcao serve`, `balcao config show` e `balcao doctor`).
"""

_TABLE_HEAD = (
    "| Variável | No arquivo | Tipo | Padrão | Descrição |",
    "| -- | -- | -- | -- | -- |",
)


def write_manual() -> str:
    """Return the text of `docs/settings.md`."""
    lines = [_HEAD.rstrip("\n")]
    for group in Group:
        fields = {
            name: field for name, field in Settings.model_fields.items() if group_of(field) is group
        }
        parts = {name: _parts(field) for name, field in fields.items()}
        lines += ["", f"## {group.value}", "", *_TABLE_HEAD]
        lines += [_row((name,), field) for name, field in fields.items() if parts[name] is None]
        for name, field in fields.items():
            if (model := parts[name]) is not None:
                lines += ["", f"### `{name}`", "", str(field.description), "", *_TABLE_HEAD]
                defaults = None if field.is_required() else field.default
                for part, of_part in model.model_fields.items():
                    lines.append(_row((name, part), of_part, getattr(defaults, part, None)))
    return "\n".join(lines) + "\n"


def _parts(field: FieldInfo) -> type[BaseModel] | None:
    """Return the class of a setting with parts, else None."""
    for kind in (field.annotation, *get_args(field.annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def _row(path: Sequence[str], field: FieldInfo, default: object = None) -> str:
    if default is None and not field.is_required():
        default = field.default
    cells = (
        f"`{setting_name(path)}`",
        f"`{'.'.join(path)}`",
        type_in_words(field),
        _default(default),
        str(field.description or "").replace("|", "\\|"),
    )
    return f"| {' | '.join(cells)} |"


def _default(value: object) -> str:
    if value is None or isinstance(value, SecretStr):
        return "—"
    if isinstance(value, tuple) and len(value) > len(UFS) / 2 and set(value) <= set(UFS):
        missing = [uf for uf in UFS if uf not in value]
        return f"todas, menos {', '.join(missing)}" if missing else f"todas as {len(UFS)}"
    shown = printable(value)
    return f"`{shown if isinstance(value, Path) else json.dumps(shown, ensure_ascii=False)}`"


def type_in_words(field: FieldInfo) -> str:
    """Describe the type of a setting. Raises `TypeError` for a type without a description."""
    kinds = [kind for kind in get_args(field.annotation) if kind is not NoneType]
    optional = NoneType in get_args(field.annotation)
    kind = kinds[0] if optional and len(kinds) == 1 else field.annotation
    bounds = [
        f"{sign} {getattr(mark, name)}"
        for mark in field.metadata
        for name, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<"))
        if getattr(mark, name, None) is not None
    ]
    return " ".join([_words(kind), *bounds])


def _words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " ou ".join(f"`{value}`" for value in get_args(kind))
    if get_origin(kind) is tuple:
        (item, *_) = get_args(kind)
        for mark in get_args(item):
            if isinstance(mark, OneOf):
                return f"lista de {', '.join(f'`{word}`' for word in mark.words)}"
        return f"lista de {_known(item, _MANY)}"
    return _known(kind, _ONE)


def _known(kind: Any, words: Sequence[tuple[Any, str]]) -> str:
    for known, word in words:
        if kind == known:
            return word
    raise TypeError(f"{kind} has no words in the manual: give it some in cli/manual.py")


# Pairs instead of mappings: some types are unhashable.
_ONE: Sequence[tuple[Any, str]] = (
    (bool, "sim ou não"),
    (int, "inteiro"),
    (float, "número"),
    (str, "texto"),
    (Path, "caminho"),
    (SecretStr, "segredo"),
    (dict[Uf, WebAddress], 'endereço por UF, em JSON: `{"SP": "https://..."}`'),
)
_MANY: Sequence[tuple[Any, str]] = (
    (str, "textos"),
    (int, "inteiros"),
    (Uf, "UFs"),
    (Network, "endereços ou redes"),
    (Page, "endereços"),
)
