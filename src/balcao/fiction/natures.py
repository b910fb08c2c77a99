"""Legal natures as cards: what a nature says about name, size, partners and tax options."""

import msgspec

from balcao.fiction.dice import deck

# How a company of the nature is named (`names.py`).
SOLE_TRADER = "sole trader"
COMPANY = "company"
CANDIDATE = "candidate"
ASSOCIATION = "association"
CHURCH = "church"
CONDOMINIUM = "condominium"
MUNICIPALITY = "municipality"
PUBLIC_BODY = "public body"


class Nature(msgspec.Struct, frozen=True, gc=False):
    """One legal nature and what goes with it."""

    code: str
    naming: str
    suffix: str
    responsible: str  # qualification of the person responsible
    activity: str  # the one activity of this nature; empty: any
    sizes: tuple[str, ...]  # deck
    partner_counts: tuple[int, ...]  # deck
    partner_qualifications: tuple[str, ...]  # deck
    simples_share: int  # of 65 536 have a row in Simples
    mei_share: int  # of 65 536 of those rows are MEI today


_NO_PARTNERS = deck([(0, 1.0)])
_FEW_PARTNERS = deck(
    [
        (0, 12),
        (1, 49),
        (2, 29),
        (3, 6.5),
        (4, 2.5),
        (5, 1),
        (6, 0.5),
        (8, 0.3),
        (12, 0.15),
        (40, 0.02),
    ]
)
_ONE_PARTNER = deck([(0, 8), (1, 90), (2, 2)])
_BOARD = deck([(0, 4), (1, 20), (2, 30), (3, 20), (5, 14), (7, 8), (9, 3), (15, 1)])

_SMALL = deck([("01", 92), ("05", 6), ("03", 2)])
_LIMITED = deck([("01", 61), ("05", 32), ("03", 7), ("", 0.025)])
_OTHERS = deck([("05", 97), ("01", 2), ("03", 1)])

_MEMBERS = deck([("49", 66), ("22", 27), ("05", 4), ("52", 1), ("28", 1), ("30", 0.6), ("36", 0.2)])
_DIRECTORS = deck([("10", 70), ("08", 14), ("16", 10), ("05", 6)])
_PRESIDENTS = deck([("16", 88), ("10", 7), ("33", 3), ("18", 2)])
_MANAGERS = deck([("05", 70), ("10", 20), ("16", 10)])
_OWNER = deck([("65", 1.0)])
_OSTENSIVE = deck([("31", 60), ("22", 40)])
_JANITOR = deck([("19", 95), ("05", 5)])


_COUNTS = {"none": _NO_PARTNERS, "few": _FEW_PARTNERS, "one": _ONE_PARTNER, "board": _BOARD}
_SIZES = {"small": _SMALL, "limited": _LIMITED, "other": _OTHERS}
_ROLES = {
    "members": _MEMBERS,
    "directors": _DIRECTORS,
    "presidents": _PRESIDENTS,
    "managers": _MANAGERS,
    "owner": _OWNER,
    "ostensive": _OSTENSIVE,
    "janitor": _JANITOR,
}

# Share of the roots in per cent; code; naming; end of the name; qualification of the person
# responsible; its only activity; sizes; number of partners; their roles; share with a row in
# Simples; share of those who are MEI.
_ROWS = """
69    2135 sole trader  |                                   50 -       small   none  members    0.87 0.86
24    2062 company      | LTDA                              49 -       limited few   members    0.56 0
2     4090 candidate    |                                   51 9492800 other   none  members    0    0
1     2240 company      | S/S LTDA                          49 -       limited few   members    0.4  0
0.8   3999 association  |                                   16 9430800 other   one   presidents 0.05 0
0.5   4120 person       | E OUTROS                          59 0151201 other   none  members    0    0
0.5   3085 condominium  |                                   19 8112500 other   one   janitor    0    0
0.4   2305 company      | EIRELI                            65 -       limited one   owner      0.5  0
0.4   2321 law firm     | SOCIEDADE INDIVIDUAL DE ADVOCACIA 49 6911701 limited one   members    0.7  0
0.4   3220 church       |                                   16 9491000 other   one   presidents 0    0
0.3   2127 company      | SCP                               31 -       other   few   ostensive  0    0
0.25  2054 company      | S/A                               10 -       other   board directors  0    0
0.15  1244 municipality |                                   05 8411600 other   none  members    0    0
0.08  2143 company      | COOPERATIVA                       16 -       other   board presidents 0    0
0.04  8885 company      | LTDA                              00 -       other   none  members    0    0
0.03  1015 public body  |                                   05 8411600 other   none  members    0    0
0.02  2046 company      | S/A                               10 -       other   board directors  0    0
0.02  2011 company      | EMPRESA PUBLICA                   05 -       other   board managers   0    0
0.01  2038 company      | S/A                               10 -       other   board directors  0    0
"""  # noqa: E501


def _read() -> list[tuple[Nature, float]]:
    found: list[tuple[Nature, float]] = []
    for line in _ROWS.strip().splitlines():
        left, right = line.split("|")
        share, code, *naming = left.split()
        *suffix, responsible, activity, sizes, counts, roles, simples, mei = right.split()
        nature = Nature(
            code=code,
            naming=" ".join(naming),
            suffix=" ".join(suffix),
            responsible=responsible,
            activity="" if activity == "-" else activity,
            sizes=_SIZES[sizes],
            partner_counts=_COUNTS[counts],
            partner_qualifications=_ROLES[roles],
            simples_share=int(float(simples) * 65536),
            mei_share=int(float(mei) * 65536),
        )
        found.append((nature, float(share)))
    return found


WEIGHTED_NATURES = _read()
