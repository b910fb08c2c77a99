"""The company lookup in the shapes of four other services (contract 16.1 to 16.3, 16.5).

The originals' keys and types were recorded from their public answers; for Minha Receita and
BrasilAPI, a simulator gives their answers about every company of a generated month.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from balcao.core.company import Coded, Company, Partner, TaxOption, TaxRegime
from balcao.core.compat_apis import COMPAT_API_TITLES
from balcao.core.documents import Cnpj
from balcao.core.month_detail import (
    NO_DETAIL,
    MonthDetail,
    PartnerDetail,
    completed,
    consistent_detail,
)
from balcao.home import Home
from balcao.http.compat.api import CompatInput
from balcao.http.compat.minha_receita import flat
from balcao.http.compat.route import COMPAT_APIS, api_paths
from balcao.opendata.generator import generate
from balcao.opendata.importer import build
from balcao.opendata.snapshot import Snapshot, current_path
from balcao.providers.minha_receita.simulator import body
from tests.records import CNPJ, OTHER_CNPJ, a_company, company
from tests.service import CREDITS, Service, open_service

BRASILAPI = "/compat/brasilapi/api/cnpj/v1/"
MINHA_RECEITA = "/compat/minhareceita/"
RECEITAWS = "/compat/receitaws/v1/cnpj/"
CNPJWS = "/compat/cnpjws/cnpj/"
ALL = (BRASILAPI, MINHA_RECEITA, RECEITAWS, CNPJWS)
each_face = pytest.mark.parametrize("face", ALL)

COMPANIES = 110  # of each kind of CNPJ
PARTNERS = 10  # companies with a partner of each kind

# Shapes: a type, alternatives, the keys of an object, or what a list holds.
Shape = Any
TEXT = (str, None)
NUMBER = (int, None)

# As Minha Receita's own reference has it, so that its simulator's mistakes are not ours to share.
FLAG = (bool, None)
OF_THE_FLAT_ONES: Shape = {
    **dict.fromkeys(
        (
            *("cnpj", "razao_social", "nome_fantasia", "descricao_tipo_de_logradouro"),
            *("logradouro", "numero", "complemento", "bairro", "cep", "uf", "ddd_telefone_1"),
            *("ddd_telefone_2", "ddd_fax", "situacao_especial", "nome_cidade_no_exterior"),
            "ente_federativo_responsavel",
        ),
        str,
    ),
    **dict.fromkeys(
        (
            *("descricao_identificador_matriz_filial", "descricao_situacao_cadastral"),
            *("data_situacao_cadastral", "descricao_motivo_situacao_cadastral", "pais"),
            *("data_inicio_atividade", "cnae_fiscal_descricao", "municipio", "email"),
            *("data_situacao_especial", "data_opcao_pelo_simples", "data_exclusao_do_simples"),
            *("data_opcao_pelo_mei", "data_exclusao_do_mei", "natureza_juridica", "porte"),
        ),
        TEXT,
    ),
    **dict.fromkeys(
        (
            *("identificador_matriz_filial", "situacao_cadastral", "motivo_situacao_cadastral"),
            *("codigo_pais", "cnae_fiscal", "codigo_municipio", "codigo_municipio_ibge"),
            *("codigo_natureza_juridica", "qualificacao_do_responsavel", "codigo_porte"),
        ),
        NUMBER,
    ),
    "opcao_pelo_simples": FLAG,
    "opcao_pelo_mei": FLAG,
    "capital_social": (int, float, None),
    "cnaes_secundarios": [{"codigo": int, "descricao": str}],
    "qsa": (
        [
            {
                **dict.fromkeys(
                    (
                        *("nome_socio", "cnpj_cpf_do_socio", "cpf_representante_legal"),
                        "nome_representante_legal",
                    ),
                    str,
                ),
                **dict.fromkeys(
                    (
                        *("qualificacao_socio", "data_entrada_sociedade", "pais", "faixa_etaria"),
                        "qualificacao_representante_legal",
                    ),
                    TEXT,
                ),
                **dict.fromkeys(
                    (
                        *("identificador_de_socio", "codigo_qualificacao_socio", "codigo_pais"),
                        *("codigo_qualificacao_representante_legal", "codigo_faixa_etaria"),
                    ),
                    NUMBER,
                ),
            }
        ],
        None,
    ),
    "regime_tributario": (
        [
            {
                "ano": int,
                "cnpj_da_scp": TEXT,
                "forma_de_tributacao": str,
                "quantidade_de_escrituracoes": int,
            }
        ],
        None,
    ),
}
REGIME: Shape = {
    "optante": (bool, None),
    "data_opcao": TEXT,
    "data_exclusao": TEXT,
    "ultima_atualizacao": TEXT,
}
ACTIVITY: Shape = {"code": str, "text": str}
OF_RECEITAWS: Shape = {
    **dict.fromkeys(
        (
            *("abertura", "situacao", "tipo", "nome", "fantasia", "porte", "natureza_juridica"),
            *("logradouro", "numero", "complemento", "municipio", "bairro", "uf", "cep", "email"),
            *("telefone", "data_situacao", "cnpj", "ultima_atualizacao", "status", "efr"),
            *("motivo_situacao", "situacao_especial", "data_situacao_especial", "capital_social"),
        ),
        str,
    ),
    "atividade_principal": [ACTIVITY],
    "atividades_secundarias": [ACTIVITY],
    "qsa": [{"nome": str, "qual": str, "pais_origem?": str, "nome_rep_legal?": str,
             "qual_rep_legal?": str}],
    "simples": REGIME,
    "simei": REGIME,
    "extra": {},
    "billing": {"free": bool, "database": bool},
}  # fmt: skip
CODED: Shape = {"id": str, "descricao": TEXT}
NUMBERED: Shape = {"id": int, "descricao": TEXT}
NESTED_ACTIVITY: Shape = {
    "id": str, "secao": TEXT, "divisao": TEXT, "grupo": TEXT, "classe": TEXT, "subclasse": TEXT,
    "descricao": TEXT,
}  # fmt: skip
COUNTRY: Shape = {"id": TEXT, "iso2": TEXT, "iso3": TEXT, "nome": TEXT, "comex_id": str}
OF_CNPJWS: Shape = {
    "cnpj_raiz": str,
    "razao_social": str,
    "capital_social": str,
    "responsavel_federativo": str,
    "atualizado_em": str,
    "porte": (CODED, None),
    "natureza_juridica": CODED,
    "qualificacao_do_responsavel": NUMBERED,
    "socios": [
        {
            "cpf_cnpj_socio": TEXT,
            "nome": str,
            "tipo": str,
            "data_entrada": TEXT,
            "cpf_representante_legal": str,
            "nome_representante": TEXT,
            "faixa_etaria": str,
            "atualizado_em": str,
            "pais_id": TEXT,
            "qualificacao_socio": NUMBERED,
            "qualificacao_representante": (NUMBERED, None),
            "pais": (COUNTRY, None),
        }
    ],
    "simples": (
        {
            "simples": TEXT,
            "data_opcao_simples": TEXT,
            "data_exclusao_simples": TEXT,
            "mei": TEXT,
            "data_opcao_mei": TEXT,
            "data_exclusao_mei": TEXT,
            "atualizado_em": str,
        },
        None,
    ),
    "estabelecimento": {
        **dict.fromkeys(
            (
                *("cnpj", "cnpj_raiz", "cnpj_ordem", "cnpj_digito_verificador", "tipo"),
                *("situacao_cadastral", "data_situacao_cadastral", "data_inicio_atividade"),
                "atualizado_em",
            ),
            str,
        ),
        **dict.fromkeys(
            (
                *("nome_fantasia", "nome_cidade_exterior", "tipo_logradouro", "logradouro"),
                *("numero", "complemento", "bairro", "cep", "ddd1", "telefone1", "ddd2"),
                *("telefone2", "ddd_fax", "fax", "email", "situacao_especial"),
                "data_situacao_especial",
            ),
            TEXT,
        ),
        "atividades_secundarias": [NESTED_ACTIVITY],
        "atividade_principal": NESTED_ACTIVITY,
        "pais": (COUNTRY, None),
        "estado": ({"id": NUMBER, "nome": str, "sigla": str, "ibge_id": int}, None),
        "cidade": {"id": NUMBER, "nome": str, "ibge_id": NUMBER, "siafi_id": str},
        "motivo_situacao_cadastral": (NUMBERED, None),
        "inscricoes_estaduais": [],
    },
}


def misfits(shape: Shape, value: object, at: str = "") -> Iterator[str]:
    """Return where a value has other keys or types."""
    if isinstance(shape, tuple):
        if all([*misfits(one, value, at)] for one in shape):
            yield f"{at}: {value!r}"
    elif isinstance(shape, dict):
        if not isinstance(value, dict):
            yield f"{at}: {value!r}"
            return
        needed = {key for key in shape if not key.endswith("?")}
        known = {key.removesuffix("?"): of_key for key, of_key in shape.items()}
        if needed - set(value) or set(value) - set(known):
            yield f"{at}: {sorted(needed ^ set(value))}"
        for key in set(value) & set(known):
            yield from misfits(known[key], value[key], f"{at}.{key}")
    elif isinstance(shape, list):
        if not isinstance(value, list) or (value and not shape):
            yield f"{at}: {value!r}"
        else:
            for one in value:
                yield from misfits(shape[0], one, f"{at}[]")
    elif shape is None:
        if value is not None:
            yield f"{at}: {value!r}"
    elif type(value) is not shape:
        yield f"{at}: {value!r}"


def as_sent(answer: object) -> Any:
    """Return the simulator's answer, whose days are text."""
    return json.loads(json.dumps(answer, default=date.isoformat))


