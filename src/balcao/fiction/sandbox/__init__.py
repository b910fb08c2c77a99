"""The documents whose outcomes are promised (`docs/sandbox.md`): they stand above what is drawn.

One readable value per document, and nothing about protocols, which is the simulator's.
Registrations with states and Suframa: `sandbox/registrations.py`.
"""

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from types import MappingProxyType

from balcao.fiction.digits import impossible_cpf
from balcao.fiction.places import BY_TOM, Municipality
from balcao.fiction.records import (
    AddressFiction,
    CompanyFiction,
    Establishment,
    PartnerFiction,
    Person,
    PhoneFiction,
    Simples,
)

SAO_PAULO = BY_TOM["7107"]
MANAUS = BY_TOM["0255"]


class Misbehaviour(StrEnum):
    """How every source fails for a document (`sandbox.md`, Sources that misbehave)."""

    MAINTENANCE = "maintenance"
    NEVER = "never answers"
    ERROR = "HTTP 500"
    HTML = "HTML where JSON or XML is due"
    ANOTHER = "the data of another CNPJ"
    SLOW = "well after 3 s"
    ONCE = "well the first time, then HTTP 500"
    SOME_UFS = "in all UFs but BA, MG and RS"
    INCOMPLETE = "a mandatory field is missing"
    CUT = "the connection closes in the middle of the body"


MISBEHAVING_COMPANIES: Mapping[str, Misbehaviour] = MappingProxyType(
    {
        "90020001000190": Misbehaviour.MAINTENANCE,
        "90020002000135": Misbehaviour.NEVER,
        "90020003000180": Misbehaviour.ERROR,
        "90020004000124": Misbehaviour.HTML,
        "90020005000179": Misbehaviour.ANOTHER,
        "90020006000113": Misbehaviour.SLOW,
        "90020007000168": Misbehaviour.ONCE,
        "90020008000102": Misbehaviour.SOME_UFS,
        "90020009000157": Misbehaviour.INCOMPLETE,
        "90020010000181": Misbehaviour.CUT,
    }
)
MISBEHAVING_PEOPLE: Mapping[str, Misbehaviour] = MappingProxyType(
    {
        "90020000146": Misbehaviour.MAINTENANCE,
        "90020000227": Misbehaviour.NEVER,
        "90020000308": Misbehaviour.ERROR,
    }
)

# Valid check digits, and yet no such company: every source says so in its own way.
ABSENT_COMPANIES = frozenset({"99999999000191"})

# A month of open data shows what large files do to an importer: one company with 5 000
# establishments, one with 1 000 partners. Both roots draw a joint-stock company.
ROOT_OF_5000_ESTABLISHMENTS = "90037326"
ROOT_OF_1000_PARTNERS = "90034405"

# Establishment number of the head office, where it is not drawn.
HEAD_OFFICE_ORDERS: Mapping[str, str] = MappingProxyType(
    {
        "12ABC345": "01DE",
        "00000000": "0001",
        ROOT_OF_5000_ESTABLISHMENTS: "0001",
        ROOT_OF_1000_PARTNERS: "0001",
    }
)


def _establishment(
    cnpj: str,
    *,
    place: Municipality = SAO_PAULO,
    head_office: bool = True,
    trade_name: str = "SANDBOX FICTICIO",
    status: str = "02",
    status_date: date = date(2015, 3, 2),
    reason: str = "00",
    activity: str = "6201501",
    side_activities: tuple[str, ...] = (),
    number: str = "100",
) -> Establishment:
    return Establishment(
        cnpj=cnpj,
        head_office=head_office,
        trade_name=trade_name,
        status=status,
        status_date=status_date,
        reason=reason,
        city_abroad="",
        country="",
        opened=date(2015, 3, 2),
        activity=activity,
        side_activities=side_activities,
        address=AddressFiction(
            street_type="RUA",
            street="DAS ACACIAS FICTICIAS",
            number=number,
            complement="SALA 2",
            district="CENTRO",
            cep=f"{place.cep_prefix}00100",
            municipality=place,
        ),
        phones=(PhoneFiction(place.area_code, "10000001"),),
        fax=None,
        email="contato@example.com",
        special_status="",
        special_status_date=None,
    )


def _company(
    root: str,
    name: str,
    *,
    nature: str = "2062",
    responsible: str = "49",
    size: str = "05",
    capital_cents: int = 10_000_000,
    partners: tuple[PartnerFiction, ...] | None = None,
    simples: Simples | None = None,
) -> CompanyFiction:
    return CompanyFiction(
        root=root,
        name=name,
        nature=nature,
        responsible=responsible,
        capital_cents=capital_cents,
        size=size,
        federative_entity="",
        partners=(_natural_partner(root),) if partners is None else partners,
        simples=simples,
    )


def _natural_partner(root: str) -> PartnerFiction:
    return PartnerFiction(
        kind="2",
        name="FULANA DA FICCAO SILVA",
        document=impossible_cpf((int(root, 36) + 900_100_000) % 1_000_000_000),
        qualification="49",
        entered=date(2015, 3, 2),
        age_band="5",
    )


