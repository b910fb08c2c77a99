"""Acts of law that extend the validity of certificates, and the resulting last day.

Contract 4.12. They neither change a source's answer nor how long it is served. Days are ISO text
`YYYY-MM-DD`, which sorts like the days themselves.
"""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from balcao.core.request_tags import CPF_IN_NAME, contains_cpf

# The subjects whose certificates acts extend.
FEDERAL, STATE = "federal_certificate", "state_certificate"
LABOUR, FGTS = "labour_certificate", "fgts_regularity"

# Those without a UF, by their short names.
OF_NO_STATE: Final[Mapping[str, str]] = {"federal": FEDERAL, "trabalhista": LABOUR, "fgts": FGTS}
_NAMES: Final[Mapping[str, str]] = {
    FEDERAL: "federal",
    LABOUR: "trabalhista",
    FGTS: "regularidade do FGTS",
}

ACT_CHARACTERS_MAX = 200
DAYS_MAX = 3650


@dataclass(frozen=True, slots=True)
class Extension:
    """An act that extends the certificates of a subject issued within a period.

    Exactly one of `until_day` (the new last day) and `days` (added to the certificate's own) is
    set.
    """

    subject: str  # of the certificates' operation
    uf: str | None  # None: of no state
    issued_from: str
    issued_to: str  # included
    until_day: str | None
    days: int | None
    act: str  # as people cite it
    extension_id: int = 0  # 0: not stored yet
    added_ms: int = 0

    @property
    def certificates(self) -> str:
        """The name of the certificates that it extends."""
        return f"estadual {self.uf}" if self.subject == STATE else _NAMES[self.subject]

    def day_for(self, validity: str) -> str:
        """Return the last day of a certificate that was valid until `validity`."""
        if self.until_day is not None:
            return self.until_day
        assert self.days is not None
        day = datetime.date.fromisoformat(validity)
        return (day + datetime.timedelta(days=self.days)).isoformat()


@dataclass(frozen=True, slots=True)
class Extended:
    """A later last day, and the act that gives it."""

    until: str
    act: str


def extended(
    extensions: Iterable[Extension],
    subject: str,
    uf: str | None,
    issued_on: str | None,
    validity: str | None,
) -> Extended | None:
    """Return the latest day given by an act; None if none is later than the certificate's own.

    Also None for a certificate without a day of issue or validity.
    """
    if not issued_on or not validity:
        return None
    issued_on, validity = issued_on[:10], validity[:10]
    found = [
        Extended(each.day_for(validity), each.act)
        for each in extensions
        if (each.subject, each.uf) == (subject, uf)
        and each.issued_from <= issued_on <= each.issued_to
    ]
    latest = max(found, key=lambda one: one.until, default=None)
    return latest if latest is not None and latest.until > validity else None


def problem_of(extension: Extension) -> str | None:
    """Return the error in an act, in words for the operator, or None."""
    if extension.issued_to < extension.issued_from:
        return "o fim do período de emissão é antes do começo"
    if (extension.until_day is None) == (extension.days is None):
        return "informe a nova validade ou os dias a mais, não os dois"
    if extension.days is not None and not 1 <= extension.days <= DAYS_MAX:
        return f"os dias devem ser de 1 a {DAYS_MAX}"
    if extension.until_day is not None and extension.until_day < extension.issued_from:
        return "o dia da prorrogação é antes do período de emissão"
    act = extension.act
    if not act.strip() or not act.isprintable() or len(act) > ACT_CHARACTERS_MAX:
        return f"o ato tem de 1 a {ACT_CHARACTERS_MAX} caracteres, em uma linha"
    if contains_cpf(act):
        return f"o ato {CPF_IN_NAME.rstrip('.')}"
    return None