def chosen_of(snapshot: Snapshot) -> Sequence[str]:
    """Choose CNPJs of a month: with letters, without, and with all kinds of partners."""
    rows = b"".join(snapshot.establishments()).splitlines()
    found = [(row[1:9] + row[10:14] + row[15:17]).decode() for row in rows]
    letters = [cnpj for cnpj in found if not cnpj.isdecimal()][:COMPANIES]
    digits = [cnpj for cnpj in found if cnpj.isdecimal()][:COMPANIES]
    assert (len(letters), len(digits)) == (COMPANIES, COMPANIES)
    by_kind: dict[str, list[str]] = {"1": [], "2": [], "3": []}
    for cnpj in found:
        detail = snapshot.detail(Cnpj(cnpj))
        assert detail is not None
        for kind in {partner.kind for partner in detail.partners}:
            by_kind[kind].append(cnpj)
    partners = {cnpj for cnpjs in by_kind.values() for cnpj in cnpjs[:PARTNERS]}
    return [*letters, *digits, *sorted(partners)]


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Sequence[str]]]:
    """A service with a clean month, and CNPJs of it: half of them with letters."""
    folder = tmp_path_factory.mktemp("casa")
    with open_service(folder) as house:
        store = Home(folder).opendata("test")
        zips = generate(
            folder / "zips", 3_000, 11, alphanumeric_share=0.1, clean=True, tax_regimes=True
        ).folder
        build([zips], store, today=date(2026, 8, 20))
        with closing(Snapshot.open(current_path(store))) as snapshot:
            chosen = chosen_of(snapshot)
        current = house.application.snapshots["test"]
        house.run(house.until(lambda: current.find(Cnpj(chosen[0])) is not None))
        yield house, chosen
        house.assert_books_agree()


