"""The operations: one folder each, named by its subject and listed here in their order."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType

from balcao.core.questions import Subject
from balcao.operations.contract import Operation, today_in_brasilia

# The order of all menus, documents and tables, the most requested first.
_FOLDERS = (
    "company",
    "state_registration",
    "federal_certificate",
    "state_certificate",
    "labour_certificate",
    "fgts_regularity",
    "rural_producer",
    "suframa",
)
ALL_OPERATIONS: Sequence[type[Operation]] = tuple(
    import_module(f"balcao.operations.{name}.operation").OPERATION for name in _FOLDERS
)


def operations(
    ufs: Mapping[Subject, Sequence[str]] = MappingProxyType({}),
    today: Callable[[], datetime.date] = today_in_brasilia,
) -> Mapping[Subject, Operation]:
    """Return the operations by subject, in order. `ufs`: by settings."""
    return MappingProxyType(
        {each.subject: each(ufs.get(each.subject, ()), today) for each in ALL_OPERATIONS}
    )


# With the default settings.
OPERATIONS = operations()
