"""Explains why a request was answered as it was, and its price, from its records.

A request may have two records: the ledger's (kept forever, if credits were held or charged) and the
trace (kept for months: caller, subject, way). Either suffices. `explain` reads nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from balcao.core.freshness import CACHE_FIRST
from balcao.core.ledger import Trace
from balcao.core.notices import Tone
from balcao.core.tariff import INTERRUPTED, REFUSED
from balcao.core.writing import cnpj, counted, credits, instant, listed, seconds, time_of_day, whole
from balcao.examination.inventory import SNAPSHOT
from balcao.operations import OPERATIONS, tariff
from balcao.storage.contract import Consultation
from balcao.web.kit.words import vocabulary as words
from balcao.web.kit.words.vocabulary import Word

# An answer stored while credits were being held came from a concurrent request.
_MEANWHILE_MS = 60_000


@dataclass(frozen=True, slots=True)
class RequestRecords:
    """The records of a request. At least one of `trace` and `booked` is set."""

    trace: Trace | None
    booked: Consultation | None
    in_one_step: bool  # the ledger has a charge in one step, without a hold before it
    who: str  # the name of a key or person
    # Of a BR answer that is still recorded: each UF and the origin of its part.
    ufs: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the timeline, drawn by `ui.timeline`."""

    at: str
    text: str
    note: str | None = None
    tone: Tone = "neutral"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The texts of the page, and the facts they come from."""

    facts: "RequestFacts"
    title: str
    about: str | None  # the document, as it may be shown
    summary: str
    steps: Sequence[Step]
    path: Sequence[tuple[str, str | None]]
    strategy: str | None  # its name in the API
    charge: Sequence[tuple[str, str]]  # the parts of the price
    sentence: str | None  # the rule in words
    meaning: str | None  # its meaning


@dataclass(frozen=True, slots=True)
class _Way:
    """One way that a request can go, with all the texts for its page.

    Texts are templates over `_values`. A step is a text (empty: left out), a note (empty: none) and
    a tone (None: that of the outcome).
    """

    summary: str
    steps: Sequence[tuple[str, str, Tone | None]]
    origin: str = "nenhuma"
    word: str = ""  # for the price lines


_NOTHING: Sequence[tuple[str, str, Tone | None]] = [("{nothing}", "{why}", None)]
_WAYS: Mapping[str, _Way] = {
    "running": _Way(
        "A consulta ainda está em andamento. A cobrança é definida no fim.",
        [("Aguardando a fonte", "", "info")],
    ),
    "interrupted": _Way(
        "O serviço parou no meio da consulta e a reserva foi liberada. {cost}",
        [("O serviço parou e voltou", "", "bad")],
    ),
    "refused": _Way(
        "A consulta foi recusada: {outcome}. {cost}",
        [("Recusada: {outcome}", "Recusas não são cobradas.", "warn")],
    ),
    "forgotten": _Way("A consulta terminou sem um resultado cobrável. {cost}", _NOTHING),
    "absent": _Way("A consulta terminou sem resultado: {outcome}. {cost}", _NOTHING),
    "failed": _Way("Não houve resultado ({outcome}). {cost}", _NOTHING),
    "came meanwhile": _Way(
        "{concluded} com o resultado que outra consulta igual acabava de obter da fonte.{silent}"
        " {cost}",
        [("Resultado recém-obtido por outra consulta", "{obtained}", "good")],
        "resultado guardado: outra consulta igual terminou um instante antes",
        "guardado",
    ),
    "fell back": _Way(
        "{concluded} com um resultado guardado{obtained_too}, porque a fonte não deu um"
        " resultado.{silent} {cost}",
        [
            ("Fonte consultada, sem resultado", "", "warn"),
            ("Resposta com um resultado guardado", "{obtained}", "good"),
        ],
        "resultado guardado, porque a fonte não deu um resultado",
        "guardado",
    ),
    "kept": _Way(
        "{concluded} com um resultado guardado{obtained_then}, sem nova consulta à fonte.{silent}"
        " {cost}",
        [("Resposta com um resultado guardado", "{obtained}", "good")],
        "guardado",
        "guardado",
    ),
    "own copy": _Way(
        "{concluded} com a nossa cópia do mês{dated}, sem consultar outra fonte.{silent} {cost}",
        [("Resposta da nossa cópia do mês", "{copy}", "good")],
        words.OWN_COPY,
        "da nossa cópia do mês",
    ),
    "source": _Way(
        "{concluded} pela fonte, na hora{by}.{silent} {cost}",
        [
            ("A fonte respondeu", "{source}", "good"),
            ("{ufs_kept}", "{which_kept}, por não virem da fonte.", "good"),
            ("{ufs_silent}", "{which_silent}: não cobradas.", "warn"),
        ],
        "fonte, na hora",
        "da fonte",
    ),
}

# Of a BR answer: the origins of its parts.
_PARTS = {
    "online": "UFs respondidas pela fonte",
    "cache": "UFs com resultado guardado",
    "indisponivel": "UFs sem resposta",
}


def explain(records: RequestRecords) -> Explanation:
    """Return the texts of the page of one request."""
    facts = RequestFacts(records)
    trace, way = records.trace, _WAYS[facts.way]
    values = _values(facts)
    return Explanation(
        facts=facts,
        title=words.short(facts.operation),
        about=None if trace is None else _about(trace),
        summary=way.summary.format_map(values),
        steps=_steps(facts, way, values),
        path=_path(facts, way),
        strategy=None if trace is None else _strategy_of(trace),
        charge=_charge(facts, way),
        sentence=tariff.sentence(facts.rule),
        meaning=tariff.meaning(facts.rule),
    )


class RequestFacts:
    """Facts about a request, from the trace and the ledger."""

    def __init__(self, records: RequestRecords) -> None:
        trace, booked = records.trace, records.booked
        self.trace, self.who, self.ufs = trace, records.who, records.ufs
        marked = trace or booked
        assert marked is not None
        self.client, self.reference = marked.client, marked.reference
        self.held = booked is not None and not records.in_one_step
        if trace is not None:
            self.request_id, self.operation = trace.request_id, trace.operation
            self.credits, self.origin, rule = trace.credits, trace.origin, trace.rule
            self.opened_ms, self.settled_ms = trace.opened_ms, trace.settled_ms
            self.asked_ms = trace.asked_ms
        else:
            assert booked is not None
            self.request_id, self.operation = booked.request_id, booked.operation
            self.credits, self.origin = booked.charged_credits, booked.origin
            rule = booked.rule or ""
            self.opened_ms = booked.opened_ms
            self.settled_ms = booked.settled_ms or booked.opened_ms
            self.asked_ms = None
        # Where both records have the price, the ledger's counts.
        if booked is not None and booked.state != "running":
            self.credits, rule = booked.charged_credits, booked.rule or rule
        self.rule = rule or None  # its code in the ledger
        self.held_credits = booked.held_credits if booked else 0
        self.held_ms = self.opened_ms if booked is None else booked.opened_ms
        self.source = words.source_names(trace.source) if trace and trace.source else None
        self.with_addresses = tariff.with_addresses(self.rule)  # one of the credits pays for them
        running = booked is not None and booked.state == "running" and trace is None
        self.way = "running" if running else self._way()
        self.outcome = self._outcome()

    def _way(self) -> str:
        """Return the key of `_WAYS` for this request."""
        trace = self.trace
        if self.rule == INTERRUPTED:
            return "interrupted"
        if trace is not None and trace.rule == REFUSED:
            return "refused"
        match self.origin:
            case None:
                status = None if trace is None else trace.status
                return {None: "forgotten", 404: "absent"}.get(status, "failed")
            case "cache" if not self.held or self._was_kept_about_a_person():
                return "kept"
            case "cache":
                return "came meanwhile" if self._came_meanwhile() else "fell back"
        # Without a hold no outside source was asked: our own copy answered.
        if trace is not None and trace.source is not None:
            return "own copy" if trace.source == SNAPSHOT else "source"
        return "source" if self.held else "own copy"

    def _was_kept_about_a_person(self) -> bool:
        """Return whether a cached answer about a person was used, charged by a hold (ADR 0080)."""
        trace = self.trace
        if trace is None or trace.of_company or self._came_meanwhile():
            return False
        return trace.strategy in CACHE_FIRST and not trace.refresh

    def _came_meanwhile(self) -> bool:
        """Return whether a concurrent request's answer arrived while credits were being held."""
        trace = self.trace
        if trace is None or trace.asked_ms is None:
            return False
        recent = trace.asked_ms >= trace.opened_ms - _MEANWHILE_MS
        return trace.strategy in CACHE_FIRST and not trace.refresh and recent

    def _outcome(self) -> Word:
        if self.way == "interrupted":
            return Word("Interrompida", "bad")
        if self.trace is not None:
            return words.outcome_of(self.trace)
        if self.way == "running":
            return Word("Em andamento", "info")
        return Word("Cobrada", "good") if self.credits else Word("Não cobrada", "neutral")

    @property
    def all_ufs(self) -> bool:
        """Whether it was asked with BR."""
        return self.trace is not None and self.trace.uf == "BR"

    def ufs_from(self, origin: str) -> Sequence[str]:
        """Return the UFs answered from this origin, as far as known."""
        return [uf for uf, each in self.ufs if each == origin]

    @property
    def ufs_answered(self) -> str:
        """The number of UFs that were paid for, in words."""
        return counted(self.credits - self.with_addresses, "UF", "UFs")


