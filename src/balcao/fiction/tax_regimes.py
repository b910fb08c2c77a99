"""The fictitious forms of taxation of companies, by year.

Companies that never opted for Simples declare one each year: most of them presumed profit, some
real profit, associations that they are exempt. Few have a partnership of their own (SCP).
"""

from collections.abc import Mapping

from balcao.fiction.calendar import DAYS
from balcao.fiction.digits import cnpj
from balcao.fiction.natures import SOLE_TRADER
from balcao.fiction.records import CompanyFiction, TaxRegimeFiction
from balcao.fiction.root_facts import root_facts
from balcao.fiction.sandbox import COMPANIES

YEARS = (2021, 2022, 2023)

REAL, PRESUMED, ARBITRATED = "LUCRO REAL", "LUCRO PRESUMIDO", "LUCRO ARBITRADO"
IMMUNE, EXEMPT = "IMUNE DO IRPJ", "ISENTA DO IRPJ"

# The publisher's file of each form.
FILES: Mapping[str, str] = {
    IMMUNE: "Imunes e Isentas",
    EXEMPT: "Imunes e Isentas",
    ARBITRATED: "Lucro Arbitrado",
    PRESUMED: "Lucro Presumido",
    REAL: "Lucro Real",
}

# Companies of the sandbox (`docs/sandbox.md`); its others have none.
_PROMISED: Mapping[str, tuple[TaxRegimeFiction, ...]] = {
    "90010001": (
        TaxRegimeFiction(2021, PRESUMED),
        TaxRegimeFiction(2022, PRESUMED),
        TaxRegimeFiction(2023, REAL),
    ),
    "90010002": (
        TaxRegimeFiction(2022, REAL),
        TaxRegimeFiction(2023, REAL),
        TaxRegimeFiction(2023, REAL, partnership="90010007000187"),
    ),
    "90010003": (TaxRegimeFiction(2021, ARBITRATED),),
}

# Of 65 536 companies: those that arbitrate, those that declare real profit, those with an SCP.
_ARBITRATING, _REAL, _WITH_PARTNERSHIP = 655, 9_830, 655
_NOT_FOR_PROFIT, _DECLARING = "3", ("2", "3")  # first digits of natures


def tax_regimes_of(company: CompanyFiction) -> tuple[TaxRegimeFiction, ...]:
    """Return the forms of taxation of a company, by year."""
    root, nature = company.root, company.nature
    if root in COMPANIES:
        return _PROMISED.get(root, ())
    if not nature.startswith(_DECLARING) or nature == SOLE_TRADER or company.simples is not None:
        return ()
    facts = root_facts(root)
    first = DAYS[facts.founded].year
    last = DAYS[facts.ended].year if facts.status == "08" else YEARS[-1]
    card = facts.draws[24]
    if nature.startswith(_NOT_FOR_PROFIT):
        form = EXEMPT if card & 1 else IMMUNE
    else:
        form = ARBITRATED if card < _ARBITRATING else REAL if card < _REAL else PRESUMED
    partnerships = [""]
    if form in {REAL, PRESUMED} and facts.draws[25] < _WITH_PARTNERSHIP:
        partnerships.append(cnpj(f"{facts.draws[26] << 8 | facts.draws[27] & 255:08d}", "0001"))
    return tuple(
        TaxRegimeFiction(year, form, partnership=partnership)
        for year in YEARS
        if first <= year <= last
        for partnership in partnerships
    )