_PARTNERS_OF_THREE_KINDS = (
    _natural_partner("90010001"),
    PartnerFiction(
        kind="1",
        name="REDE DE FILIAIS FICTICIA LTDA",
        document="90010007000187",
        qualification="22",
        entered=date(2016, 7, 1),
        representative=impossible_cpf(900_100_070),
        representative_name="BELTRANO DA FICCAO SANTOS",
        representative_qualification="05",
    ),
    PartnerFiction(
        kind="3",
        name="FOREIGN FICTION HOLDINGS INC",
        document="",
        qualification="37",
        entered=date(2018, 1, 15),
        country="249",
        representative=impossible_cpf(900_100_071),
        representative_name="SICRANA DA FICCAO SOUZA",
        representative_qualification="17",
    ),
)

_MEI = Simples(
    opted=True,
    opted_on=date(2015, 3, 2),
    left_on=None,
    mei=True,
    mei_on=date(2015, 3, 2),
    mei_left_on=None,
)

COMPANIES: Mapping[str, CompanyFiction] = MappingProxyType(
    {
        company.root: company
        for company in (
            _company("90010001", "EMPRESA ATIVA FICTICIA LTDA", partners=_PARTNERS_OF_THREE_KINDS),
            _company("90010002", "INDUSTRIA DE MANAUS FICTICIA LTDA", capital_cents=250_000_000),
            _company("90010003", "EMPRESA BAIXADA FICTICIA LTDA", size="01"),
            _company("90010004", "EMPRESA SUSPENSA FICTICIA LTDA", size="03"),
            _company("90010005", "EMPRESA INAPTA FICTICIA LTDA", size="01"),
            _company("90010006", "EMPRESA NULA FICTICIA LTDA", partners=()),
            _company("90010007", "REDE DE FILIAIS FICTICIA LTDA"),
            _company("90010008", "EMPRESA PRORROGADA FICTICIA LTDA"),
            _company("90010009", "EMPRESA DE AMANHA FICTICIA LTDA"),
            _company("90010010", "EMPRESA DE HOJE FICTICIA LTDA"),
            _company("90010011", "EMPRESA VEDADA FICTICIA LTDA"),
            _company(
                "90010012",
                f"CICRANO DA FICCAO PEREIRA {impossible_cpf(900_100_120)}",
                nature="2135",
                responsible="50",
                size="01",
                capital_cents=100_000,
                partners=(),
                simples=_MEI,
            ),
            _company("12ABC345", "EMPRESA ALFANUMERICA FICTICIA LTDA"),
            _company(
                "00000000", "FILIAL ALFANUMERICA FICTICIA S/A", nature="2054", responsible="10"
            ),
            *(
                _company(cnpj[:8], f"FONTE COM DEFEITO {cnpj[6:8]} FICTICIA LTDA")
                for cnpj in MISBEHAVING_COMPANIES
            ),
        )
    }
)

ESTABLISHMENTS: Mapping[str, Establishment] = MappingProxyType(
    {
        establishment.cnpj: establishment
        for establishment in (
            _establishment("90010001000100", side_activities=("6204000", "6209100")),
            _establishment(
                "90010002000154",
                place=MANAUS,
                activity="2610800",
                side_activities=("4652400",),
            ),
            _establishment(
                "90010003000107", status="08", status_date=date(2021, 6, 30), reason="01"
            ),
            _establishment(
                "90010004000143", status="03", status_date=date(2022, 9, 5), reason="21"
            ),
            _establishment(
                "90010005000198", status="04", status_date=date(2023, 2, 10), reason="63"
            ),
            _establishment(
                "90010006000132",
                status="01",
                status_date=date(2015, 4, 1),
                reason="70",
                trade_name="",
                number="",
            ),
            _establishment("90010007000187"),
            _establishment("90010007000268", head_office=False, trade_name="FILIAL FICTICIA 2"),
            _establishment("90010008000121"),
            _establishment("90010009000176"),
            _establishment("90010010000109"),
            _establishment("90010011000145"),
            _establishment("90010012000190", activity="9602501"),
            # A head office whose number is not 0001, and a branch of an old numeric root.
            _establishment("12ABC34501DE35"),
            _establishment("00000000E08G12", head_office=False),
            *(_establishment(cnpj) for cnpj in MISBEHAVING_COMPANIES),
        )
    }
)

# What a generated snapshot for test accounts must hold.
EXISTING_COMPANIES: tuple[str, ...] = tuple(
    cnpj for cnpj in ESTABLISHMENTS if cnpj not in MISBEHAVING_COMPANIES
)

PEOPLE: Mapping[str, Person] = MappingProxyType(
    {
        cpf: Person(cpf, name, date(1980, 1, 1), BY_TOM[tom])
        for cpf, name, tom in (
            ("90010000100", "PRODUTORA DA FICCAO PAULISTA", "7107"),
            ("90010000291", "PRODUTOR DA FICCAO MINEIRO", "4123"),
            ("90010000372", "PESSOA DA FICCAO SEM INSCRICAO", "7107"),
            ("90010000453", "PESSOA DA FICCAO COMUM", "7107"),
            ("90020000146", "PESSOA DA FICCAO EM MANUTENCAO", "7107"),
            ("90020000227", "PESSOA DA FICCAO SEM RESPOSTA", "7107"),
            ("90020000308", "PESSOA DA FICCAO COM ERRO", "7107"),
        )
    }
)


def exists(cnpj: str) -> bool:
    """Whether the registry knows a CNPJ: it knows all but the promised absent ones."""
    return cnpj not in ABSENT_COMPANIES
