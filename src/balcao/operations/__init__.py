"""What can be asked: one folder per operation, listed here."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from balcao.core.questions import Subject
from balcao.operations.company.operation import CompanyLookup
from balcao.operations.contract import Operation, today_in_brasilia
from balcao.operations.federal_certificate.operation import FederalCertificateLookup
from balcao.operations.rural_producer.operation import RuralProducerLookup
from balcao.operations.state_certificate.operation import StateCertificateLookup
from balcao.operations.state_registration.operation import StateRegistrationLookup
from balcao.operations.suframa.operation import SuframaLookup

# As operators read of them; the contract has an order of its own (`endpoint`).
ALL_OPERATIONS: Sequence[type[Operation]] = (
    CompanyLookup,
    StateRegistrationLookup,
    RuralProducerLookup,
    SuframaLookup,
    FederalCertificateLookup,
    StateCertificateLookup,
)


def operations(
    ufs: Mapping[Subject, Sequence[str]] = MappingProxyType({}),
    today: Callable[[], datetime.date] = today_in_brasilia,
) -> Mapping[Subject, Operation]:
    """By their subject, in the order of the specification. Which UFs each takes is a setting."""
    in_order = sorted(ALL_OPERATIONS, key=lambda each: each.endpoint)
    return MappingProxyType(
        {each.subject: each(ufs.get(each.subject, ()), today) for each in in_order}
    )


# With the default settings.
OPERATIONS = operations()
