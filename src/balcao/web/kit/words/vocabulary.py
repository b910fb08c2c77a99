"""Names shown to people: operations, outcomes, sources, strategies.

Codes of errors are named by their classes (`core.errors`), rules of the tariff by each operation
(`operations.tariff`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from balcao.core.certificates import CertificateSummary
from balcao.core.errors import IdempotencyKeyReused, errors_by_code
from balcao.core.ledger import ORIGIN_WORDS, Origin, Trace
from balcao.core.notices import Tone
from balcao.core.people import MembershipRole
from balcao.core.questions import Mode, Strategy
from balcao.core.tariff import SEARCH_COUNT, SEARCH_PAGE, SEARCH_PARTNERS
from balcao.core.writing import day
from balcao.examination.inventory import SNAPSHOT
from balcao.operations import ALL_OPERATIONS, tariff
from balcao.operations.names import SEARCHES, SHORT
from balcao.providers import OFFERS

MODES: Mapping[Mode, str] = {"live": "produção", "test": "teste"}
# Roles of an account's users.
ROLES: Mapping[MembershipRole, str] = {"consultant": "Consultor", "manager": "Gestor"}

# The operation of each price rule. The API's sentences begin with addresses
# (ADR 0030).
_PRICED: Mapping[str, str] = {
    **{code: each.form.title for each in ALL_OPERATIONS for code in each.rules},
    SEARCH_PAGE: SEARCHES["busca-de-empresas"],
    SEARCH_COUNT: SEARCHES["contagem-de-empresas"],
    SEARCH_PARTNERS: SEARCHES["busca-de-socios"],
}

# The origins of answers are named by `ORIGIN_WORDS`. The ledger counts this one as online.
OWN_COPY = "nossa cópia do mês"
# In sums by origin.
ORIGINS_IN_SUMS: Mapping[Origin, str] = {
    "cache": "resultados guardados e buscas de empresas",
    "online": "da fonte e da nossa cópia do mês",
}

# Charges without a tag or UF, in lines and filters.
NO_CLIENT, NO_REFERENCE, NO_UF = "sem cliente", "sem referência", "sem UF"

SOURCES: Mapping[str, str] = {offer.name: offer.title for offer in OFFERS}

_PARTS: Mapping[str, str] = {"types": "tipos de inscrição", "addresses": "endereços"}

STRATEGIES: Mapping[str, str] = {
    Strategy.CACHE_SE_EXISTIR: "primeiro um resultado guardado, de qualquer idade; se não houver,"
    " a fonte",
    Strategy.CACHE_PREFERENCIAL: "primeiro um resultado guardado que ainda seja válido; se não"
    " houver, a fonte",
    Strategy.SO_CACHE: "só um resultado guardado; a fonte não é consultada",
    Strategy.SO_ONLINE: "só a fonte; resultados guardados não são usados",
    Strategy.ONLINE_PREFERENCIAL: "primeiro a fonte; se ela falhar, um resultado guardado que"
    " ainda seja válido",
}


@dataclass(frozen=True, slots=True)
class Word:
    """A short text and its tone."""

    text: str
    tone: Tone


# The words for each internal code.
CODES: Mapping[str, Word] = {
    code: Word(kind.short, kind.tone) for code, kind in errors_by_code().items()
}

# Results without a code. A certificate that clears nothing is answered with 404 (contract 1.1).
_RESULTS: Mapping[str, Word] = {
    each.path: Word(each.negative_result, "info") for each in ALL_OPERATIONS if each.negative_result
}

# Certificates, by their verdict.
_VERDICTS: Mapping[tuple[str, str], Word] = {
    (each.path, verdict): Word(*word)
    for each in ALL_OPERATIONS
    for verdict, word in each.verdicts.items()
}

_GISTS: Mapping[tuple[str, str], Word] = {
    (each.path, code): Word(*word)
    for each in ALL_OPERATIONS
    for code, word in each.result_labels.items()
}

# Filters of results: texts, and the verdicts and codes of each.
RESULTS: Mapping[str, tuple[str, Sequence[str]]] = {
    "cnd": ("CND ou regular", ("CND",)),
    "cpend": ("CPEND", ("CPEND",)),
    "cpd": ("CPD ou irregular", ("CPD",)),
    "sem-certidao": ("Sem certidão", ("other", "none")),
    "ativa": ("Empresa ativa", ("ATIVA",)),
    "inativa": ("Empresa não ativa", ("SUSPENSA", "INAPTA", "BAIXADA", "NULA")),
    "inscrita": ("Com inscrição ativa", ("ativa", "ativas")),
    "sem-inscricao": ("Sem inscrição ativa", ("inativa", "nenhuma")),
}


def outcome_of(trace: Trace) -> Word:
    """Return the outcome of a request in a few words."""
    if trace.code == IdempotencyKeyReused.code and trace.key_id is None:
        return Word("Formulário já usado", "warn")
    if trace.certificate is not None:
        known = _VERDICTS.get((trace.operation, trace.certificate.verdict))
        if known is not None:
            return known
    if trace.result_summary is not None and trace.result_summary.result is not None:
        code, _, rest = trace.result_summary.result.partition(":")
        if (known := _GISTS.get((trace.operation, code))) is not None:
            return Word(known.text.format(rest.capitalize()), known.tone)
    if trace.code is not None:
        return CODES.get(trace.code, Word(trace.code, "bad"))
    if trace.status == 200:
        return Word("Respondida", "good")
    return _RESULTS.get(trace.operation, Word(f"Status {trace.status}", "neutral"))


def last_day(certificate: CertificateSummary | None) -> str | None:
    """Return a certificate's last day of validity in words; None: nothing was issued."""
    if certificate is None or not (certificate.validity or certificate.undated):
        return None
    return day(certificate.validity) if certificate.validity else "não informada"


def origin_of(trace: Trace) -> str | None:
    """Return the origin of an answer; None: there was no answer."""
    if trace.origin is None:
        return None
    own = trace.origin == "online" and trace.source == SNAPSHOT
    return OWN_COPY if own else ORIGIN_WORDS[trace.origin]


def short(operation: str) -> str:
    """Return an operation's short name; an unknown path is returned unchanged."""
    return SHORT.get(operation, operation)


def price_of(rule: str | None) -> str | None:
    """Return the rule of a price in words, beginning with the operation's short name."""
    sentence, name = tariff.sentence(rule), _PRICED.get(rule or "")
    if sentence is None or name is None:
        return sentence
    return f"{name}: {sentence.partition(': ')[2].replace('endereco', 'endereço')}"


def source_names(source: str) -> str:
    """Return the names of sources.

    With BR there may be several (`a,b`), and one may have filled in a part that another lacked
    (`a+b(addresses)`).
    """
    names: dict[str, None] = {}  # each once, in order
    for each in source.split(","):
        first, *fillings = each.split("+")
        names[SOURCES.get(first, first)] = None
        for filling in fillings:
            name, _, part = filling.removesuffix(")").partition("(")
            names[f"{_PARTS.get(part, part)}: {SOURCES.get(name, name)}"] = None
    return "; ".join(names)
