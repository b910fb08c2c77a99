"""What the settings say of the providers: whom to ask, for what, in which order."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from balcao.core.questions import Subject
from balcao.operations import ALL_OPERATIONS
from balcao.providers import PROVIDERS
from balcao.providers.contract import Provider, SwitchedOn
from balcao.settings import Settings


def order(settings: Settings) -> Mapping[Subject, Sequence[str]]:
    """Names of the sources of each subject, in the order of asking."""
    return {each.subject: settings.sources_of(each.subject) for each in ALL_OPERATIONS}


def ufs(settings: Settings) -> Mapping[Subject, Sequence[str]]:
    """The UFs of those subjects that are asked by UF, where that is a setting."""
    return {
        each.subject: settings.ufs_of(each.subject) for each in ALL_OPERATIONS if each.usual_ufs
    }


def named(settings: Settings) -> Iterator[tuple[Provider, Any]]:
    """Every provider that has settings, with them."""
    for provider in PROVIDERS:
        if (own := provider.of(settings)) is not None:
            yield provider, own


def switched_on(settings: Settings) -> Iterator[tuple[Provider, Any]]:
    """Those of them that can be asked, with their settings."""
    return ((provider, own) for provider, own in named(settings) if own.is_on)


def configured(settings: Settings, now: datetime) -> Sequence[SwitchedOn]:
    """Every source that is switched on. Raises `ProviderUnusable`; `now` is aware."""
    return [
        source for provider, own in switched_on(settings) for source in provider.sources(own, now)
    ]
