"""Use of deprecated features, for the pages of an account and of operators (contract 18.4)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from balcao.core.calendar import civil_day
from balcao.core.deprecations import FEATURES, DeprecatedFeature, shown_since, title_of
from balcao.storage.desk.deprecated_uses import KeyUse
from balcao.web.kit.context import PageContext

USES_MAX = 1_000


@dataclass(frozen=True, slots=True)
class UseRow:
    """A key's use of a feature. `feature` is None if it was removed."""

    use: KeyUse
    title: str
    feature: DeprecatedFeature | None


async def uses_of(context: PageContext, account_id: int | None) -> Sequence[UseRow]:
    """Return the uses by an account's keys, or by all keys (None), latest first."""
    since = shown_since(civil_day(context.now_ms()))
    read = context.desk.deprecated_uses.read
    uses = await asyncio.to_thread(read, account_id, since, USES_MAX)
    return [UseRow(use, title_of(use.feature), FEATURES.get(use.feature)) for use in uses]
