"""State registrations, of companies and of rural producers: a map of the country, and a table."""

from collections.abc import Callable, Mapping, Sequence

from balcao.core.federation import ALL
from balcao.core.ledger import Trace
from balcao.web.drawing import Tile
from balcao.web.forms import Form
from balcao.web.results import (
    REGISTER_FIGURES,
    Again,
    Body,
    Table,
    Verdict,
    View,
    address,
    badge,
    document,
    plural,
)
from balcao.web.texts import credits, day


def registrations(form: Form, body: Body, trace: Trace) -> View:
    """State registrations of a company or of a rural producer."""
    found: Sequence[Body] = body["inscricoes_estaduais"]
    active = sum(each["ativa"] for each in found)
    silent = [each["uf"] for each in body.get("ufs") or () if each["origem"] == "indisponivel"]
    name = body.get("razao_social") or body.get("nome")
    note = plural(len(found) - active, "inativa", "inativas") if len(found) > active else ""
    if silent:
        note += f"{'. ' if note else ''}Sem resposta, e sem custo: {', '.join(silent)}"
    number = body.get("cnpj") or body.get("cpf") or ""
    return View(
        Verdict(*_registered(active, len(found)), f"{note}." if note else ""),
        facts=(
            ("CPF" if len(number) == 11 else "CNPJ", document(number)),
            ("Nome", name),
            ("UF consultada", _asked(body, trace)),
        ),
        tables=(table(found),),
        tiles=tiles(body, trace.uf),
        again=(_registrations_again(form, body, trace, number),),
    )


def _registered(active: int, all_of_them: int) -> tuple[str, str]:
    if active:
        return "good", plural(active, "inscrição ativa", "inscrições ativas")
    if all_of_them:
        return "warn", "Nenhuma inscrição ativa"
    return "info", "Sem inscrição estadual"


def _asked(body: Body, trace: Trace) -> str | None:
    ufs = body.get("ufs")
    return f"Todas ({len(ufs)})" if ufs else trace.uf or body.get("uf")


def _registrations_again(form: Form, body: Body, trace: Trace, number: str) -> Again:
    everywhere = body.get("ufs")
    with_addresses = any(each.get("endereco") for each in body["inscricoes_estaduais"])
    fields = [
        (form.document, number),
        ("uf", ALL if everywhere else (trace.uf or body.get("uf") or "")),
        ("onde", "fonte"),
        *((("endereco", "1"),) if with_addresses else ()),
    ]
    most = len(everywhere or (1,)) + with_addresses
    text = f"Atualizar online ({'até ' if most > 1 else ''}{credits(most)})"
    return Again(fields, [(text, "")])


_FURTHER: Sequence[tuple[str, str, Callable[[Body], str | None]]] = (
    ("tipo_ie", "Tipo", lambda each: each.get("tipo_ie")),
    ("situacao_pj", "Situação", lambda each: each.get("situacao_pj")),
    ("data_status", "Mudou em", lambda each: day(each.get("data_status"))),
    ("updated_at", "Atualizada", lambda each: day(each.get("updated_at"))),
    ("endereco", "Endereço", lambda each: address(each.get("endereco") or {})),
)


def table(found: Sequence[Body], *, short: bool = False) -> Table:
    """One row per registration; what nobody said of any has no column, nor has much if `short`."""
    further = [
        (title, text)
        for name, title, text in _FURTHER
        if not short and any(each.get(name) for each in found)
    ]
    rows = [
        (
            REGISTER_FIGURES.format(each["inscricao_estadual"]),
            each["uf"],
            badge(each["ativa"]),
            *(text(each) for _, text in further),
        )
        for each in found
    ]
    columns = ("Inscrição", "UF", "Estado", *(title for title, _ in further))
    return Table("Inscrições estaduais", columns, rows, "Nenhuma inscrição nas UFs consultadas.")


def tiles(body: Body, asked: str | None) -> Mapping[str, Tile]:
    """Every UF that was asked about; those that were not stay blank on the map."""
    uf = body.get("uf") if asked is None else asked
    told = {each["uf"]: each["origem"] for each in body.get("ufs") or ()}
    if not told and uf and uf != ALL:
        told = {uf: "online"}
    found: dict[str, list[bool]] = {each: [] for each in told}
    for each in body["inscricoes_estaduais"]:
        found.setdefault(each["uf"], []).append(each["ativa"])
    return {each: _tile(told.get(each), active) for each, active in found.items()}


def _tile(origin: str | None, active: Sequence[bool]) -> Tile:
    if origin == "indisponivel":
        return Tile("warn", "falhou", "não respondeu, e não foi cobrada")
    if not active:
        return Tile("info", "0", "nenhuma inscrição")
    count = sum(active)
    if not count:
        return Tile(
            "bad", "inativa", plural(len(active), "inscrição inativa", "inscrições inativas")
        )
    title = plural(count, "inscrição ativa", "inscrições ativas")
    others = len(active) - count
    if others:
        title += f", {plural(others, 'inativa', 'inativas')}"
    return Tile("good", str(count), title)
