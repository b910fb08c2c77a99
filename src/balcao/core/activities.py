"""The hierarchy of economic activities (CNAE 2.3, IBGE): sections, divisions, groups and classes.

A code's first two digits are its division, three its group, five its class; all seven, its
subclass, are what the registry has. Sections are ranges of divisions. Names of sections and
divisions are here; the open data has only those of subclasses.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence

import msgspec

from balcao.core.search_record import ACTIVITY_NOT_INFORMED

DIVISION, GROUP, CLASS, SUBCLASS = 2, 3, 5, 7  # digits

# Section, the division that it begins with, name.
_SECTIONS: Sequence[tuple[str, str, str]] = (
    ("A", "01", "Agricultura, pecuária, produção florestal, pesca e aquicultura"),
    ("B", "05", "Indústrias extrativas"),
    ("C", "10", "Indústrias de transformação"),
    ("D", "35", "Eletricidade e gás"),
    ("E", "36", "Água, esgoto, gestão de resíduos e descontaminação"),
    ("F", "41", "Construção"),
    ("G", "45", "Comércio; reparação de veículos automotores e motocicletas"),
    ("H", "49", "Transporte, armazenagem e correio"),
    ("I", "55", "Alojamento e alimentação"),
    ("J", "58", "Informação e comunicação"),
    ("K", "64", "Atividades financeiras, de seguros e serviços relacionados"),
    ("L", "68", "Atividades imobiliárias"),
    ("M", "69", "Atividades profissionais, científicas e técnicas"),
    ("N", "77", "Atividades administrativas e serviços complementares"),
    ("O", "84", "Administração pública, defesa e seguridade social"),
    ("P", "85", "Educação"),
    ("Q", "86", "Saúde humana e serviços sociais"),
    ("R", "90", "Artes, cultura, esporte e recreação"),
    ("S", "94", "Outras atividades de serviços"),
    ("T", "97", "Serviços domésticos"),
    ("U", "99", "Organismos internacionais e outras instituições extraterritoriais"),
)

DIVISIONS: Mapping[str, str] = {
    "01": "Agricultura, pecuária e serviços relacionados",
    "02": "Produção florestal",
    "03": "Pesca e aquicultura",
    "05": "Extração de carvão mineral",
    "06": "Extração de petróleo e gás natural",
    "07": "Extração de minerais metálicos",
    "08": "Extração de minerais não metálicos",
    "09": "Atividades de apoio à extração de minerais",
    "10": "Fabricação de produtos alimentícios",
    "11": "Fabricação de bebidas",
    "12": "Fabricação de produtos do fumo",
    "13": "Fabricação de produtos têxteis",
    "14": "Confecção de artigos do vestuário e acessórios",
    "15": "Couros, artigos para viagem e calçados",
    "16": "Fabricação de produtos de madeira",
    "17": "Fabricação de celulose, papel e produtos de papel",
    "18": "Impressão e reprodução de gravações",
    "19": "Coque, derivados do petróleo e biocombustíveis",
    "20": "Fabricação de produtos químicos",
    "21": "Fabricação de produtos farmoquímicos e farmacêuticos",
    "22": "Fabricação de produtos de borracha e de material plástico",
    "23": "Fabricação de produtos de minerais não metálicos",
    "24": "Metalurgia",
    "25": "Fabricação de produtos de metal, exceto máquinas e equipamentos",
    "26": "Equipamentos de informática, produtos eletrônicos e ópticos",
    "27": "Fabricação de máquinas, aparelhos e materiais elétricos",
    "28": "Fabricação de máquinas e equipamentos",
    "29": "Fabricação de veículos automotores, reboques e carrocerias",
    "30": "Outros equipamentos de transporte, exceto veículos automotores",
    "31": "Fabricação de móveis",
    "32": "Fabricação de produtos diversos",
    "33": "Manutenção, reparação e instalação de máquinas e equipamentos",
    "35": "Eletricidade, gás e outras utilidades",
    "36": "Captação, tratamento e distribuição de água",
    "37": "Esgoto e atividades relacionadas",
    "38": "Coleta, tratamento e disposição de resíduos; recuperação de materiais",
    "39": "Descontaminação e outros serviços de gestão de resíduos",
    "41": "Construção de edifícios",
    "42": "Obras de infraestrutura",
    "43": "Serviços especializados para construção",
    "45": "Comércio e reparação de veículos automotores e motocicletas",
    "46": "Comércio por atacado, exceto veículos automotores e motocicletas",
    "47": "Comércio varejista",
    "49": "Transporte terrestre",
    "50": "Transporte aquaviário",
    "51": "Transporte aéreo",
    "52": "Armazenamento e atividades auxiliares dos transportes",
    "53": "Correio e outras atividades de entrega",
    "55": "Alojamento",
    "56": "Alimentação",
    "58": "Edição e edição integrada à impressão",
    "59": "Cinema, vídeo, programas de televisão, gravação de som e edição de música",
    "60": "Atividades de rádio e de televisão",
    "61": "Telecomunicações",
    "62": "Atividades dos serviços de tecnologia da informação",
    "63": "Atividades de prestação de serviços de informação",
    "64": "Atividades de serviços financeiros",
    "65": "Seguros, resseguros, previdência complementar e planos de saúde",
    "66": "Atividades auxiliares dos serviços financeiros e de seguros",
    "68": "Atividades imobiliárias",
    "69": "Atividades jurídicas, de contabilidade e de auditoria",
    "70": "Sedes de empresas e consultoria em gestão empresarial",
    "71": "Arquitetura e engenharia; testes e análises técnicas",
    "72": "Pesquisa e desenvolvimento científico",
    "73": "Publicidade e pesquisa de mercado",
    "74": "Outras atividades profissionais, científicas e técnicas",
    "75": "Atividades veterinárias",
    "77": "Aluguéis não imobiliários e gestão de ativos intangíveis",
    "78": "Seleção, agenciamento e locação de mão de obra",
    "79": "Agências de viagens, operadores turísticos e serviços de reservas",
    "80": "Atividades de vigilância, segurança e investigação",
    "81": "Serviços para edifícios e atividades paisagísticas",
    "82": "Serviços de escritório, de apoio administrativo e outros às empresas",
    "84": "Administração pública, defesa e seguridade social",
    "85": "Educação",
    "86": "Atividades de atenção à saúde humana",
    "87": "Saúde integrada com assistência social, em residências",
    "88": "Serviços de assistência social sem alojamento",
    "90": "Atividades artísticas, criativas e de espetáculos",
    "91": "Atividades ligadas ao patrimônio cultural e ambiental",
    "92": "Exploração de jogos de azar e apostas",
    "93": "Atividades esportivas e de recreação e lazer",
    "94": "Atividades de organizações associativas",
    "95": "Reparação de equipamentos de informática e de objetos pessoais e domésticos",
    "96": "Outras atividades de serviços pessoais",
    "97": "Serviços domésticos",
    "99": "Organismos internacionais e outras instituições extraterritoriais",
}

_FIRST_DIVISIONS = [division for _, division, _ in _SECTIONS]


def section_of(division: str) -> str:
    """Return the letter of a division's section."""
    return _SECTIONS[bisect_right(_FIRST_DIVISIONS, division) - 1][0]


