"""Why a request was answered as it was, and why it cost what it did: one page, from what is known.

Two things may be known of a request: the ledger's word (for ever, if credits were set aside or
charged) and the trace (for some months: who, about what, on which path). Either will do.
`explain` reads nothing and decides nothing that is not in them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from balcao.core.freshness import CACHE_FIRST
from balcao.core.ledger import Trace
from balcao.core.tariff import INTERRUPTED, REFUSED
from balcao.inventory import SNAPSHOT
from balcao.operations import tariff
from balcao.storage.contract import Consultation
from balcao.web import vocabulary as words
from balcao.web.texts import cnpj, credits, instant, listed, seconds, time_of_day, whole
from balcao.web.vocabulary import Tone, Word

# What was kept while credits were being set aside was kept by somebody who asked at that moment.
_MEANWHILE_MS = 60_000
_MEANWHILE = "Resultado que acabava de chegar para outra consulta"


@dataclass(frozen=True, slots=True)
class Known:
    """What there is to explain a request from. One of the first two is there."""

    trace: Trace | None
    booked: Consultation | None
    at_once: bool  # the ledger has a charge in one step, without credits set aside before it
    who: str  # a key's or a person's name, in words
    # With BR, as long as the answer is recorded: each UF and where its part came from.
    ufs: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the story; `ui.timeline` draws them."""

    at: str
    text: str
    note: str | None = None
    tone: Tone = "neutral"


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that the page says."""

    request_id: str
    title: str
    about: str | None  # the document, as it may be shown
    outcome: Word
    summary: str
    steps: Sequence[Step]
    path: Sequence[tuple[str, str | None]]
    strategy: str | None  # as the API calls it
    charge: Sequence[tuple[str, str]]  # what the price is made of
    rule: str | None  # its code, as the ledger has it
    sentence: str | None  # the same in words
    meaning: str | None  # and what they mean
    credits: int
    held_credits: int  # set aside now; 0 unless it still runs
    is_running: bool
    from_ledger_only: bool


def explain(known: Known) -> Explanation:
    """The page of one request."""
    story = _Story(known)
    trace = known.trace
    return Explanation(
        request_id=story.request_id,
        title=words.short(story.operation),
        about=None if trace is None else _about(trace),
        outcome=story.outcome,
        summary=story.summary(),
        steps=story.steps(),
        path=story.path(),
        strategy=None if trace is None else trace.strategy,
        charge=story.charge(),
        rule=story.rule,
        sentence=tariff.sentence(story.rule),
        meaning=tariff.meaning(story.rule),
        credits=story.credits,
        held_credits=known.booked.held_credits if known.booked else 0,
        is_running=story.running,
        from_ledger_only=trace is None,
    )


def _about(trace: Trace) -> str:
    document = cnpj(trace.document)
    if trace.uf is None:
        return document
    return f"{document}, {'todas as UFs' if trace.uf == 'BR' else trace.uf}"


class _Story:
    """The facts, put together once, and what is told of them."""

    def __init__(self, known: Known) -> None:
        trace, booked = known.trace, known.booked
        assert trace is not None or booked is not None
        self.trace, self.who = trace, known.who
        self.running = booked is not None and booked.state == "running" and trace is None
        self.held = booked is not None and not known.at_once
        if trace is not None:
            self.request_id, self.operation = trace.request_id, trace.operation
            self.credits, self.origin, rule = trace.credits, trace.origin, trace.rule
            self.opened_ms, self.settled_ms = trace.opened_ms, trace.settled_ms
        else:
            assert booked is not None
            self.request_id, self.operation = booked.request_id, booked.operation
            self.credits, self.origin = booked.charged_credits, booked.origin
            rule = booked.rule or ""
            self.opened_ms = booked.opened_ms
            self.settled_ms = booked.settled_ms or booked.opened_ms
        # Money is the ledger's: where both speak of it, the ledger is believed.
        if booked is not None and booked.state != "running":
            self.credits, rule = booked.charged_credits, booked.rule or rule
        self.rule = rule or None
        self.refused = trace is not None and trace.rule == REFUSED
        self.interrupted = self.rule == INTERRUPTED
        self.all_ufs = trace is not None and trace.uf == "BR"
        self.ufs = known.ufs
        self.held_ms = self.opened_ms if booked is None else booked.opened_ms
        self.outcome = self._outcome()

    def _outcome(self) -> Word:
        if self.interrupted:
            return Word("Interrompida", "bad")
        if self.trace is not None:
            return words.outcome_of(self.trace)
        if self.running:
            return Word("Em andamento", "info")
        return Word("Cobrada", "good") if self.credits else Word("Não cobrada", "neutral")

    @property
    def fell_back(self) -> bool:
        """Credits were set aside to ask a source, and in the end the cache had to do."""
        return self.held and self.origin == "cache" and not self.was_told_meanwhile

    @property
    def was_told_meanwhile(self) -> bool:
        """Somebody else's answer came while this request set its credits aside."""
        trace = self.trace
        if not self.held or self.origin != "cache" or trace is None or trace.asked_ms is None:
            return False
        recent = trace.asked_ms >= trace.opened_ms - _MEANWHILE_MS
        return trace.strategy in CACHE_FIRST and not trace.refresh and recent

    @property
    def from_our_copy(self) -> bool:
        """A source of our own: nobody outside was asked, so nothing was set aside."""
        if self.trace is not None and self.trace.source is not None:
            return self.origin == "online" and self.trace.source == SNAPSHOT
        return self.origin == "online" and not self.held

    def summary(self) -> str:
        """The whole story in a sentence or two."""
        cost = "Nada foi cobrado." if not self.credits else f"Custou {credits(self.credits)}."
        if self.running:
            return "A consulta ainda está em andamento; a cobrança é decidida quando ela termina."
        if self.interrupted:
            return f"O serviço parou no meio da consulta, e a reserva foi devolvida. {cost}"
        if self.refused:
            return f"A consulta foi recusada: {_lower(self.outcome.text)}. {cost}"
        if self.origin is None:
            return f"{self._without_answer()} {cost}"
        return f"{self._answered()} {cost}"

    def _without_answer(self) -> str:
        if self.trace is None:
            return "A consulta terminou sem resultado que se cobre."
        if self.trace.status == 404:
            return f"A consulta terminou sem resultado: {_lower(self.outcome.text)}."
        return f"Não houve resultado ({_lower(self.outcome.text)})."

    def _answered(self) -> str:
        if self.trace is not None and self.trace.status != 200:
            said = f"A consulta foi concluída com o resultado “{self.outcome.text}”"
        elif self.all_ufs:
            answered = self._ufs_answered()
            said = f"{answered} {'respondeu' if answered == '1 UF' else 'responderam'}"
        else:
            said = "A consulta foi respondida"
        return f"{said}{self._from_where()}.{self._failed_ufs()}"

    def _failed_ufs(self) -> str:
        failed = self.ufs_from("indisponivel")
        if not failed:
            return ""
        many = len(failed) > 1
        return (
            f" {listed(failed)} não {'responderam' if many else 'respondeu'} e não"
            f" {'foram cobradas' if many else 'foi cobrada'}."
        )

    def ufs_from(self, origin: str) -> Sequence[str]:
        """The UFs whose part of the answer came from there, as far as it is still known."""
        return [uf for uf, each in self.ufs if each == origin]

    def _from_where(self) -> str:
        asked = self.trace.asked_ms if self.trace else None
        since = f" em {instant(asked)}" if asked else ""
        if self.was_told_meanwhile:
            return ", com o que outra consulta igual acabava de obter da fonte"
        if self.fell_back:
            return (
                ", com o que estava guardado"
                + (f" (obtido da fonte{since})" if since else "")
                + ": a fonte foi procurada e não deu um resultado"
            )
        if self.origin == "cache":
            obtained = f", obtido da fonte{since}" if since else ""
            return f", com o que estava guardado{obtained}, sem nova consulta à fonte"
        if self.from_our_copy:
            of = f" (de {_day(asked)})" if asked else ""
            return f", com a nossa própria cópia dos dados{of}, sem consultar ninguém de fora"
        source = self._source()
        return " pela fonte, na hora" + (f" ({source})" if source else "")

    def _source(self) -> str | None:
        source = self.trace.source if self.trace else None
        return words.source_names(source) if source else None

    def _ufs_answered(self) -> str:
        answered = self.credits - self.with_addresses
        return "1 UF" if answered == 1 else f"{whole(answered)} UFs"

    @property
    def with_addresses(self) -> bool:
        """One of the credits is for the addresses."""
        return tariff.with_addresses(self.rule)

    def charge(self) -> Sequence[tuple[str, str]]:
        """What the price is made of, line by line."""
        if not self.credits:
            return []
        name = words.short(self.operation)
        if self.all_ufs or self.with_addresses:
            name += f", {self._ufs_answered()}"
        elif self.origin is not None:
            name += f", {self._in_a_word()}"
        lines = [(name, whole(self.credits - self.with_addresses))]
        return [*lines, ("Endereços", "1")] if self.with_addresses else lines

    def _in_a_word(self) -> str:
        if self.origin == "cache":
            return "guardado"
        return "da cópia própria" if self.from_our_copy else "da fonte"

    def steps(self) -> Sequence[Step]:
        """What happened, in order."""
        found = [Step(time_of_day(self.opened_ms), "Consulta recebida", self._received())]
        at_end = self._after(self.settled_ms)
        if self.refused:
            said = f"Recusada: {_lower(self.outcome.text)}"
            return [*found, Step(at_end, said, "Recusas não custam nada.", "warn")]
        if self.held:
            note = "O maior preço possível do caminho, para que a cobrança não falte depois."
            found.append(Step(self._after(self.held_ms), "Créditos reservados", note))
        if self.running:
            return [*found, Step("agora", "À espera da fonte", None, "info")]
        found.extend(self._answer_steps(at_end))
        took = seconds(self.settled_ms - self.opened_ms)
        if self.credits:
            note = f"O que sobrou da reserva foi liberado. {took} ao todo." if self.held else took
            found.append(Step(at_end, f"Cobrança: {credits(self.credits)}", note, "good"))
        elif self.held:
            found.append(Step(at_end, "Reserva devolvida: nada foi cobrado", took, "info"))
        else:
            found.append(Step(at_end, "Nada foi cobrado", took, "info"))
        return found

    def _after(self, at_ms: int) -> str:
        """When, counted from the first line."""
        return f"+{seconds(max(0, at_ms - self.opened_ms))}"

    def _received(self) -> str:
        return f"{_day(self.opened_ms)}, por {self.who}"

    def _answer_steps(self, at_end: str) -> Sequence[Step]:
        asked = self.trace.asked_ms if self.trace else None
        kept = f"Obtido da fonte em {instant(asked)}." if asked else None
        source = self._source()
        if self.interrupted:
            return [Step(at_end, "O serviço parou e voltou", None, "bad")]
        if self.was_told_meanwhile:
            return [Step(at_end, _MEANWHILE, kept, "good")]
        if self.fell_back:
            return [
                Step(at_end, "Fonte procurada, sem resultado", None, "warn"),
                Step(at_end, "Resposta do que estava guardado (reserva)", kept, "good"),
            ]
        if self.origin == "cache":
            return [Step(at_end, "Resposta do que estava guardado", kept, "good")]
        if self.from_our_copy:
            of = f"Dados de {_day(asked)}: {source}." if asked else source
            return [Step(at_end, "Resposta da nossa cópia", of, "good")]
        if self.origin == "online":
            return self._source_steps(at_end, source)
        if self.held:
            tone = self.outcome.tone
            return [Step(at_end, "Fonte procurada, sem resultado", self.outcome.text, tone)]
        return [Step(at_end, self.outcome.text, None, self.outcome.tone)]

    def _source_steps(self, at_end: str, source: str | None) -> Sequence[Step]:
        found = [Step(at_end, "A fonte respondeu", source, "good")]
        if kept := self.ufs_from("cache"):
            note = f"{listed(kept)}, por não virem da fonte."
            found.append(Step(at_end, f"{_count(kept)} do que estava guardado", note, "good"))
        if failed := self.ufs_from("indisponivel"):
            note = f"{listed(failed)}: não cobradas."
            found.append(Step(at_end, f"{_count(failed)} sem resposta", note, "warn"))
        return found

    def path(self) -> Sequence[tuple[str, str | None]]:
        """How the answer was looked for."""
        trace = self.trace
        if trace is None:
            return [("Origem da resposta", self._origin())]
        strategy = words.STRATEGIES.get(trace.strategy)
        passed = "sim, a pedido: a fonte foi procurada mesmo havendo resultado guardado"
        found: list[tuple[str, str | None]] = [
            ("O que se olhou primeiro", strategy or "uma estratégia que não existe mais"),
            ("O guardado foi deixado de lado", passed if trace.refresh else "não"),
            ("Origem da resposta", self._origin()),
            ("Quem respondeu", self._source() or self._nobody()),
        ]
        for term, origin in _BY_ORIGIN:
            if some := self.ufs_from(origin):
                found.append((term, f"{len(some)}: {listed(some)}"))
        if trace.asked_ms is not None and self.from_our_copy:
            found.append(("Dados de", _day(trace.asked_ms)))
        elif trace.asked_ms is not None:
            found.append(("Fonte consultada em", instant(trace.asked_ms)))
        found.append(("Feita por", self.who))
        found.append(("Repetição protegida", self._repeated()))
        return found

    def _nobody(self) -> str:
        if self.refused:
            return "nenhuma fonte foi consultada"
        concluded = self.trace is not None and self.trace.status == 404
        return "não ficou registrado" if concluded else "nenhuma fonte respondeu"

    def _origin(self) -> str:
        if self.was_told_meanwhile:
            return "guardado: outra consulta igual terminou um instante antes"
        if self.fell_back:
            return "reserva: a fonte não deu um resultado e valeu o que estava guardado"
        if self.origin == "cache":
            return "guardado"
        if self.from_our_copy:
            return words.OWN_COPY
        return "fonte, na hora" if self.origin == "online" else "nenhuma"

    def _repeated(self) -> str:
        """Whether a repetition would be told the same for nothing; never under which key."""
        trace = self.trace
        if trace is None or trace.key_digest is None:
            return "não: sem Idempotency-Key, repetir é fazer outra consulta"
        if self.refused:
            return "não: uma recusa não grava resposta, e a consulta pode ser repetida"
        if trace.key_id is None:
            return "sim: recarregar a página do resultado não cobra de novo"
        return "sim: com a mesma Idempotency-Key a resposta é repetida sem cobrança"


# With BR, where the parts of the answer came from.
_BY_ORIGIN = (
    ("UFs respondidas pela fonte", "online"),
    ("UFs respondidas do guardado", "cache"),
    ("UFs sem resposta", "indisponivel"),
)


def _count(ufs: Sequence[str]) -> str:
    return "1 UF" if len(ufs) == 1 else f"{len(ufs)} UFs"


def _day(at_ms: int) -> str:
    return instant(at_ms).partition(" às")[0]


def _lower(text: str) -> str:
    """A phrase inside a sentence: names keep their capitals."""
    first = text.partition(" ")[0]
    is_name = (len(first) > 1 and first.isupper()) or first == "Idempotency-Key"
    return text if is_name else text[:1].lower() + text[1:]