@pytest.mark.parametrize("face", [BRASILAPI, MINHA_RECEITA])
def test_the_flat_shapes_equal_the_originals(
    month: tuple[Service, Sequence[str]], face: str
) -> None:
    house, cnpjs = month
    kinds = ("pais", "pessoa", "empresa", "estrangeiro", "representante", "regime")
    seen = dict.fromkeys(kinds, 0)
    for cnpj in cnpjs:
        answer = house.get(face + cnpj)
        assert (answer.status, answer.headers["x-creditos-cobrados"]) == (200, "1")
        reply, original = answer.json, as_sent(body(cnpj))
        assert not [*misfits(OF_THE_FLAT_ONES, reply)], cnpj
        partners = [each.pop("qsa") for each in (reply, original)]
        assert reply == original
        assert {key: type(value) for key, value in reply.items()} == {
            key: type(value) for key, value in original.items()
        }
        # Ours stand in the order in which they entered.
        mine, theirs = (sorted(map(json.dumps, each)) for each in partners)
        assert mine == theirs
        seen["pais"] += reply["pais"] is not None
        seen["regime"] += reply["regime_tributario"] is not None
        for partner in partners[0]:
            seen[("empresa", "pessoa", "estrangeiro")[partner["identificador_de_socio"] - 1]] += 1
            seen["representante"] += bool(partner["nome_representante_legal"])
    assert all(seen.values()), seen


@pytest.mark.parametrize(("face", "shape"), [(RECEITAWS, OF_RECEITAWS), (CNPJWS, OF_CNPJWS)])
def test_the_others_have_the_originals_keys_and_types(
    month: tuple[Service, Sequence[str]], face: str, shape: Shape
) -> None:
    house, cnpjs = month
    for cnpj in cnpjs:
        answer = house.get(face + cnpj)
        assert (answer.status, answer.headers["x-creditos-cobrados"]) == (200, "1")
        assert not [*misfits(shape, answer.json)], cnpj