class ActivityLevel(msgspec.Struct, frozen=True):
    """A section, division, group, class or subclass."""

    code: str  # a letter, or the first digits
    name: str
    divisions: Sequence[str]

    @property
    def written(self) -> str:
        """The code with its usual punctuation: `47.2`, `47.21-1`, `4721-1/02`."""
        code = self.code
        match len(code):
            case 3:
                return f"{code[:2]}.{code[2:]}"
            case 5:
                return f"{code[:2]}.{code[2:4]}-{code[4:]}"
            case 7:
                return f"{code[:4]}-{code[4]}/{code[5:]}"
            case _:
                return code


def levels_below(
    divisions: Sequence[str], begins: Sequence[str], names: Mapping[str, str]
) -> Sequence[ActivityLevel]:
    """Return the levels into which a search by main activity can be narrowed.

    `divisions`: those of the search, none for all; `begins`: its codes or their beginnings;
    `names`: the month's activities, by code.
    """
    if len(begins) > 1:
        return ()
    if begins or len(divisions) == 1:
        begin = begins[0] if begins else divisions[0]
        return _codes_below(begin, names)
    if divisions:
        return [ActivityLevel(each, DIVISIONS.get(each, ""), (each,)) for each in sorted(divisions)]
    return [
        ActivityLevel(letter, name, [each for each in DIVISIONS if section_of(each) == letter])
        for letter, _, name in _SECTIONS
    ]


def _codes_below(begin: str, names: Mapping[str, str]) -> Sequence[ActivityLevel]:
    digits = next((each for each in (GROUP, CLASS, SUBCLASS) if each > len(begin)), 0)
    below: dict[str, list[str]] = {}
    for code in sorted(names):
        if digits and code.startswith(begin) and code != ACTIVITY_NOT_INFORMED:
            below.setdefault(code[:digits], []).append(names[code])
    return [
        ActivityLevel(code, _together(texts), (code[:DIVISION],)) for code, texts in below.items()
    ]


def _together(texts: Sequence[str]) -> str:
    """Return a name for several activities, of which the open data has no common one."""
    more = len(texts) - 1
    return f"{texts[0]} e mais {more}" if more else texts[0]
