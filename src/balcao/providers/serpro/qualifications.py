"""Texts of the registry's partner qualifications, for sources that send the bare code.

A code that is not here stays a code; so does 00, whose text only says that nothing was said.
"""

from balcao.core.qualifications import QUALIFICATIONS

QUALIFICATION_TEXTS = {code: text for code, text in QUALIFICATIONS.items() if code != "00"}