def test_tax_regimes_of_the_flat_shape() -> None:
    said = json.loads(msgspec.json.encode(flat(told(A_COMPANY, A_MONTH))))["regime_tributario"]
    assert said == [
        {
            "ano": 2023,
            "cnpj_da_scp": "11.222.333/0001-81",
            "forma_de_tributacao": "LUCRO REAL",
            "quantidade_de_escrituracoes": 1,
        }
    ]


def test_the_checker_of_shapes_finds_differences(month: tuple[Service, Sequence[str]]) -> None:
    house, cnpjs = month
    answer = house.get(RECEITAWS + cnpjs[0]).json
    assert not [*misfits(OF_RECEITAWS, answer)]
    assert [*misfits(OF_RECEITAWS, answer | {"numero": 1})]
    assert [*misfits(OF_RECEITAWS, answer | {"novo": ""})]
    assert [*misfits(OF_RECEITAWS, {key: answer[key] for key in answer if key != "uf"})]
    assert [*misfits(OF_CNPJWS, house.get(CNPJWS + cnpjs[0]).json | {"socios": [{}]})]
    flat = house.get(BRASILAPI + cnpjs[0]).json
    assert [*misfits(OF_THE_FLAT_ONES, flat | {"cnae_fiscal": str(flat["cnae_fiscal"])})]


def test_values_of_the_text_shape() -> None:
    answer = json.loads(COMPAT_APIS["receitaws"].render(told(A_COMPANY, A_MONTH)).body)
    assert answer["cnpj"] == "90.010.001/0001-00"
    assert answer["abertura"] == "02/03/2015"
    assert answer["natureza_juridica"] == "206-2 - Sociedade Empresária Limitada"
    assert answer["atividade_principal"] == [{"code": "62.01-5-01", "text": "Desenvolvimento"}]
    assert answer["atividades_secundarias"] == [{"code": "00.00-0-00", "text": "Não informada"}]
    assert answer["logradouro"] == "RUA DAS FLORES"
    assert answer["cep"] == "04.794-000"
    assert answer["telefone"] == "(11) 3703-7675/ (11) 93703-7675"
    assert answer["capital_social"] == "1.00"
    assert answer["motivo_situacao"] == ""
    assert answer["ultima_atualizacao"] == "2026-08-08T03:00:00.000Z"
    assert answer["qsa"] == [
        {
            "nome": "FULANA FICTICIA",
            "qual": "49-Sócio-Administrador",
            "nome_rep_legal": "BELTRANA FICTICIA",
            "qual_rep_legal": "05-Administrador",
        }
    ]
    assert answer["billing"] == {"free": False, "database": True}


def test_values_of_the_nested_shape() -> None:
    answer = json.loads(COMPAT_APIS["cnpjws"].render(told(A_COMPANY, A_MONTH)).body)
    place = answer["estabelecimento"]
    assert place["atividade_principal"] == {
        "id": "6201501",
        "secao": "J",
        "divisao": "62",
        "grupo": "62.0",
        "classe": "62.01-5",
        "subclasse": "6201-5/01",
        "descricao": "Desenvolvimento",
    }
    assert (place["ddd1"], place["telefone1"], place["telefone2"]) == (
        "11",
        "37037675",
        "937037675",
    )
    assert place["estado"] == {"id": None, "nome": "São Paulo", "sigla": "SP", "ibge_id": 35}
    assert place["cidade"] == {
        "id": None, "nome": "SAO PAULO", "ibge_id": 3550308, "siafi_id": "7107",
    }  # fmt: skip
    assert place["pais"]["iso3"] == "BRA"
    assert place["motivo_situacao_cadastral"] is None
    assert (answer["capital_social"], answer["porte"]) == (
        "1.00",
        {"id": "05", "descricao": "Demais"},
    )
    (partner,) = answer["socios"]
    assert (partner["tipo"], partner["pais_id"]) == ("Pessoa Física", "1058")
    assert partner["qualificacao_representante"] == {"id": 5, "descricao": "Administrador"}


