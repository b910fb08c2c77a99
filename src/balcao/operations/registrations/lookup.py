"""What state registrations and rural producers share: reading a request, concluding, the price.

Specification, endpoints 2 and 3, "State tax registrations", "Credits"; decisions 2.3, 3, 4.5, 5.2.
"""

from collections.abc import Sequence
from typing import Annotated, TypeVar

import msgspec

from balcao.core.described import described, said
from balcao.core.documents import Cnpj, Cpf
from balcao.core.federation import ALL
from balcao.core.freshness import Ask, Kept, Serve
from balcao.core.idempotency import digest
from balcao.core.ledger import Origin
from balcao.core.outcomes import Conclusion, Delivered, Failed, Nothing, Outcome
from balcao.core.questions import Inquiry, Question, Strategy, Subject
from balcao.core.registration import Registration, Registrations
from balcao.core.tariff import Rule, Rules
from balcao.errors import CnpjNotFound, SourceError, SourceFailed, SourceUnavailable
from balcao.operations import envelope
from balcao.operations.contract import Parameter, by_age
from balcao.operations.envelope import ErrorFields
from balcao.operations.parameters import Parameters
from balcao.sources.contract import Record

STRATEGIES = (
    Strategy.CACHE_SE_EXISTIR,
    Strategy.CACHE_PREFERENCIAL,
    Strategy.SO_ONLINE,
    Strategy.ONLINE_PREFERENCIAL,
)
CACHE_DAYS_DEFAULT = 7
CACHE_DAYS_MAX = 365

NAMES = ("uf", "cache", "cache_strategy", "error_fallback", "endereco")

T = TypeVar("T")

_WITHOUT_ID = b'{"request_id":"",'

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Registrations).decode


class _AtAGlance(msgspec.Struct):
    """What is to be known of an entry without reading its registrations."""

    com_endereco: bool = False
    inscricoes: list[msgspec.Raw] = []


_glance = msgspec.json.Decoder(_AtAGlance).decode


@described("OrigemUf", "De onde veio a resposta de uma UF.")
class UfOrigin(msgspec.Struct, frozen=True):
    """With `uf=BR`: where the answer about one UF came from."""

    uf: Annotated[str, said("A UF.")]
    origem: Annotated[
        str,
        said(
            "`online`, `cache`, ou `indisponivel`: não respondeu e não foi cobrada.",
            enum=["online", "cache", "indisponivel"],
        ),
    ]


def question(
    subject: Subject,
    document: Cnpj | Cpf,
    uf: str | None,
    ufs: Sequence[str],
    parameters: Parameters,
) -> Question:
    """The question about one UF, all of `ufs` (BR), or none yet. Raises `InvalidInput`."""
    days, from_header = parameters.days("cache", default=CACHE_DAYS_DEFAULT, largest=CACHE_DAYS_MAX)
    strategy = parameters.strategy(STRATEGIES, Strategy.ONLINE_PREFERENCIAL)
    error_fallback = parameters.boolean("error_fallback")
    addresses = parameters.boolean("endereco")
    asked: Sequence[str | None] = ufs if uf == ALL else (uf,)
    return Question(
        subject=subject,
        inquiries=tuple(Inquiry(subject, document, each, addresses=addresses) for each in asked),
        strategy=strategy,
        max_age_days=days,
        error_fallback=error_fallback,
        deprecated_header=from_header,
        uf=uf,
        home_unknown=uf is None,
    )


def wants_addresses(of: Question) -> bool:
    """Whether `endereco=true` was sent."""
    return of.inquiries[0].addresses


def fingerprint(of: Question) -> str:
    """What makes two requests the same one, defaults filled in (decisions 6)."""
    return digest(
        f"{of.subject} {of.document.text} {of.uf} {of.strategy} {of.max_age_days}"
        f" {of.error_fallback} {wants_addresses(of)}"
    )


def greatest_price(of: Question) -> int:
    """One credit per UF, and one per request for the addresses (specification, "Credits")."""
    return len(of.inquiries) + wants_addresses(of)


def rules(subject: Subject, per_uf: str) -> Rules:
    """The rules of one of the two operations; `per_uf` is the sentence of the first."""
    by_uf = "1 crédito por UF que respondeu. UFs que falharam não são cobradas."
    return {
        _rule_of(subject, with_addresses=False): Rule(per_uf, by_uf),
        _rule_of(subject, with_addresses=True): Rule(
            f"{per_uf} + 1 por endereco",
            f"{by_uf} Mais 1 crédito pelos endereços, uma vez por consulta.",
            with_addresses=True,
        ),
    }


def _rule_of(subject: Subject, *, with_addresses: bool) -> str:
    return f"{subject}/uf+addresses" if with_addresses else f"{subject}/uf"


def encode(inquiry: Inquiry, record: Record) -> bytes:
    """What a document has in one UF, as it is kept."""
    assert isinstance(record, Registrations)
    return _encode(record)


