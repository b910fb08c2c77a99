"""The history's filters, read from an address or a form and written to an address.

A CNPJ may be in an address; a CPF is not read here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from balcao.accounts.statement import ChargeFilter, Period
from balcao.core.document_reader import read as read_document
from balcao.core.documents import CNPJ_CHARACTERS, Cnpj
from balcao.core.ledger import ORIGIN_WORDS
from balcao.core.recognition import recognise
from balcao.core.text import unaccented
from balcao.core.writing import cnpj as written
from balcao.core.writing import day
from balcao.storage.people import TraceFilter
from balcao.web.kit import filters
from balcao.web.kit.context import PageContext
from balcao.web.kit.words import vocabulary
from balcao.web.pages.history.validity import VALIDITIES

_NO_CNPJ = "CNPJ inválido. Para buscar por CPF, use o campo de CPF."
_NO_NAME = "Informe um nome. Para buscar por CPF ou CNPJ, use o campo correspondente."
BAD_DOCUMENT, BAD_NAME = "documento", "nome"
_WARNINGS = {BAD_DOCUMENT: _NO_CNPJ, BAD_NAME: _NO_NAME}
_NAME_CHARACTERS_MAX = 80
_WORDS_MAX = 6
_DIGITS_OF_A_NAME_MAX = 6  # without letters: "100%", "51"

# Filter for requests that were charged in the period.
CHARGED = "cobradas"
RESULT_OPTIONS: filters.Options = [
    ("", "todos"),
    *((value, text) for value, (text, _) in vocabulary.RESULTS.items()),
]
VALIDITY_OPTIONS: filters.Options = [("", "qualquer"), *VALIDITIES.items()]
# Origins of answers: three, the last two of which are one to the ledger.
_LEDGER_ONLINE = "online"
_ORIGINS: filters.Options = [
    ("", "todas"),
    ("cache", ORIGIN_WORDS["cache"]),
    ("copia", vocabulary.OWN_COPY),
    ("fonte", ORIGIN_WORDS["online"]),
]
_OWN_COPY: Mapping[str, bool] = {"copia": True, "fonte": False}


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """The filters in force. `complaint`: an error in one; `notes`: corrections made."""

    period: Period
    chosen: ChargeFilter
    origin: str  # its value in the address; empty: any
    result: str
    name: str
    errors_only: bool
    charged: bool  # charged in the period: the target of the statement's links
    reference: str | None
    cnpj: Cnpj | None
    validity: str  # a value of `VALIDITIES`; empty: any. The period does not apply to it
    before: str | None
    complaint: str | None
    notes: Sequence[str]

    def fields(self) -> dict[str, str]:
        """Return the fields of the address, without the page."""
        return filters.fields_of(self.period, self.chosen) | {
            "origem": self.origin,
            "resultado": self.result,
            "nome": self.name,
            "erros": "1" if self.errors_only else "",
            CHARGED: "1" if self.charged else "",
            "referencia": self.reference or "",
            "documento": self.cnpj.text if self.cnpj else "",
            "vencimento": self.validity,
        }

    def in_words(self, keys: Mapping[int | None, str], users: Mapping[int, str]) -> Sequence[str]:
        """Return the filters in force in words, except the period."""
        active = (
            self.name and f"nome “{self.name}”",
            self.cnpj and f"CNPJ {written(self.cnpj.text)}",
            *filters.in_words(self.chosen, keys, users),
            self.result and f"resultado “{vocabulary.RESULTS[self.result][0]}”",
            self.origin and dict(origin_options(self.origin))[self.origin],
            self.reference and f"referência {self.reference}",
            self.validity and f"vencimento {VALIDITIES[self.validity]}",
            self.charged and "só as cobradas",
            self.errors_only and "só recusas e falhas",
        )
        return [each for each in active if each]

    def of_the_period(self) -> str:
        if self.validity:
            return "de qualquer data"
        return f"de {day(self.period.first)} a {day(self.period.last)}"

    @property
    def is_of_totals(self) -> bool:
        """Whether the daily totals have the count and cost of these requests (contract 15)."""
        others = self.errors_only, self.reference, self.cnpj, self.name, self.result, self.validity
        return self.charged and not any(others) and self.origin not in _OWN_COPY

    def wanted(self, own_only: int | None) -> TraceFilter:
        """Return the filter for the desk. `own_only`: the only user with visible requests."""
        key = self.chosen.key
        return TraceFilter(
            self.period.from_ms,
            self.period.to_ms,
            operation=self.chosen.operation,
            key_id=0 if key == filters.WEB else key,
            user_id=self.chosen.user if own_only is None else own_only,
            origin=self.chosen.origin,
            document=self.cnpj.text if self.cnpj else None,
            errors_only=self.errors_only,
            client=self.chosen.client,
            reference=self.reference,
            uf=self.chosen.uf,
            charged=self.charged,
            own_copy=_OWN_COPY.get(self.origin),
            words=_words(self.name),
            results=vocabulary.RESULTS[self.result][1] if self.result else (),
        )


def origin_options(chosen: str) -> filters.Options:
    """Return the options for the origin; "either" only if a link of the statement chose it."""
    both = [(_LEDGER_ONLINE, filters.EITHER)] if chosen == _LEDGER_ONLINE else []
    return [*_ORIGINS, *both]


class KnownNames(Protocol):
    """The names of the account's keys."""

    @property
    def keys(self) -> Mapping[int | None, str]:
        """Names by key number; None: the web application."""


