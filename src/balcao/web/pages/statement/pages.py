"""The statement's page: what was consumed, for which operations, and the proof of the balance."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from starlette.responses import Response

from balcao.accounts.statement import ChargeFilter, Period, Statement, read_statement
from balcao.core.access import Account
from balcao.core.deprecations import SHOWN_DAYS
from balcao.web.kit import drawing, filters
from balcao.web.kit.context import PageContext
from balcao.web.kit.deprecated_uses import uses_of
from balcao.web.kit.drawing import bars_of
from balcao.web.kit.ordering import ordering_of
from balcao.web.pages.statement.lines import (
    LINES_SHOWN,
    ORDERS,
    PAGE,
    StatementGroup,
    drawn,
    groups_by_reference,
    groups_of,
    heading,
)
from balcao.web.pages.statement.query import (
    BY_DAY,
    GROUP,
    GROUP_OPTIONS,
    REFERENCE,
    StatementQuery,
    before_in_words,
    neighbours,
    read_query,
    title_of,
)
from balcao.web.pages.statement.top_ups import top_ups_with_authors

LINES_MAX = 100_000  # by reference
_TOO_MANY = (
    f"O agrupamento por referência teria mais de {LINES_MAX} linhas. Escolha um período mais curto."
)
# In longer periods, a bar is a week.
DAYS_DRAWN = 92


async def show(context: PageContext, account: Account, base: str) -> Response:
    """Show filters, figures compared with the previous period, lines and the proof."""
    asked = read_query(context, account, base)
    statement, groups, notes = await asyncio.to_thread(_read, context, asked)
    operator = context.person.is_operator
    earlier, later = neighbours(asked.period, asked.today)
    with_days = "day" in asked.dimensions or (asked.by_day and asked.group == REFERENCE)
    order = ordering_of(context, ORDERS, "-dia" if with_days else "-creditos", paging=(PAGE,))
    groups = order.apply(groups)
    page = page_number(context, len(groups))
    lines = drawn(asked, groups, (page - 1) * LINES_SHOWN)
    by_origin = Counter[str]()
    for total in statement.days:
        by_origin[str(total.origin)] += total.credits
    month = asked.period.month
    return context.page(
        "operador/extrato.html" if operator else "extrato.html",
        422 if asked.complaint else 200,
        alert=asked.complaint,
        notes=[*asked.notes, *notes],
        account=account,
        base=base,
        period=asked.period,
        title=title_of(asked.period, asked.today),
        earlier=(title_of(earlier, asked.today), asked.address(earlier)),
        later=(title_of(later, asked.today), asked.address(later)) if later else None,
        presets=[
            (text, asked.address(period), period == asked.period)
            for text, period in filters.months(asked.today)
        ],
        # A month that is over has a page that never changes.
        sealed=f"{base}/{month}" if month and is_over(asked.period, asked) else None,
        fields=asked.fields,
        filters=[
            *filters.in_words(asked.chosen, asked.names.keys, asked.names.users),
            *([dict(filters.ORIGINS)[asked.chosen.origin]] if asked.chosen.origin else []),
        ],
        filtered=not asked.chosen.is_all,
        everything=filters.address(
            base,
            filters.fields_of(asked.period, ChargeFilter())
            | {GROUP: asked.group, BY_DAY: "1" if asked.by_day else ""},
        ),
        operations=filters.OPERATIONS,
        keys=filters.keys(asked.names.keys),
        people=filters.people(asked.names.users, asked.chosen.user),
        ufs=filters.UF_OPTIONS,
        origins=filters.ORIGINS,
        groups=GROUP_OPTIONS,
        csv=asked.address(below=".csv"),
        xlsx=asked.address(below=".xlsx"),
        credits=statement.credits,
        credits_before=statement.credits_before,
        requests=statement.requests,
        requests_before=statement.requests_before,
        from_cache=by_origin["cache"],
        from_source=by_origin["online"],
        lists={
            "all": asked.list_of(),
            "cache": asked.list_of(origem="cache") if not asked.chosen.origin else None,
            "online": asked.list_of(origem="online") if not asked.chosen.origin else None,
        },
        before=before_in_words(asked.period),
        chart=_chart(statement),
        by_week=_is_long(asked.period),
        heading=heading(asked),
        with_days=with_days,
        only_days=asked.group == "dia",
        lines=lines,
        groups_found=len(groups),
        first_shown=(page - 1) * LINES_SHOWN + 1,
        older=order.page(PAGE, page + 1) if page * LINES_SHOWN < len(groups) else None,
        newer=order.page(PAGE, page - 1) if page > 1 else None,
        order=order,
        compared=any(group.before for group in groups),
        given=top_ups_with_authors(context, account, statement.top_ups),
        proof=statement.proof,
        uses=await uses_of(context, account.account_id),
        shown_days=SHOWN_DAYS,
    )


def page_number(context: PageContext, groups: int) -> int:
    """Return the page of the address, from 1 to the last one."""
    asked = context.query(PAGE)
    last = max(1, -(-groups // LINES_SHOWN))
    return min(max(int(asked), 1), last) if filters.is_number(asked) else 1


def is_over(period: Period, asked: StatementQuery) -> bool:
    """Return whether the period has ended."""
    return period.last < asked.today


def _read(
    context: PageContext, asked: StatementQuery
) -> tuple[Statement, Sequence[StatementGroup], Sequence[str]]:
    desk, number, period = context.desk, asked.account.account_id, asked.period
    if asked.group == REFERENCE:
        statement = read_statement(desk, asked.account, period, asked.chosen)
        rows = desk.consumption_by_reference(number, period.from_ms, period.to_ms, LINES_MAX)
        if rows is None:
            return statement, (), (_TOO_MANY,)
        return statement, groups_by_reference(asked, asked.chosen.of(rows)), ()
    statement = read_statement(desk, asked.account, period, asked.chosen, asked.dimensions)
    return statement, groups_of(asked, statement.groups), ()


def _is_long(period: Period) -> bool:
    return len(period.days) > DAYS_DRAWN


def _chart(statement: Statement) -> str:
    period = statement.period
    long = _is_long(period)
    step, title = (7, "Créditos por semana") if long else (1, "Créditos por dia")
    days = len(period.days)
    bars = bars_of(statement.days, period.first, days, step)
    earlier = bars_of(statement.days_before, period.before.first, days, step)
    before = [bar.cache + bar.online for bar in earlier]
    return drawing.bars_by_day(bars, title, before=before if any(before) else ())
