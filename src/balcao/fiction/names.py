"""How fictitious companies are called: always with FICTICIA, FICTICIO or DA FICCAO in it."""

from balcao.fiction import natures
from balcao.fiction.codes import TRADES
from balcao.fiction.decks import PROPER_NAME_CARDS
from balcao.fiction.digits import impossible_cpf
from balcao.fiction.origin import Origin
from balcao.fiction.people import name_of
from balcao.fiction.places import UF_NAMES

# Of 1 024 sole traders 640 start with their root, as the newer ones do, and 240 end with
# their owner's CPF, as the older ones do (`rfb-open-data.md`, section 4.1).
_ROOT_FIRST = 640
_CPF_LAST = 640 + 240


def legal_name(root: str, origin: Origin) -> str:
    """The legal name of a root, out of its draws 6 to 12."""
    d = origin.draws
    if origin.nature.code == natures.SOLE_TRADER:
        return _sole_trader(root, d)
    return origin.nature.name.format(
        trade=TRADES[origin.activity],
        proper=PROPER_NAME_CARDS[d[12] & 4095],
        person=name_of(d[7], d[8], d[9]),
        place=origin.place.name,
        year=2008 + 4 * (d[6] % 5),
    )


def _sole_trader(root: str, d: tuple[int, ...]) -> str:
    person = name_of(d[7], d[8], d[9])
    form = d[6] & 1023
    if form < _ROOT_FIRST:
        return f"{root[:2]}.{root[2:5]}.{root[5:]} {person}"
    if form < _CPF_LAST:
        cpf = impossible_cpf((d[10] << 16 | d[11]) % 1_000_000_000)
        return f"{person} {_written_cpf(cpf, d[6] >> 10)}"
    return person


def _written_cpf(cpf: str, form: int) -> str:
    """Mostly bare digits; the other spellings occur and have to be masked as well."""
    if form == 0:
        return f"{cpf[:3]}.{cpf[3:6]}.{cpf[6:9]}-{cpf[9:]}"
    if form == 1:
        return f"{cpf[:3]} {cpf[3:6]} {cpf[6:9]} {cpf[9:]}"
    if form == 2:
        return f"{cpf[:9]}-{cpf[9:]}"
    if form == 3 and cpf[0] == "0":
        return cpf[1:]
    return cpf


def federative_entity(origin: Origin) -> str:
    """Who is responsible for a public body (natures 1xxx); empty for all others."""
    place = origin.place
    if origin.nature.code == natures.MUNICIPALITY:
        return f"{place.name} - {place.uf}"
    if origin.nature.code == natures.PUBLIC_BODY:
        return "UNIAO" if origin.draws[22] & 1 else UF_NAMES.get(place.uf, "UNIAO")
    return ""
