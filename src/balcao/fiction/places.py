"""Where fictitious companies sit: real municipalities, with the codes other registries use.

Codes: the revenue's own (TOM) of the open data and IBGE's of Suframa and the state treasuries.
All capitals and a few further cities; the shares of the UFs are those of the registry
(`rfb-open-data.md`, section 11).
"""

from math import fsum

import msgspec

from balcao.fiction.dice import FINE, deck


class Municipality(msgspec.Struct, frozen=True, gc=False):
    """A municipality, or a city abroad (`uf` is `EX`, no IBGE code)."""

    uf: str
    tom: str  # 4 digits
    name: str
    ibge: str  # 7 digits
    area_code: str
    cep_prefix: str  # the first 3 of 8 digits


# UF and its share; then its municipalities: TOM, name, IBGE, area code, CEP prefix, share.
_ROWS = """
SP 28.6 | 7107 SAO PAULO 3550308 11 040 50 | 6291 CAMPINAS 3509502 19 130 8 | 6477 GUARULHOS 3518800 11 070 7 | 7075 SAO BERNARDO DO CAMPO 3548708 11 097 5 | 7057 SANTO ANDRE 3547809 11 092 5 | 6789 OSASCO 3534401 11 062 5 | 6969 RIBEIRAO PRETO 3543402 16 140 5 | 7145 SOROCABA 3552205 15 180 4 | 7099 SAO JOSE DOS CAMPOS 3549904 12 122 4 | 7071 SANTOS 3548500 13 110 4 | 7097 SAO JOSE DO RIO PRETO 3549805 17 150 3
MG 9.8 | 4123 BELO HORIZONTE 3106200 31 301 50 | 5403 UBERLANDIA 3170206 34 384 15 | 4371 CONTAGEM 3118601 31 322 15 | 4733 JUIZ DE FORA 3136702 32 360 12 | 4553 GOVERNADOR VALADARES 3127701 33 350 8
RJ 7.5 | 6001 RIO DE JANEIRO 3304557 21 220 60 | 5865 NITEROI 3303302 21 240 10 | 5833 DUQUE DE CAXIAS 3301702 21 250 9 | 5897 SAO GONCALO 3304904 21 244 9 | 5869 NOVA IGUACU 3303500 21 262 7 | 5819 CAMPOS DOS GOYTACAZES 3301009 22 280 5
PR 6.8 | 7535 CURITIBA 4106902 41 800 50 | 7667 LONDRINA 4113700 43 860 18 | 7691 MARINGA 4115200 44 870 16 | 7493 CASCAVEL 4104808 45 858 10 | 7583 GUARAPUAVA 4109401 42 850 6
RS 6.7 | 8801 PORTO ALEGRE 4314902 51 900 45 | 8599 CAXIAS DO SUL 4305108 54 950 20 | 8589 CANOAS 4304606 51 920 12 | 8791 PELOTAS 4314407 53 960 12 | 8683 GRAVATAI 4309209 51 940 11
SC 5.2 | 8105 FLORIANOPOLIS 4205407 48 880 30 | 8179 JOINVILLE 4209102 47 892 25 | 8047 BLUMENAU 4202404 47 890 20 | 8327 SAO JOSE 4216602 48 881 15 | 8117 GASPAR 4205902 47 891 10
BA 5.2 | 3849 SALVADOR 2927408 71 400 65 | 3515 FEIRA DE SANTANA 2910800 75 440 20 | 3533 GUANAMBI 2911709 77 464 15
PE 3.9 | 2531 RECIFE 2611606 81 500 70 | 2381 CARUARU 2604106 81 550 20 | 2419 GARANHUNS 2606002 87 552 10
GO 3.3 | 9373 GOIANIA 5208707 62 740 75 | 9371 GOIANESIA 5208608 62 763 25
CE 3.0 | 1389 FORTALEZA 2304400 85 600 85 | 1253 HORIZONTE 2305233 85 628 15
ES 2.5 | 5705 VITORIA 3205309 27 290 50 | 5625 CARIACICA 3201308 27 291 30 | 5647 GUARAPARI 3202405 27 292 20
MT 1.9 | 9067 CUIABA 5103403 65 780 80 | 9887 GUARANTA DO NORTE 5104104 66 785 20
MA 1.9 | 0921 SAO LUIS 2111300 98 650 75 | 0889 SAO JOSE DE RIBAMAR 2111201 98 651 25
PA 1.8 | 0427 BELEM 1501402 91 660 80 | 0545 SAO FELIX DO XINGU 1507300 94 683 20
MS 1.8 | 9051 CAMPO GRANDE 5002704 67 790 85 | 9809 SAO GABRIEL DO OESTE 5007695 67 794 15
PB 1.6 | 2051 JOAO PESSOA 2507507 83 580 80 | 2027 GUARABIRA 2506301 83 582 20
DF 1.5 | 9701 BRASILIA 5300108 61 700 100
RN 1.2 | 1761 NATAL 2408102 84 590 80 | 1837 SAO GONCALO DO AMARANTE 2412005 84 592 20
AL 1.1 | 2785 MACEIO 2704302 82 570 85 | 2757 GIRAU DO PONCIANO 2702900 82 573 15
AM 1.1 | 0255 MANAUS 1302603 92 690 92 | 0235 HUMAITA 1301704 97 698 8
PI 1.0 | 1219 TERESINA 2211001 86 640 85 | 1043 CAMPO MAIOR 2202208 86 642 15
TO 0.8 | 9733 PALMAS 1721000 63 770 75 | 9385 GURUPI 1709500 63 774 25
RO 0.8 | 0003 PORTO VELHO 1100205 69 768 85 | 0001 GUAJARA-MIRIM 1100106 69 769 15
SE 0.5 | 3105 ARACAJU 2800308 79 490 85 | 3233 SAO CRISTOVAO 2806701 79 491 15
RR 0.4 | 0301 BOA VISTA 1400100 95 693 95 | 0303 CARACARAI 1400209 95 693 5
AC 0.1 | 0139 RIO BRANCO 1200401 68 699 95 | 0647 CAPIXABA 1200179 68 699 5
AP 0.1 | 0605 MACAPA 1600303 96 689 100
"""  # noqa: E501