def read(context: PageContext, fields: Mapping[str, str], names: KnownNames) -> HistoryFilter:
    """Read the filters of an address or a form; unknown values are ignored and noted."""
    asked = filters.period(fields, filters.today_of(context))
    origin = fields.get("origem", "")
    ledger_origin = _LEDGER_ONLINE if origin in _OWN_COPY else origin
    chosen = filters.choice(dict(fields) | {"origem": ledger_origin}, names.keys)
    complaint = asked.complaint or _WARNINGS.get(fields.get("aviso", ""))
    cnpj = None
    if (document := fields.get("documento", "").strip()) != "":
        # The whole value stays in an address, so the CNPJ must be all of it.
        reading = read_document(document, {"cnpj"}, only=False, digits_least=CNPJ_CHARACTERS)
        if isinstance(reading.document, Cnpj) and reading.alone:
            cnpj = reading.document
        else:
            complaint = complaint or _NO_CNPJ
    name = fields.get("nome", "").strip()[:_NAME_CHARACTERS_MAX]
    if name and not _is_name(name):
        name, complaint = "", complaint or _NO_NAME
    result = fields.get("resultado", "")
    ignored = [filters.ignored(dict(fields) | {"origem": ledger_origin}, chosen)]
    if result and result not in vocabulary.RESULTS:
        result = ""
        ignored.append("Filtro desconhecido, ignorado: resultado.")
    validity = fields.get("vencimento", "")
    if validity and validity not in VALIDITIES:
        validity = ""
        ignored.append("Filtro desconhecido, ignorado: vencimento.")
    return HistoryFilter(
        asked.period,
        chosen,
        origin if chosen.origin else "",
        result,
        name,
        fields.get("erros") == "1",
        fields.get(CHARGED) == "1",
        filters.tag(fields, "referencia"),
        cnpj,
        validity,
        fields.get("antes") or None,
        complaint,
        [note for note in (asked.note, *ignored) if note],
    )


def flawed(asked: HistoryFilter, complaint: str) -> HistoryFilter:
    """Return the filters with a complaint, from the first page."""
    return replace(asked, complaint=complaint, before=None)


def misplaced(fields: Mapping[str, str], asked: HistoryFilter) -> str | None:
    """Return the field that may contain a CPF, and must not stay in an address."""
    if fields.get("documento", "").strip() and asked.cnpj is None:
        return BAD_DOCUMENT
    return BAD_NAME if fields.get("nome", "").strip() and not asked.name else None


def _is_name(text: str) -> bool:
    """Return whether a text is words alone, without a long row of digits, perhaps a document."""
    if not any(map(str.isalpha, text)) and sum(map(str.isdigit, text)) > _DIGITS_OF_A_NAME_MAX:
        return False
    return recognise(text).kind in ("words", "length") and bool(_words(text))


def _words(name: str) -> Sequence[str]:
    """Return words for comparison with names: in capitals, without accents."""
    return unaccented(name).upper().replace("%", " ").replace("_", " ").split()[:_WORDS_MAX]
