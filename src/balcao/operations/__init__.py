"""The operations: one folder each, named by its subject and listed here."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType

from balcao.core.questions import Subject
from balcao.operations.contract import Operation, today_in_brasilia

# In the order for operators; the contract has its own (`endpoint`).
_FOLDERS = (
    "company",
    "state_registration",
    "rural_producer",
    "suframa",
    "federal_certificate",
    "state_certificate",
)
ALL_OPERATIONS: Sequence[type[Operation]] = tuple(
    import_module(f"balcao.operations.{name}.operation").OPERATION for name in _FOLDERS
)


def operations(
    ufs: Mapping[Subject, Sequence[str]] = MappingProxyType({}),
    today: Callable[[], datetime.date] = today_in_brasilia,
) -> Mapping[Subject, Operation]:
    """Return the operations by subject, in the specification's order. `ufs`: by settings."""
    in_order = sorted(ALL_OPERATIONS, key=lambda each: each.endpoint)
    return MappingProxyType(
        {each.subject: each(ufs.get(each.subject, ()), today) for each in in_order}
    )


# With the default settings.
OPERATIONS = operations()