EXTERIOR = Municipality("EX", "9707", "EXTERIOR", "", "", "")


def _read() -> list[tuple[Municipality, float]]:
    found: list[tuple[Municipality, float]] = []
    for line in _ROWS.strip().splitlines():
        head, *cities = line.split(" | ")
        uf, uf_weight = head.split()
        shares: list[tuple[Municipality, float]] = []
        for city in cities:
            tom, *name, ibge, area_code, cep_prefix, weight = city.split()
            place = Municipality(uf, tom, " ".join(name), ibge, area_code, cep_prefix)
            shares.append((place, float(weight)))
        total = fsum(weight for _, weight in shares)
        found.extend((city, float(uf_weight) * weight / total) for city, weight in shares)
    found.append((EXTERIOR, 0.24))
    return found


_weighted = _read()
MUNICIPALITIES = tuple(municipality for municipality, _ in _weighted)
MUNICIPALITY_DECK = deck(_weighted, FINE)
# People live in Brazil: only companies are abroad.
HOME_DECK = deck([(city, weight) for city, weight in _weighted if city.uf != "EX"], FINE)
BY_TOM = {municipality.tom: municipality for municipality in MUNICIPALITIES}
BY_UF = {
    uf: tuple([municipality for municipality in MUNICIPALITIES if municipality.uf == uf])
    for uf in dict.fromkeys(municipality.uf for municipality in MUNICIPALITIES)
}

# The federal units' names, as `ente_federativo_responsavel` has them.
UF_NAMES = {
    "AC": "ACRE", "AL": "ALAGOAS", "AM": "AMAZONAS", "AP": "AMAPA", "BA": "BAHIA",
    "CE": "CEARA", "DF": "DISTRITO FEDERAL", "ES": "ESPIRITO SANTO", "GO": "GOIAS",
    "MA": "MARANHAO", "MG": "MINAS GERAIS", "MS": "MATO GROSSO DO SUL", "MT": "MATO GROSSO",
    "PA": "PARA", "PB": "PARAIBA", "PE": "PERNAMBUCO", "PI": "PIAUI", "PR": "PARANA",
    "RJ": "RIO DE JANEIRO", "RN": "RIO GRANDE DO NORTE", "RO": "RONDONIA", "RR": "RORAIMA",
    "RS": "RIO GRANDE DO SUL", "SC": "SANTA CATARINA", "SE": "SERGIPE", "SP": "SAO PAULO",
    "TO": "TOCANTINS",
}  # fmt: skip
