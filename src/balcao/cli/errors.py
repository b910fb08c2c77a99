"""`balcao errors`: the tree of errors, printed from their classes."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from balcao.cli.output import AsJson, TextTable, record, show

if TYPE_CHECKING:
    from balcao.core.errors import BalcaoError

    _Drawn: TypeAlias = Iterator[tuple[str, type[BalcaoError]]]


def errors(as_json: AsJson = False) -> None:
    """Lista todos os erros do serviço, em árvore, com status, código e mensagem.

    Os que não têm status nem código são ramos da árvore ou só aparecem para o operador do
    serviço. Em /docs/erros há uma página para cada código.

    Exemplo:

      $ balcao errors
    """
    from balcao.core.errors import BalcaoError, all_errors, is_public

    table = TextTable(
        list(_drawn(BalcaoError)),
        {
            "Erro": lambda drawn: drawn[0],
            "Status": lambda drawn: drawn[1].status if is_public(drawn[1]) else None,
            "Código": lambda drawn: drawn[1].code if is_public(drawn[1]) else None,
            "Mensagem": lambda drawn: _message(drawn[1], is_public(drawn[1])),
        },
        numbers=("Status",),
        foldable=("Código", "Mensagem"),
        unbroken=("Erro",),
    )
    show(as_json, [_record(kind, is_public(kind)) for kind in all_errors()], table)


def _message(kind: "type[BalcaoError]", is_public: bool) -> str | None:
    hint = kind.operator_hint.replace("{program}", "balcao") or None
    return kind.message if is_public else hint


def _record(kind: "type[BalcaoError]", is_public: bool) -> Mapping[str, object]:
    notice = None if kind.notice is None else record(kind.notice, "tone title text advice")
    texts = record(kind, "status code message short tone field hint") | {"notice": notice}
    return {
        "name": kind.__name__,
        "parent": kind.__mro__[1].__name__,
        **{name: (text or None) if is_public else None for name, text in texts.items()},
        "operator_hint": kind.operator_hint or None,
    }


def _drawn(kind: "type[BalcaoError]", indent: str = "") -> "_Drawn":
    """Yield the subclasses of an error, with their names indented as a tree."""
    below = kind.__subclasses__()
    for place, each in enumerate(below, 1):
        corner, line = ("└── ", "    ") if place == len(below) else ("├── ", "│   ")
        yield f"{indent}{corner}{each.__name__}", each
        yield from _drawn(each, indent + line)