@pytest.mark.parametrize(
    ("code", "section"),
    [
        ("0111301", "A"), ("0500301", "B"), ("1011201", "C"), ("3511501", "D"), ("3600601", "E"),
        ("4110700", "F"), ("4511101", "G"), ("4911600", "H"), ("5510801", "I"), ("5811500", "J"),
        ("6410700", "K"), ("6810201", "L"), ("6911701", "M"), ("7711000", "N"), ("8411600", "O"),
        ("8511200", "P"), ("8610101", "Q"), ("9001901", "R"), ("9411100", "S"), ("9700500", "T"),
        ("9900800", "U"), ("6399200", "J"), ("8800600", "Q"), ("3314799", "C"),
    ],
)  # fmt: skip
def test_sections_of_activities(code: str, section: str) -> None:
    company = Company(cnpj=CNPJ, atividade_economica_principal=Coded(code, None))
    answer = json.loads(COMPAT_APIS["cnpjws"].render(told(company, NO_DETAIL)).body)
    assert answer["estabelecimento"]["atividade_principal"]["secao"] == section


def test_an_unknown_activity_has_no_section() -> None:
    company = Company(cnpj=CNPJ, atividade_economica_principal=Coded("8888888", None))
    answer = json.loads(COMPAT_APIS["cnpjws"].render(told(company, NO_DETAIL)).body)
    assert answer["estabelecimento"]["atividade_principal"] == {
        "id": "8888888", "secao": None, "divisao": None, "grupo": None, "classe": None,
        "subclasse": None, "descricao": None,
    }  # fmt: skip


# What is not known


@pytest.mark.parametrize("face", COMPAT_APIS.values(), ids=COMPAT_APIS)
def test_unknown_values_are_null(face: Any) -> None:
    """A source may have only the number: every shape still has all its keys."""
    bare = Company(cnpj=CNPJ, socios=(Partner(),))
    full = json.loads(face.render(told(A_COMPANY, A_MONTH)).body)
    answer = json.loads(face.render(told(bare, NO_DETAIL, day=None)).body)
    assert answer.keys() == full.keys()
    # Constants of the original, the number, and nothing else.
    ours = {CNPJ, CNPJ[:8], CNPJ[8:12], CNPJ[12:], "90.010.001/0001-00"}
    theirs = {"OK", "00.00-0-00", "Não informada", 0, True, "", None}
    assert {*values(answer)} <= ours | theirs


def values(answer: object) -> Iterator[Any]:
    """Return all values that are neither objects nor lists."""
    if isinstance(answer, dict):
        for each in answer.values():
            yield from values(each)
    elif isinstance(answer, list):
        for each in answer:
            yield from values(each)
    else:
        yield answer


@pytest.mark.parametrize(
    ("change", "gone", "stays"),
    [
        ({"situacao_cadastral": "BAIXADA"}, set(), {"city_code", "size"}),
        ({"municipio": "CAMPINAS"}, {"city_code"}, {"country"}),
        ({"uf": "RJ"}, {"city_code", "city_abroad", "country"}, {"responsible"}),
        ({"porte": "MICRO EMPRESA"}, {"size"}, {"responsible"}),
        ({}, set(), {"city_code", "country", "size"}),
    ],
)
def test_the_month_does_not_override_a_newer_answer(
    change: Mapping[str, Any], gone: set[str], stays: set[str]
) -> None:
    answer = Company(**{**{f: getattr(A_COMPANY, f) for f in Company.__struct_fields__}, **change})
    kept = consistent_detail(answer, A_MONTH)
    assert all(getattr(kept, name) is None for name in gone)
    assert all(getattr(kept, name) == getattr(A_MONTH, name) for name in stays)


ADDED = (
    *("simples", "mei", "capital_social", "motivo_situacao_cadastral", "regime_tributario"),
    "codigo_municipio_ibge",
)


@pytest.mark.parametrize(
    ("change", "stays_unknown"),
    [
        ({}, set()),
        ({"situacao_cadastral": "BAIXADA"}, {"motivo_situacao_cadastral"}),
        ({"data_da_situacao_cadastral": "2026-09-01"}, {"motivo_situacao_cadastral"}),
        ({"municipio": "CAMPINAS"}, {"codigo_municipio_ibge"}),
        ({"uf": "RJ"}, {"codigo_municipio_ibge"}),
    ],
)
def test_the_month_completes_an_answer_that_it_does_not_contradict(
    change: Mapping[str, Any], stays_unknown: set[str]
) -> None:
    answer = msgspec.structs.replace(WITHOUT_THEM, **change)
    whole = completed(answer, consistent_detail(answer, A_MONTH))
    for name in ADDED:
        expected = None if name in stays_unknown else getattr(A_COMPANY, name)
        assert getattr(whole, name) == expected, name


