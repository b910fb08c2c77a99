"""Limits on guessing, counted in this process by the same rule as requests.

Contract 7.7 has the limits, and keeps the guesses of others from locking a person out.
"""

from collections.abc import Sequence

from balcao.core.memo import Memo
from balcao.core.rate_limit import Limit, refused, spend
from balcao.core.writing import counted

_MINUTE_MS = 60_000
_NAMES_MAX = 50_000

# Generous for typing errors; a list of passwords would take years.
EMAIL_AND_ADDRESS_LIMIT = Limit("email+address", 8, 15 * _MINUTE_MS)
EMAIL_LIMIT = Limit("email", 40, 60 * _MINUTE_MS)  # from many addresses at once
BROWSER_LIMIT = Limit("browser", 8, 15 * _MINUTE_MS)  # one in which its owner has signed in before
ADDRESS_LIMIT = Limit("address", 60, 15 * _MINUTE_MS)  # an office behind one address
CODES_LIMIT = Limit("codes", 5, 5 * _MINUTE_MS)  # second factors of one user
DAILY_CODES_LIMIT = Limit("codes a day", 30, 24 * 60 * _MINUTE_MS)
CODES_LIMITS = (CODES_LIMIT, DAILY_CODES_LIMIT)
PRICES_LIMIT = Limit("prices", 60, _MINUTE_MS)  # shown to one user while typing
COMPANIES_LIMIT = Limit("companies", 120, _MINUTE_MS)  # company pages opened by one user
RESET_LIMIT = Limit("resets", 3, 60 * _MINUTE_MS)  # messages to one e-mail address
LINKS_LIMIT = Limit("links", 30, 15 * _MINUTE_MS)  # one-time links from one address


def wait_message(seconds: int) -> str:
    """Return the sentence for a person who has to wait."""
    minutes = counted(-(-seconds // 60), "minuto", "minutos")
    return f"Muitas tentativas. Aguarde {minutes} e tente de novo."


class Throttle:
    """The state of each limit: one instant per limit and name."""

    def __init__(self) -> None:
        self._empty_at_ms: dict[tuple[str, str], float] = {}
        # Where people have signed in: guesses made elsewhere do not limit them there.
        self._succeeded: Memo[tuple[str, str], bool] = Memo(_NAMES_MAX)

    def note_success(self, email: str, address: str) -> None:
        """Remember that this person signed in from this address. Empty: unknown address."""
        if address:
            self._succeeded.put((email, address), True)

    def has_succeeded(self, email: str, address: str) -> bool:
        """Return whether this person signed in from this address before."""
        return self._succeeded.get((email, address)) is not None

    def wait_seconds(self, tries: Sequence[tuple[Limit, str]], now_ms: int) -> int:
        """Count a try, unless a limit refuses it. Return the seconds to wait; 0: it was counted."""
        verdicts = [
            spend(limit, self._empty_at_ms.get((limit.name, name), 0.0), now_ms)
            for limit, name in tries
        ]
        if (worst := refused(verdicts)) is not None:
            return max(1, -int(-worst.retry_ms // 1000))
        if len(self._empty_at_ms) >= _NAMES_MAX:
            self._prune(now_ms)
        for (limit, name), verdict in zip(tries, verdicts, strict=True):
            self._empty_at_ms[limit.name, name] = verdict.empty_at_ms
        return 0

    def refund(self, *tries: tuple[Limit, str]) -> None:
        """Take back a try, after the right password."""
        for limit, name in tries:
            if (limit.name, name) in self._empty_at_ms:
                self._empty_at_ms[limit.name, name] -= limit.window_ms / limit.quota

    def _prune(self, now_ms: int) -> None:
        late = {name: at for name, at in self._empty_at_ms.items() if at > now_ms}
        # Under a flood of names, drop the oldest half.
        newest = sorted(late, key=lambda name: late[name])[-_NAMES_MAX // 2 :]
        self._empty_at_ms = {name: late[name] for name in newest}
