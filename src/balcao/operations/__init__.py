"""What can be asked, one file per operation: data and small pure functions."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from balcao.core.calendar import BRASILIA
from balcao.core.federation import RURAL_UFS, UFS
from balcao.core.questions import Subject
from balcao.operations.company import operation as company
from balcao.operations.contract import Operation
from balcao.operations.federal_certificate import operation as federal_certificate
from balcao.operations.rural_producer import operation as rural_producer
from balcao.operations.state_certificate import operation as state_certificate
from balcao.operations.state_registration import operation as state_registration
from balcao.operations.suframa import operation as suframa


def _today() -> datetime.date:
    return datetime.datetime.now(BRASILIA).date()


def operations(
    state_ufs: Sequence[str] = UFS,
    rural_ufs: Sequence[str] = RURAL_UFS,
    today: Callable[[], datetime.date] = _today,
) -> Mapping[Subject, Operation]:
    """All operations, in the order of the specification.

    Which UFs they take is a setting; `today` is the civil date in Brasília.
    """
    all_of_them = (
        suframa.operation(),
        state_registration.operation(state_ufs),
        rural_producer.operation(rural_ufs),
        federal_certificate.operation(today),
        state_certificate.operation(),
        company.OPERATION,
    )
    return MappingProxyType({operation.subject: operation for operation in all_of_them})


# With the default settings.
OPERATIONS = operations()
