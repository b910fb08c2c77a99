"""Legal natures with the distributions of names, sizes, partners and tax options."""

import msgspec

from balcao.fiction import tables
from balcao.fiction.dice import deck

# Natures with further rules in the code.
SOLE_TRADER = "2135"
MUNICIPALITY = "1244"
PUBLIC_BODY = "1015"
RURAL = "4120"


class Nature(msgspec.Struct, frozen=True, gc=False):
    """A legal nature and its distributions."""

    code: str
    name: str  # template of companies' names; empty: the owner's name
    responsible: str  # qualification of the person responsible
    activity: str  # the one activity of this nature; empty: any
    sizes: tuple[str, ...]  # deck
    partner_counts: tuple[int, ...]  # deck
    partner_qualifications: tuple[str, ...]  # deck
    simples_share: int  # of 65 536 have a row in Simples
    mei_share: int  # of 65 536 of those rows are MEI today


def _read() -> list[tuple[Nature, float]]:
    """Return the natures with their shares of the roots, in per cent."""
    sizes, counts, roles = (
        {name: deck(cards) for name, cards in tables.cards(section).items()}
        for section in ("sizes", "partners", "roles")
    )
    return [
        (
            Nature(
                code=row["code"],
                name=row["name"],
                responsible=row["responsible"],
                activity=row["activity"],
                sizes=sizes[row["sizes"]],
                partner_counts=counts[row["partners"]],
                partner_qualifications=roles[row["roles"]],
                simples_share=int(float(row["simples"]) * 65536),
                mei_share=int(float(row["mei"]) * 65536),
            ),
            float(row["share"]),
        )
        for row in tables.rows("drawn_natures")
    ]


WEIGHTED_NATURES = _read()