def plan(of: Question, inquiry: Inquiry, kept: Kept, now_ms: int) -> Serve | Ask:
    """By age; but an entry stored without addresses has none to give (decisions 4.5)."""
    if inquiry.addresses and not _glance(kept.body).com_endereco:
        return Ask(None)
    return by_age(of, inquiry, kept, now_ms)


def all_empty(outcomes: Sequence[Outcome]) -> bool:
    """Whether those who answered know of no registration at all."""
    return not any(
        isinstance(outcome, Delivered) and _glance(outcome.body).inscricoes for outcome in outcomes
    )


class Tally:
    """What came of a question, put together over its UFs."""

    def __init__(self, of: Question, outcomes: Sequence[Outcome]) -> None:
        delivered = [outcome for outcome in outcomes if isinstance(outcome, Delivered)]
        records = [_decode(outcome.body) for outcome in delivered]
        self.failures = [outcome.error for outcome in outcomes if isinstance(outcome, Failed)]
        self.absent = any(isinstance(outcome, Nothing) for outcome in outcomes)
        self.answered = len(delivered)
        self.origin: Origin = (
            "online" if any(each.origin == "online" for each in delivered) else "cache"
        )
        # Addresses are paid unless they could not be asked for anywhere (decision 0011).
        registered = [record for record in records if record.inscricoes]
        self.with_addresses = wants_addresses(of) and (
            not registered or any(record.com_endereco for record in registered)
        )
        self.credits = self.answered + self.with_addresses
        self.name = next((each.nome for each in records if each.nome), None)
        self.home_uf = next((each.uf_principal for each in records if each.uf_principal), None)
        self.registrations = sorted(
            (each for record in records for each in record.inscricoes),
            key=lambda each: (not each.ativa, each.uf, each.inscricao_estadual),
        )
        # The oldest part of an answer says how old it is.
        self.asked_ms = min((each.asked_ms for each in delivered), default=None)
        self.sources = ",".join(sorted({each.source for each in delivered}))
        self.ufs = (
            [
                UfOrigin(
                    inquiry.uf or "",
                    outcome.origin if isinstance(outcome, Delivered) else "indisponivel",
                )
                for inquiry, outcome in zip(of.inquiries, outcomes, strict=True)
            ]
            if of.uf == ALL
            else None
        )


def conclusion(
    of: Question, tally: Tally, answer: msgspec.Struct, error_fields: ErrorFields
) -> Conclusion:
    """The answer's status and price; `answer` is its body, with an empty request_id."""
    document = of.document.text
    if tally.answered:
        return Conclusion(
            status=200,
            fields=_encode(answer).removeprefix(_WITHOUT_ID),
            credits=tally.credits,
            rule=_rule_of(of.subject, with_addresses=tally.with_addresses),
            origin=tally.origin,
            source=tally.sources,
            asked_ms=tally.asked_ms,
        )
    if tally.absent and isinstance(of.document, Cnpj):
        return envelope.refusal(CnpjNotFound(), document, error_fields)
    return envelope.refusal(_worst(tally.failures), document, error_fields)


def _worst(failures: Sequence[SourceError]) -> SourceError:
    """One failure that speaks for all: waiting helps only where nobody failed for good."""
    for error in failures:
        if isinstance(error, SourceFailed):
            return error
    return min(
        (error for error in failures if isinstance(error, SourceUnavailable)),
        key=lambda error: error.retry_in_seconds,
        default=SourceFailed("nobody can know that there is no such person"),
    )


def shown(registration: Registration, of: Question, kind: type[T]) -> T:
    """A registration in an operation's own shape, which leaves out what it does not know."""
    fields = msgspec.structs.asdict(registration)
    address = registration.endereco if wants_addresses(of) else None
    fields["endereco"] = None if address is None else msgspec.structs.asdict(address)
    return msgspec.convert(fields, kind)


def parameters(uf: Parameter) -> tuple[Parameter, ...]:
    """The parameters after the document, for the OpenAPI document."""
    days = {"type": "integer", "minimum": 0, "maximum": CACHE_DAYS_MAX}
    return (
        uf,
        Parameter(
            "cache",
            "query",
            "Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por idade.",
            days | {"default": CACHE_DAYS_DEFAULT},
        ),
        Parameter(
            "cache_strategy",
            "query",
            "Cache ou fonte primeiro, e o que fazer quando a fonte falha; decidido por UF.",
            {
                "type": "string",
                "enum": [str(strategy) for strategy in STRATEGIES],
                "default": str(Strategy.ONLINE_PREFERENCIAL),
            },
        ),
        Parameter(
            "error_fallback",
            "query",
            "true: se a fonte falhar, aceita um resultado guardado de qualquer idade.",
            {"type": "boolean", "default": False},
        ),
        Parameter(
            "endereco",
            "query",
            "true: cada inscrição que tem endereço o traz; custa 1 crédito a mais por requisição.",
            {"type": "boolean", "default": False},
        ),
        Parameter(
            "cache",
            "header",
            "Forma antiga do parâmetro de consulta `cache`, que prevalece quando os dois são"
            " enviados. A resposta traz então o cabeçalho Deprecation.",
            days,
            deprecated=True,
        ),
    )
