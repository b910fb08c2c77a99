"""Types that several of CNPJá's replies share (`cnpja.md` sections 3 and 4)."""

import msgspec

from balcao.sources.replies import Number


class Item(msgspec.Struct):
    """A code and its description, from one of CNPJá's code tables."""

    id: Number | None = None
    text: str | None = None


class Country(msgspec.Struct):
    """A country by its name; their number is ignored."""

    name: str | None = None


class CnpjaAddress(msgspec.Struct):
    """An address. `street` holds type and name together."""

    municipality: Number | None = None  # IBGE
    street: str | None = None
    number: str | None = None
    details: str | None = None
    district: str | None = None
    city: str | None = None
    state: str | None = None
    zip: str | None = None
    country: Country | None = None


class CnpjaPhone(msgspec.Struct):
    """A telephone number."""

    area: str | None = None
    number: str | None = None


class Email(msgspec.Struct):
    """An e-mail address."""

    address: str | None = None
    domain: str | None = None
