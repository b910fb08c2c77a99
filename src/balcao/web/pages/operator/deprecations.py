"""`/app/operador/obsoletos`: the keys of all accounts that use deprecated features."""

from starlette.responses import Response

from balcao.core.deprecations import KEPT_DAYS, SHOWN_DAYS
from balcao.web.kit.context import PageContext
from balcao.web.kit.deprecated_uses import USES_MAX, uses_of


async def show(context: PageContext) -> Response:
    """Show the list, latest use first."""
    rows = await uses_of(context, None)
    return context.page(
        "operador/obsoletos.html",
        rows=rows,
        shown_days=SHOWN_DAYS,
        kept_days=KEPT_DAYS,
        uses_max=USES_MAX,
    )
