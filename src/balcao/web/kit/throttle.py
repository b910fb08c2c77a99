"""How often somebody may guess. Counted in this process, by the same rule as requests.

What limits guessing, and how nobody locks out somebody else by it: contract 7.7.
"""

from collections.abc import Sequence

from balcao.core.memo import Memo
from balcao.core.rate_limit import Limit, refused, spend
from balcao.core.writing import counted

_MINUTE_MS = 60_000
_NAMES_MAX = 50_000

# A person who mistypes is let try again; a list of passwords takes years.
OF_EMAIL_AND_ADDRESS = Limit("email+address", 8, 15 * _MINUTE_MS)
OF_EMAIL = Limit("email", 40, 60 * _MINUTE_MS)  # from many addresses at once
OF_BROWSER = Limit("browser", 8, 15 * _MINUTE_MS)  # in which its owner has signed in before
OF_ADDRESS = Limit("address", 60, 15 * _MINUTE_MS)  # an office behind one address
OF_CODES = Limit("codes", 5, 5 * _MINUTE_MS)  # second factors of one user
OF_CODES_A_DAY = Limit("codes a day", 30, 24 * 60 * _MINUTE_MS)
OF_PRICES = Limit("prices", 60, _MINUTE_MS)  # looked at by one user, while typing
OF_COMPANIES = Limit("companies", 120, _MINUTE_MS)  # pages of them that one user opens
OF_LINKS = Limit("links", 30, 15 * _MINUTE_MS)  # one-time links from one address


def patience(seconds: int) -> str:
    """Return the sentence for a person who has to wait."""
    minutes = counted(-(-seconds // 60), "minuto", "minutos")
    return f"Muitas tentativas. Espere {minutes} e tente de novo."


class Throttle:
    """One instant per limit and name."""

    def __init__(self) -> None:
        self._empty_at_ms: dict[tuple[str, str], float] = {}
        # Where somebody has signed in: what others guess elsewhere does not keep them waiting.
        self._succeeded: Memo[tuple[str, str], bool] = Memo(_NAMES_MAX)

    def note_success(self, email: str, address: str) -> None:
        """Remember that this person signed in from this address. Empty: it is unknown."""
        if address:
            self._succeeded.put((email, address), True)

    def has_succeeded(self, email: str, address: str) -> bool:
        """Return whether this person signed in from this address before."""
        return self._succeeded.get((email, address)) is not None

    def wait_seconds(self, tries: Sequence[tuple[Limit, str]], now_ms: int) -> int:
        """Count one try against all of them. 0: go on; else how long to wait, and none counts."""
        verdicts = [
            spend(limit, self._empty_at_ms.get((limit.name, name), 0.0), now_ms)
            for limit, name in tries
        ]
        if (worst := refused(verdicts)) is not None:
            return max(1, -int(-worst.retry_ms // 1000))
        if len(self._empty_at_ms) >= _NAMES_MAX:
            self._forget(now_ms)
        for (limit, name), verdict in zip(tries, verdicts, strict=True):
            self._empty_at_ms[limit.name, name] = verdict.empty_at_ms
        return 0

    def forgive(self, *tries: tuple[Limit, str]) -> None:
        """Take back a try, after the right password."""
        for limit, name in tries:
            if (limit.name, name) in self._empty_at_ms:
                self._empty_at_ms[limit.name, name] -= limit.window_ms / limit.quota

    def _forget(self, now_ms: int) -> None:
        late = {name: at for name, at in self._empty_at_ms.items() if at > now_ms}
        # A flood of names: the oldest half goes, rather than everything or nothing.
        keep = sorted(late, key=lambda name: late[name])[-_NAMES_MAX // 2 :]
        self._empty_at_ms = {name: late[name] for name in keep}
