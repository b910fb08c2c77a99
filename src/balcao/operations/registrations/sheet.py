"""What of state registrations stands in a table: a row may be about one UF or all of them."""

from collections.abc import Callable, Iterable, Sequence

from balcao.core.writing import day
from balcao.operations.sheets import InSheets, SheetFact, fact, joined, one
from balcao.operations.views import Body


def of_registrations(name_field: str) -> InSheets:
    """The columns; `name_field` is where the answer tells whose registrations these are."""
    return InSheets(
        facts=(
            fact("nome", name_field),
            SheetFact("inscricoes_ativas", lambda body: _numbers(body, active=True)),
            SheetFact("inscricoes_inativas", lambda body: _numbers(body, active=False)),
            SheetFact("situacao", _of_active("situacao_pj")),
            SheetFact("tipo", _of_active("tipo_ie")),
            SheetFact("atualizado_em", _updated),
            SheetFact("ufs_sem_resposta", _silent),
        ),
        official={
            "razao_social": one(name_field),
            "inscricao_estadual": _official_numbers,
            "uf": one("uf"),
            "municipio": _of_addresses("municipio"),
            "cep": _of_addresses("cep"),
            "logradouro": _of_addresses("logradouro"),
        },
    )


def _found(body: Body) -> Sequence[Body]:
    found: Sequence[Body] = body.get("inscricoes_estaduais") or ()
    return found


def _numbers(body: Body, *, active: bool) -> str | None:
    found = [each for each in _found(body) if each["ativa"] is active]
    return joined(*(f"{each['inscricao_estadual']} {each['uf']}" for each in found))


def _of_active(field: str) -> Callable[[Body], str | None]:
    """What the active registrations say, each text once."""

    def of(body: Body) -> str | None:
        return joined(*_once(each.get(field) for each in _found(body) if each["ativa"]))

    return of


def _updated(body: Body) -> str | None:
    oldest = min(
        (each["updated_at"] for each in _found(body) if each.get("updated_at")), default=""
    )
    return day(oldest) if oldest else None


def _silent(body: Body) -> str | None:
    ufs: Iterable[Body] = body.get("ufs") or ()
    return joined(*(each["uf"] for each in ufs if each["origem"] == "indisponivel"))


def _official_numbers(body: Body) -> Sequence[str] | None:
    """The active ones, else all; that there is none at all is known only where all answered."""
    if "inscricoes_estaduais" not in body or not body.get("success"):
        return None
    found = _found(body)
    active = [each for each in found if each["ativa"]]
    numbers = [each["inscricao_estadual"] for each in active or found]
    return None if not numbers and _silent(body) else numbers


def _of_addresses(field: str) -> Callable[[Body], Sequence[str] | None]:
    def of(body: Body) -> Sequence[str] | None:
        addresses = (each.get("endereco") or {} for each in _found(body) if each["ativa"])
        return _once(each.get(field) for each in addresses) or None

    return of


def _once(texts: Iterable[str | None]) -> Sequence[str]:
    return list(dict.fromkeys(text for text in texts if text))