def _values(facts: RequestFacts) -> Mapping[str, str]:
    """Return the values for the templates of `_WAYS`."""
    asked, source, result = facts.asked_ms, facts.source or "", facts.outcome.text
    when, day = (instant(asked), _day(asked)) if asked else ("", "")
    kept, silent = facts.ufs_from("cache"), facts.ufs_from("indisponivel")
    verbs = ("respondeu", "foi cobrada") if len(silent) == 1 else ("responderam", "foram cobradas")
    concluded = "A consulta foi respondida"
    if facts.trace is not None and facts.trace.status != 200:
        concluded = f"A consulta foi concluída com o resultado “{result}”"
    elif facts.all_ufs:
        one = facts.ufs_answered == "1 UF"
        concluded = f"{facts.ufs_answered} {'respondeu' if one else 'responderam'}"
    return {
        "cost": f"Custou {credits(facts.credits)}." if facts.credits else "Nada foi cobrado.",
        "outcome": _lower(result),
        "nothing": "Fonte consultada, sem resultado" if facts.held else result,
        "why": result if facts.held else "",
        "concluded": concluded,
        "silent": f" {listed(silent)} não {verbs[0]} e não {verbs[1]}." if silent else "",
        "obtained": f"Obtido da fonte em {when}." if when else "",
        "obtained_then": f", obtido da fonte em {when}" if when else "",
        "obtained_too": f" (obtido da fonte em {when})" if when else "",
        "dated": f" (de {day})" if day else "",
        "copy": f"Dados de {day}{': ' if source else ''}{source}." if day else source,
        "by": f" ({source})" if source else "",
        "source": source,
        "ufs_kept": f"{_ufs(kept)} com resultado guardado" if kept else "",
        "which_kept": listed(kept) if kept else "",
        "ufs_silent": f"{_ufs(silent)} sem resposta" if silent else "",
        "which_silent": listed(silent) if silent else "",
    }


