"""Which later day an act gives a certificate, by its answer (decisions 4.12)."""

from collections.abc import Iterable, Mapping

from balcao.core.extensions import FEDERAL, STATE, Extended, Extension, extended
from balcao.operations.views import Body

# The fields that say when it was issued, and until when it is valid. A state certificate does not
# say the former: treasuries issue it when they are asked.
_DATED: Mapping[str, tuple[str, str]] = {
    FEDERAL: ("issued_at", "effective_validity"),
    STATE: ("datahora", "validade"),
}


def by_act(acts: Iterable[Extension], subject: str, uf: str | None, body: Body) -> Extended | None:
    """The latest day of an act, and that act; None: no act gives a later one than the answer."""
    issued_on, until = (body.get(name) for name in _DATED[subject])
    return extended(acts, subject, uf if subject == STATE else None, issued_on, until)