def test_the_answer_s_own_values_win() -> None:
    given = msgspec.structs.replace(
        A_COMPANY,
        simples=TaxOption(False),
        mei=None,
        capital_social=Decimal("2.00"),
        motivo_situacao_cadastral=Coded("01", None),
        regime_tributario=(),
        codigo_municipio_ibge="3509502",
    )
    assert completed(given, A_MONTH) == given


def test_without_a_month_nothing_is_added() -> None:
    assert completed(WITHOUT_THEM, NO_DETAIL) is WITHOUT_THEM
    assert consistent_detail(A_COMPANY, None) is NO_DETAIL
    assert consistent_detail(A_COMPANY, MonthDetail()) is NO_DETAIL


def test_a_partner_unknown_to_the_month_has_no_codes() -> None:
    other = Partner(nome="SICRANO FICTICIO", cpf_cnpj_socio="***111222**", pais="ANGOLA")
    answer = Company(cnpj=CNPJ, socios=(other, *A_COMPANY.socios))
    reply = json.loads(COMPAT_APIS["minhareceita"].render(told(answer, A_MONTH)).body)["qsa"]
    assert (reply[0]["identificador_de_socio"], reply[1]["identificador_de_socio"]) == (None, 2)
    assert (reply[0]["pais"], reply[0]["cpf_representante_legal"]) == ("ANGOLA", None)


# Errors


@pytest.mark.parametrize(
    ("face", "status", "body_of"),
    [
        (MINHA_RECEITA, 400, {"message": "CNPJ 123 inválido."}),
        (
            BRASILAPI,
            400,
            {"message": "CNPJ 123 inválido.", "type": "bad_request", "name": "BadRequestError"},
        ),
        (RECEITAWS, 200, {"status": "ERROR", "message": "CNPJ inválido"}),
    ],
)
def test_an_invalid_cnpj(world: Service, face: str, status: int, body_of: object) -> None:
    answer = world.get(face + "123")
    assert (answer.status, answer.json, answer.credits) == (status, body_of, 0)
    assert answer.headers["x-codigo-erro"] == "CNPJ_INVALIDO"
    assert answer.headers["x-request-id"]


def test_an_invalid_cnpj_in_the_nested_shape(world: Service) -> None:
    answer = world.get(CNPJWS + "123")
    assert (answer.status, answer.credits) == (400, 0)
    assert answer.json["status"] == 400
    assert list(answer.json) == ["status", "titulo", "detalhes", "validacao"]


@each_face
def test_a_cpf_is_not_repeated(world: Service, face: str) -> None:
    answer = world.get(face + "529.982.247-25")
    assert b"982.247" not in answer.body
    assert answer.headers["x-codigo-erro"] == "CNPJ_INVALIDO"


@pytest.mark.parametrize(
    ("face", "status", "name"),
    [
        (MINHA_RECEITA, 404, "message"),
        (BRASILAPI, 404, "message"),
        (RECEITAWS, 200, "message"),
        (CNPJWS, 404, "detalhes"),
    ],
)
def test_a_company_that_does_not_exist(world: Service, face: str, status: int, name: str) -> None:
    world.source.says_absent()
    answer = world.get(face + CNPJ)
    assert (answer.status, answer.credits) == (status, 0)
    assert answer.headers["x-codigo-erro"] == "CNPJ_NAO_ENCONTRADO"
    if face in (MINHA_RECEITA, BRASILAPI):
        assert answer.json["message"] == "CNPJ 90.010.001/0001-00 não encontrado."
    assert answer.json[name]


@each_face
def test_without_a_key(world: Service, face: str) -> None:
    answer = world.request("GET", face + CNPJ, None)
    assert (answer.status, answer.headers["x-codigo-erro"]) == (401, "API_KEY_INVALIDA")
    if face == BRASILAPI:
        assert (answer.json["type"], answer.json["name"]) == ("unauthorized", "UnauthorizedError")


@each_face
def test_a_source_that_fails_costs_nothing(world: Service, face: str) -> None:
    world.source.is_down()
    before = world.balance()
    answer = world.get(face + CNPJ)
    assert answer.status == (500 if face == BRASILAPI else 503)
    assert answer.headers["x-codigo-erro"] == "SERVICO_INDISPONIVEL"
    assert int(answer.headers["retry-after"]) >= 1
    assert world.balance() == before
    if face == BRASILAPI:
        assert (answer.json["type"], answer.json["name"]) == ("internal_error", "InternalError")