def _charge(facts: RequestFacts, way: _Way) -> Sequence[tuple[str, str]]:
    if not facts.credits:
        return []
    name = words.short(facts.operation)
    if facts.all_ufs or facts.with_addresses:
        name += f", {facts.ufs_answered}"
    elif way.word:
        name += f", {way.word}"
    lines = [(name, whole(facts.credits - facts.with_addresses))]
    return [*lines, ("Endereços", "1")] if facts.with_addresses else lines


def _steps(facts: RequestFacts, way: _Way, values: Mapping[str, str]) -> Sequence[Step]:
    """Return the steps in order, with times counted from the first."""

    def after(at_ms: int) -> str:
        return f"+{seconds(max(0, at_ms - facts.opened_ms))}"

    received = f"{_day(facts.opened_ms)}, por {facts.who}"
    found = [Step(time_of_day(facts.opened_ms), "Consulta recebida", received)]
    if facts.held and facts.way != "refused":
        note = "Reservamos o valor máximo desta consulta."
        found.append(Step(after(facts.held_ms), "Créditos reservados", note))
    at_end = "agora" if facts.way == "running" else after(facts.settled_ms)
    for step, note_template, tone in way.steps:
        if text := step.format_map(values):
            note = note_template.format_map(values)
            found.append(Step(at_end, text, note or None, tone or facts.outcome.tone))
    if facts.way in ("refused", "running"):
        return found
    took = seconds(facts.settled_ms - facts.opened_ms)
    if facts.credits:
        note = f"O restante da reserva foi liberado. {took} ao todo." if facts.held else took
        return [*found, Step(at_end, f"Cobrança: {credits(facts.credits)}", note, "good")]
    text = "Reserva liberada: nada foi cobrado" if facts.held else "Nada foi cobrado"
    return [*found, Step(at_end, text, took, "info")]


