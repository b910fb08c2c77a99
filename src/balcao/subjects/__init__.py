"""What can be asked, one file per operation: data and small pure functions."""

from collections.abc import Mapping

from balcao.core.questions import Subject
from balcao.subjects import company
from balcao.subjects.contract import Operation

OPERATIONS: Mapping[Subject, Operation] = {"company": company.OPERATION}
