"""What can be asked, one file per operation: data and small pure functions."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from balcao.core.federation import UFS
from balcao.core.questions import Subject
from balcao.subjects import company, rural_producer, state_registration, suframa
from balcao.subjects.contract import Operation


def operations(
    state_ufs: Sequence[str] = UFS, rural_ufs: Sequence[str] = rural_producer.UFS_DEFAULT
) -> Mapping[Subject, Operation]:
    """All operations, in the order of the specification; which UFs they take is a setting."""
    all_of_them = (
        suframa.operation(),
        state_registration.operation(state_ufs),
        rural_producer.operation(rural_ufs),
        company.OPERATION,
    )
    return MappingProxyType({operation.subject: operation for operation in all_of_them})


# With the default settings.
OPERATIONS = operations()
