"""State registrations, of companies and of rural producers: a map of the country, and a table."""

from collections.abc import Callable, Mapping, Sequence

from balcao.core.errors import SourceFailed
from balcao.core.federation import ALL
from balcao.core.ledger import Trace
from balcao.core.notices import Tone
from balcao.core.writing import credits, day
from balcao.operations.parameters import CACHE
from balcao.operations.views import (
    REGISTER_FIGURES,
    Again,
    Beside,
    Body,
    Button,
    FormWords,
    Headline,
    RecordedResult,
    ResultTable,
    ResultView,
    Tile,
    address,
    badge,
    document,
    plural,
    renewed,
    source_failed,
)

FAILURES = {
    SourceFailed.code: source_failed(
        "Nenhuma secretaria da fazenda consultada deu uma resposta que se possa usar."
    )
}

_DAYS = str(CACHE.default)

# Of what is remembered.
GISTS: Mapping[str, tuple[str, Tone]] = {
    "ativa": ("1 inscrição ativa", "good"),
    "ativas": ("{} inscrições ativas", "good"),
    "inativa": ("Nenhuma inscrição ativa", "warn"),
    "nenhuma": ("Sem inscrição", "info"),
}


def gist_of(active: int, all_of_them: int) -> str:
    """Its code, by how many registrations there are."""
    if active:
        return "ativa" if active == 1 else f"ativas:{active}"
    return "inativa" if all_of_them else "nenhuma"


def form(
    slug: str,
    title: str,
    answers: str,
    *,
    example: str = "90.010.001/0001-00",
    uf_hint: str = "",
) -> FormWords:
    """The words of one of the two forms; prices are the same."""
    return FormWords(
        slug,
        title,
        answers,
        "1 crédito por UF",
        "1 crédito por UF que responder, e mais 1 com os endereços. Falhas não custam nada.",
        example,
        uf_hint,
    )


def view(document_field: str, recorded: RecordedResult) -> ResultView:
    """State registrations of a company or of a rural producer."""
    body, trace = recorded.body, recorded.trace
    found: Sequence[Body] = body["inscricoes_estaduais"]
    active = sum(each["ativa"] for each in found)
    silent = [each["uf"] for each in body.get("ufs") or () if each["origem"] == "indisponivel"]
    name = body.get("razao_social") or body.get("nome")
    notes = []
    if 0 < active < len(found):
        notes.append(plural(len(found) - active, "inativa", "inativas"))
    if silent:
        notes.append(f"Sem resposta, e sem custo: {', '.join(silent)}")
    if omitted := body.get("inscricoes_omitidas", 0):
        left_out = plural(omitted, "inscrição", "inscrições")
        notes.append(f"Fora da lista, em situação que não se sabe ler: {left_out}")
    everywhere = body.get("ufs")
    if not everywhere:
        notes.append("As outras UFs não foram consultadas")
    number = body.get("cnpj") or body.get("cpf") or ""
    tone, text = _registered(active, len(found))
    where = _where(body, trace, silent) or ("" if found else " estadual")
    return ResultView(
        Headline(tone, text + where, " ".join(f"{each}." for each in notes)),
        facts=(
            ("CPF" if len(number) == 11 else "CNPJ", document(number)),
            ("Nome", name),
            ("UF consultada", _asked(body, trace)),
        ),
        tables=(table(found),),
        tables_first=not everywhere,
        tiles=tiles(body) if everywhere else {},
        again=_again(document_field, body, trace, number, silent),
    )


def _where(body: Body, trace: Trace, silent: Sequence[str]) -> str:
    """How far the verdict goes: no further than was asked, and answered."""
    ufs = body.get("ufs")
    if not ufs:
        uf = trace.uf or body.get("uf")
        return f" em {uf}" if uf else ""
    if not silent:
        return ""
    answered = len(ufs) - len(silent)
    return f" nas {answered} UFs que responderam" if answered > 1 else " na UF que respondeu"


def _registered(active: int, all_of_them: int) -> tuple[str, str]:
    if active:
        return "good", plural(active, "inscrição ativa", "inscrições ativas")
    if all_of_them:
        return "warn", "Nenhuma inscrição ativa"
    return "info", "Sem inscrição"


