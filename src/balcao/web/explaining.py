"""Why a request was answered as it was, and why it cost what it did: one page, from what is known.

Two things may be known of a request: the ledger's word (for ever, if credits were set aside or
charged) and the trace (for some months: who, about what, on which path). Either will do.
`explain` reads nothing and decides nothing that is not in them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from balcao.core.freshness import CACHE_FIRST
from balcao.core.ledger import Trace
from balcao.storage.contract import Consultation
from balcao.web import vocabulary as words
from balcao.web.texts import cnpj, credits, instant, seconds, time_of_day, whole
from balcao.web.vocabulary import Tone, Word

INTERRUPTED = "processo interrompido"

# What was kept while credits were being set aside was kept by somebody who asked at that moment.
_MEANWHILE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Known:
    """What there is to explain a request from. One of the first two is there."""

    trace: Trace | None
    booked: Consultation | None
    at_once: bool  # the ledger has a charge in one step, without credits set aside before it
    who: str  # a key's or a person's name, in words


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
    charge: Sequence[tuple[str, str]]  # what the price is made of
    rule: str | None  # the ledger's own words
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
        title=words.TITLES.get(story.operation, story.operation),
        about=None if trace is None else _about(trace),
        outcome=story.outcome,
        summary=story.summary(),
        steps=story.steps(),
        path=story.path(),
        charge=story.charge(),
        rule=story.rule,
        meaning=words.meaning_of(story.rule),
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
        self.refused = trace is not None and trace.rule == "recusa"
        self.interrupted = self.rule == INTERRUPTED
        self.all_ufs = trace is not None and trace.uf == "BR"
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
        return self.origin == "online" and not self.held

    def summary(self) -> str:
        """The whole story in a sentence or two."""
        cost = "Nada foi cobrado." if not self.credits else f"Custou {credits(self.credits)}."
        if self.running:
            return "O pedido ainda está em andamento; a cobrança é decidida quando ele termina."
        if self.interrupted:
            return f"O serviço parou no meio da consulta, e a reserva foi devolvida. {cost}"
        if self.refused:
            return f"O pedido foi recusado: {_lower(self.outcome.text)}. {cost}"
        if self.origin is None:
            return f"{self._without_answer()} {cost}"
        return f"{self._answered()} {cost}"

    def _without_answer(self) -> str:
        if self.trace is None:
            return "O pedido terminou sem resultado que se cobre."
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
        return f"{said}{self._from_where()}."

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
            return ", com a nossa própria cópia dos dados, sem consultar ninguém de fora"
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
        return (self.rule or "").endswith("endereco")

    def charge(self) -> Sequence[tuple[str, str]]:
        """What the price is made of, line by line."""
        if not self.credits:
            return []
        name = words.short(self.operation)
        if self.all_ufs or self.with_addresses:
            name += f", {self._ufs_answered()}"
        elif self.origin is not None:
            name += ", do cache" if self.origin == "cache" else ", da fonte"
        lines = [(name, whole(self.credits - self.with_addresses))]
        return [*lines, ("Endereços", "1")] if self.with_addresses else lines

    def steps(self) -> Sequence[Step]:
        """What happened, in order."""
        found = [Step(time_of_day(self.opened_ms), "Pedido recebido", self._received())]
        at_end = time_of_day(self.settled_ms)
        if self.refused:
            said = f"Recusado: {_lower(self.outcome.text)}"
            return [*found, Step(at_end, said, "Recusas não custam nada.", "warn")]
        if self.held:
            note = "O maior preço possível do caminho, para que a cobrança não falte depois."
            found.append(Step(time_of_day(self.opened_ms), "Créditos reservados", note))
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

    def _received(self) -> str:
        return f"{instant(self.opened_ms).partition(' às')[0]}, por {self.who}"

    def _answer_steps(self, at_end: str) -> Sequence[Step]:
        asked = self.trace.asked_ms if self.trace else None
        kept = f"Obtido da fonte em {instant(asked)}." if asked else None
        source = self._source()
        if self.interrupted:
            return [Step(at_end, "O serviço parou e voltou", None, "bad")]
        if self.was_told_meanwhile:
            return [Step(at_end, "Resultado que acabava de chegar para outro pedido", kept, "good")]
        if self.fell_back:
            return [
                Step(at_end, "Fonte procurada, sem resultado", None, "warn"),
                Step(at_end, "Resposta do que estava guardado (reserva)", kept, "good"),
            ]
        if self.origin == "cache":
            return [Step(at_end, "Resposta do que estava guardado", kept, "good")]
        if self.from_our_copy:
            return [Step(at_end, "Resposta da nossa cópia", source, "good")]
        if self.origin == "online":
            return [
                Step(time_of_day(asked or self.settled_ms), "A fonte respondeu", source, "good")
            ]
        if self.held:
            tone = self.outcome.tone
            return [Step(at_end, "Fonte procurada, sem resultado", self.outcome.text, tone)]
        return [Step(at_end, self.outcome.text, None, self.outcome.tone)]

    def path(self) -> Sequence[tuple[str, str | None]]:
        """How the answer was looked for."""
        trace = self.trace
        if trace is None:
            return [("Origem da resposta", self._origin())]
        strategy = words.STRATEGIES.get(trace.strategy)
        passed = "sim, a pedido: a fonte foi procurada mesmo havendo resultado guardado"
        found: list[tuple[str, str | None]] = [
            ("O que se olhou primeiro", f"{trace.strategy}: {strategy or 'estratégia antiga'}"),
            ("O guardado foi deixado de lado", passed if trace.refresh else "não"),
            ("Origem da resposta", self._origin()),
            ("Quem respondeu", self._source() or "ninguém"),
        ]
        if trace.asked_ms is not None:
            found.append(("Fonte consultada em", instant(trace.asked_ms)))
        found.append(("Pedido por", self.who))
        found.append(("Repetição protegida", self._repeated()))
        return found

    def _origin(self) -> str:
        if self.was_told_meanwhile:
            return "cache: outra consulta igual terminou um instante antes"
        if self.fell_back:
            return "reserva: a fonte não deu um resultado e valeu o que estava guardado"
        if self.origin == "cache":
            return "cache: o que estava guardado"
        if self.from_our_copy:
            return "cópia própria dos dados, que vale como fonte"
        return "fonte, na hora" if self.origin == "online" else "nenhuma"

    def _repeated(self) -> str:
        """Whether a repetition would be told the same for nothing; never under which key."""
        trace = self.trace
        if trace is None or trace.key_digest is None:
            return "não: sem Idempotency-Key, repetir o pedido é outra consulta"
        if self.refused:
            return "não: uma recusa não grava resposta, e o pedido pode ser repetido"
        if trace.key_id is None:
            return "sim: recarregar a página do resultado não cobra de novo"
        return "sim: com a mesma Idempotency-Key a resposta é repetida sem cobrança"


def _lower(text: str) -> str:
    """A phrase inside a sentence: names keep their capitals."""
    first = text.partition(" ")[0]
    is_name = (len(first) > 1 and first.isupper()) or first == "Idempotency-Key"
    return text if is_name else text[:1].lower() + text[1:]
