"""Result page of state registrations: a map of the country, and a table."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from balcao.core.errors import SourceFailed
from balcao.core.federation import ALL
from balcao.core.ledger import Trace
from balcao.core.notices import Tone
from balcao.core.writing import credits, day
from balcao.operations.parameters import CACHE
from balcao.operations.sheets import CellValue, SheetColumns, SheetFact, day_of, fact, joined, one
from balcao.operations.views import (
    REGISTER_FIGURES,
    Body,
    Button,
    FormWords,
    Headline,
    RecordedResult,
    RelatedResult,
    RepeatForm,
    ResultTable,
    ResultView,
    Tile,
    address,
    badge,
    document,
    plural,
    refresh_form,
    source_failed,
)

FAILURES = {
    SourceFailed.code: source_failed(
        "Nenhuma secretaria da fazenda consultada deu uma resposta válida."
    )
}

_DAYS = str(CACHE.default)

RESULT_LABELS: Mapping[str, tuple[str, Tone]] = {
    "ativa": ("1 inscrição ativa", "good"),
    "ativas": ("{} inscrições ativas", "good"),
    "inativa": ("Nenhuma inscrição ativa", "warn"),
    "nenhuma": ("Sem inscrição", "info"),
}


def result_code(active: int, all_of_them: int) -> str:
    """Return the code of a result, by the number of registrations."""
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
    """Return the texts of one of the two forms; prices are the same."""
    return FormWords(
        slug,
        title,
        answers,
        "1 crédito por UF",
        "1 crédito por UF respondida, mais 1 com os endereços. Falhas não são cobradas.",
        example,
        uf_hint,
    )


def view(document_field: str, recorded: RecordedResult) -> ResultView:
    """Return the page of a company's or rural producer's registrations."""
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
        notes.append(f"Fora da lista, em situação desconhecida: {left_out}")
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
        repeat_forms=_again(document_field, body, trace, number, silent),
    )


def _where(body: Body, trace: Trace, silent: Sequence[str]) -> str:
    """Name the UFs that answered, as the end of the headline."""
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


# The highest price of one press of a button; for a higher one, the form with the price is shown.
_CREDITS_AT_ONCE = 3


def _again(
    document_field: str, body: Body, trace: Trace, number: str, silent: Sequence[str]
) -> Sequence[RepeatForm]:
    """Return forms for the same lookup, for each failed UF, and for all UFs (price first)."""
    everywhere = body.get("ufs")
    with_addresses = any(each.get("endereco") for each in body["inscricoes_estaduais"])
    same = [
        (document_field, number),
        *((("endereco", "1"),) if with_addresses else ()),
        ("dias", _DAYS),
    ]
    each_costs = 1 + with_addresses
    asked: list[RepeatForm] = []
    if silent:
        buttons = [Button(f"Tentar {uf}", each_costs, "uf", uf) for uf in silent]
        title = f"UFs sem resposta ({credits(each_costs)} cada):"
        asked.append(RepeatForm([*same, ("onde", "fonte")], buttons, title=title, small=True))
    if not everywhere:
        here = [*same, ("uf", trace.uf or body.get("uf") or ""), ("onde", "fonte")]
        asked.append(refresh_form(here, each_costs))
    if everywhere and (most := len(everywhere) + with_addresses) <= _CREDITS_AT_ONCE:
        asked.append(refresh_form([*same, ("uf", ALL), ("onde", "fonte")], most))
    else:
        source = "fonte" if everywhere else "guardado"
        asked.append(_everywhere([*same, ("onde", source)]))
    return asked


def _everywhere(fields: Sequence[tuple[str, str]]) -> RepeatForm:
    button = Button("Ver preço para todas as UFs", 0)
    return RepeatForm([*fields, ("uf", ALL)], [button], only_prices=True)


def related(cnpj: str) -> RelatedResult:
    """Return the section about registrations for a company's result page."""
    same = [("cnpj", cnpj), ("onde", "guardado"), ("dias", _DAYS)]
    button = Button("Consultar inscrições estaduais (1 crédito)", 1, hint="Na UF da empresa.")
    return RelatedResult(
        "state_registration",
        cnpj,
        "Inscrições estaduais",
        "São uma consulta à parte. Falhas não são cobradas.",
        [RepeatForm([*same, ("uf", "")], [button]), _everywhere(same)],
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
    """Return one row per registration, without empty columns; `short`: the main columns only."""
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
    """Return a tile for each UF of the lookup; the others stay blank on the map."""
    origins = {each["uf"]: each["origem"] for each in body["ufs"]}
    found: dict[str, list[bool]] = {each: [] for each in origins}
    for each in body["inscricoes_estaduais"]:
        found.setdefault(each["uf"], []).append(each["ativa"])
    return {each: _tile(origins.get(each), active) for each, active in found.items()}


def _tile(origin: str | None, active: Sequence[bool]) -> Tile:
    if origin == "indisponivel":
        return Tile("warn", "falhou", "sem resposta e sem cobrança")
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


def sheet_columns(name_field: str) -> SheetColumns:
    """Return the columns of result files; `name_field` is the field of the holder's name."""
    return SheetColumns(
        facts=(
            fact("nome", name_field, "Nome", "Nome do titular, segundo a fonte.", 40),
            SheetFact(
                "inscricoes_ativas",
                "Inscrições ativas",
                "Números das inscrições ativas, cada um com a sua UF.",
                lambda body: _numbers(body, active=True),
                width=28,
            ),
            SheetFact(
                "inscricoes_inativas",
                "Inscrições não ativas",
                "Números das inscrições não ativas, cada um com a sua UF.",
                lambda body: _numbers(body, active=False),
                width=28,
            ),
            SheetFact(
                "situacao",
                "Situação da inscrição",
                "Situação cadastral das inscrições ativas.",
                _of_active("situacao_pj"),
                width=22,
            ),
            SheetFact(
                "tipo",
                "Tipo de inscrição",
                "Tipo das inscrições ativas, se a fonte informa.",
                _of_active("tipo_ie"),
                width=22,
            ),
            SheetFact(
                "atualizado_em",
                "Atualizada em",
                "Data da atualização mais antiga entre as inscrições.",
                _updated,
                "day",
                14,
            ),
            SheetFact(
                "ufs_sem_resposta",
                "UFs sem resposta",
                "Na consulta de todas as UFs, as que não responderam, sem custo.",
                _silent,
            ),
        ),
        name="nome",
        outcome=_outcome,
        official={
            "razao_social": one(name_field),
            "inscricao_estadual": _official_numbers,
            "uf": one("uf"),
            "municipio": _of_addresses("municipio"),
            "cep": _of_addresses("cep"),
            "logradouro": _of_addresses("logradouro"),
        },
    )


def _outcome(body: Body) -> str | None:
    found = _found(body)
    if not found:
        return "Sem inscrição"
    is_active = any(each["ativa"] for each in found)
    return "Com inscrição ativa" if is_active else "Sem inscrição ativa"


_NUMBERS_IN_BRIEF = 3


def brief(body: Body) -> str:
    """Return the numbers of the registrations: `IE 469528720 BA, não ativa`."""
    found = _found(body)
    texts = [
        f"IE {each['inscricao_estadual']} {each['uf']}{'' if each['ativa'] else ', não ativa'}"
        for each in found[:_NUMBERS_IN_BRIEF]
    ]
    if more := len(found) - len(texts):
        texts.append(f"mais {more}")
    return "; ".join(texts)


def _found(body: Body) -> Sequence[Body]:
    found: Sequence[Body] = body.get("inscricoes_estaduais") or ()
    return found


def _numbers(body: Body, *, active: bool) -> str | None:
    found = [each for each in _found(body) if each["ativa"] is active]
    return joined(*(f"{each['inscricao_estadual']} {each['uf']}" for each in found))


def _of_active(field: str) -> Callable[[Body], str | None]:
    """Return a function that joins a field's distinct texts in the active registrations."""

    def of(body: Body) -> str | None:
        return joined(*_once(each.get(field) for each in _found(body) if each["ativa"]))

    return of


def _updated(body: Body) -> CellValue:
    oldest = min(
        (each["updated_at"] for each in _found(body) if each.get("updated_at")), default=""
    )
    return day_of(oldest)


def _silent(body: Body) -> str | None:
    ufs: Iterable[Body] = body.get("ufs") or ()
    return joined(*(each["uf"] for each in ufs if each["origem"] == "indisponivel"))


def _official_numbers(body: Body) -> Sequence[str] | None:
    """Return the active numbers, else all; an empty list only if all UFs answered."""
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
