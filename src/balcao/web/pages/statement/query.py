"""The parameters of the statement's page, and addresses of related pages."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from balcao.accounts.statement import ChargeFilter, Period, month_of
from balcao.core.access import Account
from balcao.core.calendar import details_since
from balcao.core.writing import MONTHS, day
from balcao.storage.totals import Dimension
from balcao.web.kit import filters
from balcao.web.kit.context import PageContext
from balcao.web.pages import history

GROUP, BY_DAY, REFERENCE = "agrupar", "por_dia", "referencia"

# Values of `agrupar`: the label, and the dimension of the totals.
GROUPS: Mapping[str, tuple[str, Dimension]] = {
    "operacao": ("Operação", "operation"),
    "chave": ("Chave", "key"),
    "pessoa": ("Pessoa", "user"),
    "uf": ("UF", "uf"),
    "cliente": ("Cliente", "client"),
    "origem": ("Origem", "origin"),
    "dia": ("Dia", "day"),
}
GROUP_OPTIONS: filters.Options = [
    *((name, word.lower() if name != "uf" else word) for name, (word, _) in GROUPS.items()),
    (REFERENCE, "referência"),
]


@dataclass(frozen=True, slots=True)
class StatementQuery:
    """The parameters of a statement. `group` is a name of `GROUPS`, or `REFERENCE`."""

    account: Account
    base: str  # the statement's address
    requests: str  # the address of the list of requests
    period: Period
    chosen: ChargeFilter
    group: str
    by_day: bool
    names: history.Names
    today: datetime.date
    complaint: str | None
    notes: Sequence[str]
    details_since: datetime.date  # the first day for which person and UF are recorded

    @property
    def fields(self) -> dict[str, str]:
        grouped = {GROUP: self.group, BY_DAY: "1" if self.by_day else ""}
        return filters.fields_of(self.period, self.chosen) | grouped

    @property
    def dimensions(self) -> Sequence[Dimension]:
        if self.group == REFERENCE:
            return ()
        dimension = GROUPS[self.group][1]
        return ("day", dimension) if self.by_day and dimension != "day" else (dimension,)

    def address(self, period: Period | None = None, below: str = "", **other: str) -> str:
        """Return the address of the statement with another period or other fields."""
        days = {} if period is None else _days(period)
        return filters.address(f"{self.base}{below}", self.fields | days | other)

    def list_of(self, **more: str) -> str | None:
        """Return the address of the list of requests behind this statement, with further filters.

        None: the list would be incomplete, since details that it needs are gone (contract 15.3).
        """
        fields = filters.fields_of(self.period, self.chosen) | more
        asks_for_details = fields.get("pessoa") or fields.get("uf")
        if asks_for_details and self.period.first < self.details_since:
            return None
        return filters.address(self.requests, fields | {history.CHARGED: "1"})


def read_query(context: PageContext, account: Account, base: str) -> StatementQuery:
    """Read the parameters of the address; unknown ones are ignored and noted."""
    fields, today = context.request.query_params, filters.today_of(context)
    asked, names = filters.period(fields, today), history.names_of(context, account.account_id)
    chosen = filters.choice(fields, names.keys)
    group = fields.get(GROUP, "")
    notes = [asked.note, filters.ignored(fields, chosen)]
    if group == REFERENCE and chosen.needs_details:
        notes.append(
            "O agrupamento por referência não aceita filtro de pessoa nem de UF. Agrupado por"
            " operação."
        )
        group = ""
    tools = context.tools
    return StatementQuery(
        account=account,
        base=base,
        requests=f"{base.removesuffix('/extrato')}/historico",
        period=asked.period,
        chosen=chosen,
        group=group if group in GROUPS or group == REFERENCE else "operacao",
        by_day=fields.get(BY_DAY) == "1" and group != "dia",
        names=names,
        today=today,
        complaint=asked.complaint,
        notes=[note for note in notes if note],
        details_since=details_since(tools.now_ms(), tools.settings.trace_days),
    )


def _days(period: Period) -> dict[str, str]:
    return {"de": period.first.isoformat(), "ate": period.last.isoformat()}


def month_name(text: str) -> str:
    """Return `outubro de 2026` for `2026-10`."""
    year, month = text.split("-")
    return f"{MONTHS[int(month) - 1]} de {year}"


def title_of(period: Period, today: datetime.date) -> str:
    """Return the month's name if the period is a month so far; else the two days."""
    if period.month is not None and period.last in (month_of(period.first).last, today):
        return month_name(period.month)
    if period.first == period.last:
        return day(period.first)
    return f"{day(period.first)} a {day(period.last)}"


def before_in_words(period: Period) -> str:
    """Describe the period for comparison, as it follows "sobre" in a sentence."""
    before = period.before
    if period.month is None:
        count = len(before.days)
        return f"os {count} dias antes" if count > 1 else "o dia antes"
    name = MONTHS[before.first.month - 1]
    if before == month_of(before.first):
        return name
    return f"1º a {before.last.day} de {name}" if before.last.day > 1 else f"1º de {name}"


def neighbours(period: Period, today: datetime.date) -> tuple[Period, Period | None]:
    """Return the previous period and the next, if it has begun. A month's neighbours are months."""
    day_after = period.last + datetime.timedelta(days=1)
    eve = period.first - datetime.timedelta(days=1)
    if period.month is not None:
        following = month_of(month_of(period.first).last + datetime.timedelta(days=1))
        earlier = month_of(eve)
    else:
        length = period.last - period.first
        following = Period(day_after, day_after + length)
        earlier = Period(eve - length, eve)
    if following.first > today:
        return earlier, None
    return earlier, Period(following.first, min(following.last, today))
