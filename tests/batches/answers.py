"""Answers of the operations' examples, as delivered."""

from balcao.core.receipts import ReceiptNumbers
from balcao.operations.contract import EXAMPLE_MS, AnswerContext, Operation

REQUEST = "019a0000-0000-7000-8000-000000000001"


def answers(operation: Operation) -> dict[str, bytes]:
    """Return the envelope of each example, by name."""
    around = AnswerContext(EXAMPLE_MS, 1, ReceiptNumbers(b"pepper"))
    return {
        each.name: b'{"request_id":"'
        + REQUEST.encode()
        + b'",'
        + operation.conclude(each.question, each.outcomes, around).fields
        for each in operation.examples()
    }


def answer(operation: Operation) -> bytes:
    """Return the envelope of the first example."""
    return next(iter(answers(operation).values()))
