"""Documents about which a state treasury answers in a form that clients trip over.

Each is registered in SP and answered in its own way by the treasuries alone (`docs/sandbox.md`,
"State treasuries"); every other provider speaks of them as of anybody.
"""

from collections.abc import Mapping
from enum import StrEnum


class Form(StrEnum):
    """How an answer is written, or what stands in it."""

    OTHER_DATES = "its optional dates are DD/MM/YYYY"
    GZIP = "compressed with gzip, unasked"
    DEFLATE = "compressed with deflate, unasked"
    LATIN_1 = "in ISO-8859-1, which only the Content-Type says"
    WHITE_SPACE = "white space before the XML declaration"
    TWICE = "the same registration twice"
    TWO_MINDS = "the same registration twice, enabled and not enabled"
    EXEMPT = "ISENTO in the place of the number"
    EXEMPT_TOO = "a registration, and an item of ISENTO"
    NOT_GZIP = "said to be gzip, and is not"
    BY_COMPANY = "a producer whose registration is held by a CNPJ"


FORMS: Mapping[str, Form] = {
    "90090001000167": Form.OTHER_DATES,
    "90090002000101": Form.GZIP,
    "90090003000156": Form.DEFLATE,
    "90090004000109": Form.LATIN_1,
    "90090005000145": Form.WHITE_SPACE,
    "90090006000190": Form.TWICE,
    "90090007000134": Form.TWO_MINDS,
    "90090008000189": Form.EXEMPT,
    "90090009000123": Form.EXEMPT_TOO,
    "90090010000158": Form.NOT_GZIP,
    "90090000102": Form.BY_COMPANY,
}

# Who holds the registration of that producer.
PRODUCERS_COMPANY = "90090011000100"