@each_face
def test_too_many_requests(world: Service, face: str) -> None:
    world.keep(a_company(), days=1)
    few = world.another_key(world.client, per_minute=1)
    world.get(face + CNPJ, few)
    answer = world.get(face + CNPJ, few)
    assert (answer.status, answer.headers["x-codigo-erro"]) == (429, "LIMITE_EXCEDIDO")
    assert int(answer.headers["retry-after"]) >= 1
    if face == RECEITAWS:
        assert answer.headers["content-type"].startswith("text/plain")
        assert answer.body.decode().startswith("Limite de requisições")
    else:
        assert answer.json


@each_face
def test_without_credits(world: Service, face: str) -> None:
    world.keep(a_company(), days=1)
    poor = world.account("pobre", credits=0)
    answer = world.get(face + CNPJ, poor)
    assert (answer.status, answer.headers["x-codigo-erro"]) == (402, "SALDO_INSUFICIENTE")
    assert answer.credits == 0


@each_face
def test_a_bug_in_rendering_hides_no_charge(
    world: Service, face: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(told: CompatInput) -> None:
        raise LookupError(told.day)

    monkeypatch.setattr(COMPAT_APIS[face.split("/")[2]], "body", fails)
    before = world.balance().balance_credits
    answer = world.get(face + CNPJ)
    assert (answer.status, answer.headers["x-codigo-erro"]) == (500, "ERRO_INTERNO")
    assert before - world.balance().balance_credits == 1
    assert answer.credits == 1


@each_face
def test_another_method(world: Service, face: str) -> None:
    answer = world.request("HEAD", face + CNPJ)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, OPTIONS")
    assert world.request("POST", face + CNPJ).status == 405


# The lookup


@each_face
def test_it_is_the_company_lookup(world: Service, face: str) -> None:
    """With the same charge, cache entry, limits and tags."""
    first = world.get(face + CNPJ, x_cliente="loja-7", x_referencia="pedido:1")
    assert (first.status, first.credits) == (200, 1)
    assert first.headers["x-cliente"] == "loja-7"
    (entry,) = world.charges()
    assert (entry.operation, entry.rule) == ("cnpj-receita-federal", "company/lookup")
    assert (entry.client, entry.reference) == ("loja-7", "pedido:1")
    assert entry.request_id == first.headers["x-request-id"]
    assert entry.credits == -1
    before = world.source.asked
    again = world.get(company(CNPJ, "cache_strategy=CACHE_SE_EXISTIR"))
    assert (again.status, again.headers["cache-status"]) == (200, "Balcao; hit")
    assert world.source.asked == before


@each_face
def test_two_requests_under_a_key_are_charged_once(world: Service, face: str) -> None:
    first = world.get(face + CNPJ, idempotency_key="pedido-0001")
    again = world.get(face + CNPJ, idempotency_key="pedido-0001")
    assert (first.credits, again.credits) == (1, 0)
    assert again.headers["idempotent-replayed"] == "true"
    assert again.headers["x-request-id"] == first.headers["x-request-id"]
    other = world.get(face + OTHER_CNPJ, idempotency_key="pedido-0001")
    assert other.headers["x-codigo-erro"] == "IDEMPOTENCY_KEY_REUTILIZADA"
    assert len(world.charges()) == 1


def test_the_greatest_price(world: Service) -> None:
    answer = world.get(BRASILAPI + CNPJ, x_creditos_maximos="0")
    assert (answer.status, answer.headers["x-codigo-erro"]) == (402, "TETO_DA_REQUISICAO")
    assert not world.charges()


@each_face
def test_query_parameters_are_ignored(world: Service, face: str) -> None:
    """Their clients may send any; none is read as ours."""
    answer = world.get(face + CNPJ + "?optin=1&cache=zzz&token=abc&dataset=x")
    assert answer.status == 200


def test_days_are_the_greatest_age(world: Service) -> None:
    world.keep(a_company(), days=20)
    kept = world.get(RECEITAWS + CNPJ + "/days/30")
    assert (kept.status, kept.headers["cache-status"]) == (200, "Balcao; hit")
    assert kept.json["billing"] == {"free": False, "database": True}
    fresh = world.get(RECEITAWS + CNPJ + "/days/10")
    assert (fresh.status, fresh.headers["cache-status"]) == (200, "Balcao; fwd=miss")
    assert fresh.json["billing"] == {"free": False, "database": False}


@pytest.mark.parametrize("days", ["", "x", "-1", "366", "10/", "1e1", "٣"])
def test_an_invalid_number_of_days(world: Service, days: str) -> None:
    answer = world.get(RECEITAWS + CNPJ + f"/days/{days}")
    assert (answer.status, answer.headers["x-codigo-erro"]) == (400, "PARAMETRO_INVALIDO")
    assert answer.json == {
        "status": "ERROR",
        "message": "Depois de /days/ vem um número inteiro de dias, de 0 a 365.",
    }
    assert not world.charges()


@each_face
@pytest.mark.parametrize("written", ["90.010.001/0001-00", "90.010.001%2F0001-00"])
def test_punctuation(world: Service, face: str, written: str) -> None:
    assert world.get(face + written).status == 200


def test_letters_are_kept(month: tuple[Service, Sequence[str]]) -> None:
    house, cnpjs = month
    cnpj = Cnpj(cnpjs[0])
    assert not cnpj.text.isdecimal()
    for written in (cnpj.text, cnpj.text.lower(), cnpj.punctuated):
        assert house.get(MINHA_RECEITA + written).json["cnpj"] == cnpj.text
    assert house.get(RECEITAWS + cnpj.text).json["cnpj"] == cnpj.punctuated
    assert house.get(CNPJWS + cnpj.text).json["cnpj_raiz"] == cnpj.root


def test_the_event_names_the_api_and_the_statement_the_lookup(
    month: tuple[Service, Sequence[str]],
) -> None:
    house, cnpjs = month
    by = house.account("extrato")
    answer = house.get(BRASILAPI + cnpjs[0], by)
    assert house.event(answer.headers["x-request-id"])["operation"] == "compat-brasilapi"
    (line,) = house.get("/conta/v1/consumo", by).json["linhas"]
    assert (line["operacao"], line["consultas"]) == ("cnpj-receita-federal", 1)
    assert house.money(by) == (CREDITS - 1, 0)


def test_unknown_paths(world: Service) -> None:
    for path in ("/compat/", "/compat/outra/1", "/compat/brasilapi/", BRASILAPI, MINHA_RECEITA):
        answer = world.get(path)
        assert (answer.status, answer.code) == (404, "ROTA_NAO_ENCONTRADA"), path


def test_each_api_has_a_name_and_a_path() -> None:
    assert set(COMPAT_APIS) == set(COMPAT_API_TITLES)
    assert {address for _, address in api_paths()} == set(ALL)


def told(company: Company, month: MonthDetail, day: str | None = "2026-08-08") -> CompatInput:
    return CompatInput(completed(company, month), month, day, day, free=False, kept=True)


A_COMPANY = Company(
    cnpj=CNPJ,
    identificador_matriz_filial="MATRIZ",
    data_de_abertura="2015-03-02",
    nome_empresarial="EMPRESA FICTICIA LTDA",
    atividade_economica_principal=Coded("6201501", "Desenvolvimento"),
    natureza_juridica=Coded("2062", "Sociedade Empresária Limitada"),
    tipo_logradouro="RUA",
    logradouro="DAS FLORES",
    numero="10",
    municipio="SAO PAULO",
    cep="04794000",
    uf="SP",
    telefone="1137037675 / 11937037675",
    situacao_cadastral="ATIVA",
    data_da_situacao_cadastral="2015-03-02",
    porte="DEMAIS",
    socios=(
        Partner(
            nome="FULANA FICTICIA",
            cpf_cnpj_socio="***222333**",
            qualificacao_socio="Sócio-Administrador",
            documento_representante_legal="***444555**",
            nome_representante_legal="BELTRANA FICTICIA",
            faixa_etaria="Entre 41 a 50 anos",
            data_entrada_sociedade="2016-06-16 00:00:00",
        ),
    ),
    simples=TaxOption(True, "2015-03-02", None),
    mei=TaxOption(False, None, None),
    capital_social=Decimal("1.00"),
    motivo_situacao_cadastral=Coded("00", "SEM MOTIVO"),
    regime_tributario=(TaxRegime(2023, "LUCRO REAL", 1, "11222333000181"),),
    codigo_municipio_ibge="3550308",
)

A_MONTH = MonthDetail(
    company=A_COMPANY,
    day="2026-08-08",
    city_abroad="",
    country=Coded("105", "BRASIL"),
    city_code="7107",
    fax=("11", "37037676"),
    responsible=Coded("49", "Sócio-Administrador"),
    size="05",
    partners=(
        PartnerDetail(
            A_COMPANY.socios[0],
            "2",
            Coded("49", "Sócio-Administrador"),
            None,
            Coded("05", "Administrador"),
        ),
    ),
)
WITHOUT_THEM = msgspec.structs.replace(A_COMPANY, **dict.fromkeys(ADDED))
