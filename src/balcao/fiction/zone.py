"""Registrations with Suframa, the authority of the Manaus free-trade zone."""

from balcao.core.check_digits import zone_check_digit
from balcao.fiction.calendar import DAYS, LAST, number_of
from balcao.fiction.dice import deck, draws
from balcao.fiction.establishments import establishment_of
from balcao.fiction.records import ZoneRegistration
from balcao.fiction.sandbox import ABSENT_COMPANIES, ESTABLISHMENTS, MISBEHAVING_COMPANIES
from balcao.fiction.sandbox.registrations import ICMS_EXEMPTION, IPI_EXEMPTION, ZONE_ROWS

# UFs whose companies Suframa registers.
ZONE_UFS = frozenset({"AM", "AC", "RO", "RR", "AP"})

# Numbers: 1 Ativa, 2 Inativa, 3 Bloqueada, 4 Cancelada, 5 Cancelada Ag. Rec.
_ACTIVE = 1
_STATUS_CARDS = deck([(_ACTIVE, 88), (2, 6), (3, 5), (5, 1)])
_STATUS_CARDS_OF_THE_CLOSED = deck([(4, 85), (5, 10), (2, 5)])

# Shares of 65 536.
_REGISTERED = 42598
_APPROVED = 58982
_ICMS_ALONE = 13107


def zone_registration_of(cnpj: str) -> ZoneRegistration | None:
    """Return the Suframa registration of a CNPJ (14 characters), or None."""
    if (fixed := ZONE_ROWS.get(cnpj)) is not None:
        return fixed
    misbehaving = cnpj in MISBEHAVING_COMPANIES
    if cnpj in ABSENT_COMPANIES or (cnpj in ESTABLISHMENTS and not misbehaving):
        return None
    establishment = establishment_of(cnpj)
    d = draws(f"{cnpj} zone")
    if not misbehaving and (
        establishment.address.municipality.uf not in ZONE_UFS or d[0] >= _REGISTERED
    ):
        return None
    cards = _STATUS_CARDS if establishment.status == "02" else _STATUS_CARDS_OF_THE_CLOSED
    status = _ACTIVE if misbehaving else cards[d[1] & 4095]
    # A cancelled registration is not approved.
    approved = misbehaving or (status in (1, 2, 3) and d[2] < _APPROVED)
    opened = number_of(establishment.opened)
    since = opened + (d[3] * (LAST - opened) >> 17)
    approved_on = DAYS[since + (d[4] * (LAST - since) >> 17)] if approved else None
    incentives = (
        () if not approved or status != _ACTIVE
        else (ICMS_EXEMPTION,) if d[5] < _ICMS_ALONE
        else (IPI_EXEMPTION, ICMS_EXEMPTION)
    )  # fmt: skip
    base = f"20{(d[6] << 16 | d[7]) % 1_000_000:06d}"
    return ZoneRegistration(
        number=base + zone_check_digit(base),
        since=DAYS[since],
        approved=approved,
        approved_on=approved_on,
        status=status,
        incentives=incentives,
    )