def _asked(body: Body, trace: Trace) -> str | None:
    ufs = body.get("ufs")
    return f"Todas ({len(ufs)})" if ufs else trace.uf or body.get("uf")


# What one press of a button may cost at the most: beyond it, the price is shown first.
_CREDITS_AT_ONCE = 3


def _again(
    document_field: str, body: Body, trace: Trace, number: str, silent: Sequence[str]
) -> Sequence[Again]:
    """The same once more; one by one what failed; and everywhere, after a look at the price."""
    everywhere = body.get("ufs")
    with_addresses = any(each.get("endereco") for each in body["inscricoes_estaduais"])
    same = [
        (document_field, number),
        *((("endereco", "1"),) if with_addresses else ()),
        ("dias", _DAYS),
    ]
    each_costs = 1 + with_addresses
    asked: list[Again] = []
    if silent:
        buttons = [Button(f"Tentar {uf}", each_costs, "uf", uf) for uf in silent]
        title = f"As UFs que não responderam, uma a uma ({credits(each_costs)} cada):"
        asked.append(Again([*same, ("onde", "fonte")], buttons, title=title, small=True))
    if not everywhere:
        here = [*same, ("uf", trace.uf or body.get("uf") or ""), ("onde", "fonte")]
        asked.append(renewed(here, each_costs))
    if everywhere and (most := len(everywhere) + with_addresses) <= _CREDITS_AT_ONCE:
        asked.append(renewed([*same, ("uf", ALL), ("onde", "fonte")], most))
    else:
        source = "fonte" if everywhere else "guardado"
        asked.append(_everywhere([*same, ("onde", source)]))
    return asked


def _everywhere(fields: Sequence[tuple[str, str]]) -> Again:
    button = Button("Ver preço para todas as UFs", 0)
    return Again([*fields, ("uf", ALL)], [button], only_prices=True)


def beside(cnpj: str) -> Beside:
    """The registrations of a company that is being looked at, and how to get them."""
    same = [("cnpj", cnpj), ("onde", "guardado"), ("dias", _DAYS)]
    button = Button("Consultar inscrições estaduais (1 crédito)", 1, hint="Na UF da empresa.")
    return Beside(
        "state_registration",
        cnpj,
        "Inscrições estaduais",
        "São outra consulta. Falhas não custam nada.",
        [Again([*same, ("uf", "")], [button]), _everywhere(same)],
        lambda body: table(body["inscricoes_estaduais"], short=True),
    )


_FURTHER: Sequence[tuple[str, str, Callable[[Body], str | None]]] = (
    ("tipo_ie", "Tipo", lambda each: each.get("tipo_ie")),
    ("situacao_pj", "Situação cadastral", lambda each: each.get("situacao_pj")),
    ("data_status", "Mudou em", lambda each: day(each.get("data_status"))),
    ("updated_at", "Atualizada", lambda each: day(each.get("updated_at"))),
    ("endereco", "Endereço", lambda each: address(each.get("endereco") or {})),
)


def table(found: Sequence[Body], *, short: bool = False) -> ResultTable:
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
    columns = ("Inscrição", "UF", "Situação", *(title for title, _ in further))
    return ResultTable(
        "Inscrições estaduais", columns, rows, "Nenhuma inscrição nas UFs consultadas."
    )


def tiles(body: Body) -> Mapping[str, Tile]:
    """Every UF that was asked about; those that were not stay blank on the map."""
    told = {each["uf"]: each["origem"] for each in body["ufs"]}
    found: dict[str, list[bool]] = {each: [] for each in told}
    for each in body["inscricoes_estaduais"]:
        found.setdefault(each["uf"], []).append(each["ativa"])
    return {each: _tile(told.get(each), active) for each, active in found.items()}


def _tile(origin: str | None, active: Sequence[bool]) -> Tile:
    if origin == "indisponivel":
        return Tile("warn", "falhou", "não respondeu, e não foi cobrada")
    if not active:
        return Tile("neutral", "0", "nenhuma inscrição")
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