def _strategy_of(trace: Trace) -> str | None:
    """Return the strategy's name in the API, if the operation lets it be chosen."""
    chosen = [each.path for each in OPERATIONS.values() if "cache_strategy" in each.names]
    return trace.strategy if trace.operation in chosen else None


def _path(facts: RequestFacts, way: _Way) -> Sequence[tuple[str, str | None]]:
    """Return facts about how the answer was found: strategy, origin, source."""
    trace = facts.trace
    if trace is None:
        return [("Origem da resposta", way.origin)]
    strategy = words.STRATEGIES.get(trace.strategy)
    passed = "sim, a pedido: a fonte foi consultada mesmo havendo um resultado guardado"
    found: list[tuple[str, str | None]] = [
        ("Prioridade", strategy or "uma estratégia que não existe mais"),
        ("Ignorou o resultado guardado", passed if trace.refresh else "não"),
        ("Origem da resposta", way.origin),
        ("Quem respondeu", facts.source or _no_source(facts, trace)),
    ]
    parts = ((term, facts.ufs_from(origin)) for origin, term in _PARTS.items())
    found += [(term, f"{len(ufs)}: {listed(ufs)}") for term, ufs in parts if ufs]
    if trace.asked_ms is not None and facts.way == "own copy":
        found.append(("Dados de", _day(trace.asked_ms)))
    elif trace.asked_ms is not None:
        found.append(("Fonte consultada em", instant(trace.asked_ms)))
    return [*found, ("Feita por", facts.who), ("Repetição protegida", _repeated(facts, trace))]


def _no_source(facts: RequestFacts, trace: Trace) -> str:
    if facts.way == "refused":
        return "nenhuma fonte foi consultada"
    return "não ficou registrado" if trace.status == 404 else "nenhuma fonte respondeu"


def _repeated(facts: RequestFacts, trace: Trace) -> str:
    """Explain whether repeating the request would be free, without showing the idempotency key."""
    if trace.key_digest is None:
        return "não: sem Idempotency-Key, repetir gera outra consulta"
    if facts.way == "refused":
        return "não: recusas não são gravadas e a consulta pode ser repetida"
    if trace.key_id is None:
        return "sim: recarregar a página do resultado não cobra de novo"
    return "sim: com a mesma Idempotency-Key, a resposta é repetida sem cobrança"


def _about(trace: Trace) -> str:
    document = cnpj(trace.document)
    if trace.uf is None:
        return document
    return f"{document}, {'todas as UFs' if trace.uf == 'BR' else trace.uf}"


def _ufs(ufs: Sequence[str]) -> str:
    return counted(len(ufs), "UF", "UFs")


def _day(at_ms: int) -> str:
    return instant(at_ms).partition(" às")[0]


def _lower(text: str) -> str:
    """Lower a phrase's first letter, except in names and acronyms."""
    first = text.partition(" ")[0]
    is_name = (len(first) > 1 and first.isupper()) or first == "Idempotency-Key"
    return text if is_name else text[:1].lower() + text[1:]
