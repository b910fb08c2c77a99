"""`balcao errors`: the tree of errors, printed from their classes."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from balcao.cli.output import AsJson, print_json, print_table, record

if TYPE_CHECKING:
    from balcao.core.errors import BalcaoError

    _Drawn: TypeAlias = Iterator[tuple[str, type[BalcaoError]]]


def errors(as_json: AsJson = False) -> None:
    """Lista cada erro do serviço, em árvore, com status, código e mensagem.

    Os que não têm status nem código são ramos da árvore, ou só aparecem para quem opera o
    serviço. O que fazer com cada código está em /docs/erros.

    Exemplo:

      $ balcao errors
    """
    from balcao.core.errors import BalcaoError, all_errors, is_public

    if as_json:
        print_json([_as_json(kind, is_public(kind)) for kind in all_errors()])
        return
    rows = [
        (name, str(kind.status), kind.code, kind.message)
        if is_public(kind)
        else (name, "—", "—", kind.operator_hint.replace("{program}", "balcao") or "—")
        for name, kind in _drawn(BalcaoError)
    ]
    print_table(
        ("Erro", "Status", "Código", "Mensagem"),
        rows,
        numbers=("Status",),
        foldable=("Código", "Mensagem"),
        unbroken=("Erro",),
    )


def _as_json(kind: "type[BalcaoError]", is_public: bool) -> Mapping[str, object]:
    notice = None if kind.notice is None else record(kind.notice, "tone title text advice")
    texts = record(kind, "status code message short tone field hint") | {"notice": notice}
    return {
        "name": kind.__name__,
        "parent": kind.__mro__[1].__name__,
        **{name: (text or None) if is_public else None for name, text in texts.items()},
        "operator_hint": kind.operator_hint or None,
    }


def _drawn(kind: "type[BalcaoError]", indent: str = "") -> "_Drawn":
    """Yield the errors below this one, with their names drawn as a tree."""
    below = kind.__subclasses__()
    for place, each in enumerate(below, 1):
        corner, line = ("└── ", "    ") if place == len(below) else ("├── ", "│   ")
        yield f"{indent}{corner}{each.__name__}", each
        yield from _drawn(each, indent + line)
