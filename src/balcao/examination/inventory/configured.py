"""The providers' settings: which to ask for each subject, in which order."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from balcao.core.questions import Subject
from balcao.operations import ALL_OPERATIONS
from balcao.providers import PROVIDERS
from balcao.providers.contract import EnabledSource, Provider
from balcao.settings import Settings


def order(settings: Settings) -> Mapping[Subject, Sequence[str]]:
    """Return the names of each subject's sources, in the order of asking."""
    return {each.subject: settings.sources_of(each.subject) for each in ALL_OPERATIONS}


def ufs(settings: Settings) -> Mapping[Subject, Sequence[str]]:
    """Return the UFs of the subjects whose UFs are a setting."""
    return {
        each.subject: settings.ufs_of(each.subject) for each in ALL_OPERATIONS if each.usual_ufs
    }


def with_settings(settings: Settings) -> Iterator[tuple[Provider, Any]]:
    """Yield every provider that has settings, with them."""
    for provider in PROVIDERS:
        if (own := provider.settings_in(settings)) is not None:
            yield provider, own


def switched_on(settings: Settings) -> Iterator[tuple[Provider, Any]]:
    """Yield the providers that can be asked, with their settings."""
    return ((provider, own) for provider, own in with_settings(settings) if own.is_on)


def configured(settings: Settings, now: datetime) -> Sequence[EnabledSource]:
    """Return every source that is switched on. Raises `ProviderUnusable`; `now` is aware."""
    return [
        source for provider, own in switched_on(settings) for source in provider.sources(own, now)
    ]
