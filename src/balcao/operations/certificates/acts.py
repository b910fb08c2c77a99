"""Which later day an act gives a certificate, by its answer or its request (decisions 4.12)."""

from collections.abc import Iterable, Mapping

from balcao.core.extensions import FEDERAL, STATE, Extended, Extension, extended
from balcao.core.ledger import Trace
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


def by_act_of(acts: Iterable[Extension], subject: str, trace: Trace) -> Extended | None:
    """The same of what is remembered of its request, which its answer does not outlive."""
    brought = trace.certificate
    if brought is None:
        return None
    uf = trace.uf if subject == STATE else None
    return extended(acts, subject, uf, brought.issued_on, brought.validity)
