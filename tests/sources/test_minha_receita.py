"""Minha Receita and BrasilAPI, with saved bytes (`public-cnpj-apis.md` sections 1 and 2)."""

import json
from decimal import Decimal
from typing import Any, Literal

import pytest

from balcao.core.company import Coded, Company, DatedCompany, Partner, TaxOption, TaxRegime
from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.providers.minha_receita.adapter import MinhaReceitaAdapter, day_of_data
from balcao.sources.contract import HttpReply
from tests.sources.adapters import CNPJ, LETTERS, a_reply, an_inquiry, run_conversation

# The page's example, unchanged.
SAVED = """{"cnpj":"11222333000181","identificador_matriz_filial":1,"descricao_identificador_matriz_filial":"MATRIZ","nome_fantasia":"FICTICIA","situacao_cadastral":2,"descricao_situacao_cadastral":"ATIVA","data_situacao_cadastral":"2010-03-01","motivo_situacao_cadastral":0,"descricao_motivo_situacao_cadastral":"SEM MOTIVO","nome_cidade_no_exterior":"","codigo_pais":null,"pais":null,"data_inicio_atividade":"2010-03-01","cnae_fiscal":4651601,"cnae_fiscal_descricao":"Comércio atacadista de equipamentos de informática","descricao_tipo_de_logradouro":"RUA","logradouro":"DAS ACACIAS","numero":"100","complemento":"SALA 2","bairro":"CENTRO","cep":"88010000","uf":"SC","codigo_municipio":8105,"codigo_municipio_ibge":4205407,"municipio":"FLORIANOPOLIS","ddd_telefone_1":"4830000000","ddd_telefone_2":"","ddd_fax":"","email":null,"situacao_especial":"","data_situacao_especial":null,"opcao_pelo_simples":false,"data_opcao_pelo_simples":null,"data_exclusao_do_simples":null,"opcao_pelo_mei":null,"data_opcao_pelo_mei":null,"data_exclusao_do_mei":null,"razao_social":"EMPRESA FICTICIA DE TESTES LTDA","codigo_natureza_juridica":2062,"natureza_juridica":"Sociedade Empresária Limitada","qualificacao_do_responsavel":49,"capital_social":29500,"codigo_porte":3,"porte":"EMPRESA DE PEQUENO PORTE","ente_federativo_responsavel":"","qsa":[{"identificador_de_socio":2,"nome_socio":"FULANA DE TAL","cnpj_cpf_do_socio":"***222333**","codigo_qualificacao_socio":49,"qualificacao_socio":"Sócio-Administrador","data_entrada_sociedade":"2010-03-01","codigo_pais":null,"pais":null,"cpf_representante_legal":"***000000**","nome_representante_legal":"","codigo_qualificacao_representante_legal":0,"qualificacao_representante_legal":null,"codigo_faixa_etaria":5,"faixa_etaria":"Entre 41 a 50 anos"}],"cnaes_secundarios":[{"codigo":6204000,"descricao":"Consultoria em tecnologia da informação"}],"regime_tributario":null}"""  # noqa: E501


UPDATED = a_reply(200, {"message": "2026-08-08"})


def read(**changes: Any) -> Company:
    body = json.loads(SAVED) | changes
    _, company = run_conversation(
        MinhaReceitaAdapter().converse(an_inquiry()), UPDATED, a_reply(200, body)
    )
    assert isinstance(company, Company)
    return company


@pytest.mark.parametrize("message", ["ontem", "", "2026-08-08" * 500])
def test_invalid_day_is_absent(message: str) -> None:
    """Only the day is lost, not the answer."""
    assert day_of_data(a_reply(200, {"message": message})) is None


def test_the_page_s_example_fills_every_field() -> None:
    _, company = run_conversation(
        MinhaReceitaAdapter().converse(an_inquiry()), UPDATED, a_reply(200, SAVED.encode())
    )
    assert company == DatedCompany(
        data_base="2026-08-08",
        cnpj=CNPJ,
        identificador_matriz_filial="MATRIZ",
        data_de_abertura="2010-03-01",
        nome_empresarial="EMPRESA FICTICIA DE TESTES LTDA",
        nome_fantasia="FICTICIA",
        atividade_economica_principal=Coded(
            "4651601", "Comércio atacadista de equipamentos de informática"
        ),
        atividades_economicas_secundarias=(
            Coded("6204000", "Consultoria em tecnologia da informação"),
        ),
        natureza_juridica=Coded("2062", "Sociedade Empresária Limitada"),
        tipo_logradouro="RUA",
        logradouro="DAS ACACIAS",
        numero="100",
        complemento="SALA 2",
        bairro="CENTRO",
        municipio="FLORIANOPOLIS",
        cep="88010000",
        uf="SC",
        telefone="4830000000",
        situacao_cadastral="ATIVA",
        data_da_situacao_cadastral="2010-03-01",
        porte="EMPRESA DE PEQUENO PORTE",
        socios=(
            Partner(
                nome="FULANA DE TAL",
                cpf_cnpj_socio="***222333**",
                qualificacao_socio="Sócio-Administrador",
                faixa_etaria="Entre 41 a 50 anos",
                data_entrada_sociedade="2010-03-01 00:00:00",
            ),
        ),
        simples=TaxOption(optante=False),
        mei=None,
        capital_social=Decimal("29500.00"),
        motivo_situacao_cadastral=Coded("00", "SEM MOTIVO"),
        codigo_municipio_ibge="4205407",
    )


def test_options_for_simples_and_mei() -> None:
    company = read(
        opcao_pelo_simples=False,
        data_opcao_pelo_simples="2015-03-02",
        data_exclusao_do_simples="2020-12-31",
        opcao_pelo_mei=None,
        data_opcao_pelo_mei=None,
        data_exclusao_do_mei=None,
    )
    assert company.simples == TaxOption(False, "2015-03-02", "2020-12-31")
    assert company.mei is None  # unknown, which is not "no"


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (None, None),
        ([], None),  # there the same as "not loaded"
        ([{"ano": 2023, "forma_de_tributacao": None}], None),
        (
            [
                {
                    "ano": 2023,
                    "cnpj_da_scp": "33.683.111/0002-80",
                    "forma_de_tributacao": "LUCRO REAL",
                    "quantidade_de_escrituracoes": 2,
                }
            ],
            (TaxRegime(2023, "LUCRO REAL", 2, "33683111000280"),),
        ),
    ],
)
def test_tax_regimes(sent: object, expected: object) -> None:
    assert read(regime_tributario=sent).regime_tributario == expected


@pytest.mark.parametrize("sent", ["29.500,00", "NaN", 1e300, [1], True])
def test_a_capital_that_is_no_amount_is_absent(sent: object) -> None:
    assert read(capital_social=sent).capital_social is None


@pytest.mark.parametrize(
    ("flavour", "path"),
    [("minha_receita", f"/{LETTERS}"), ("brasilapi", f"/api/cnpj/v1/{LETTERS}")],
)
def test_each_service_has_its_path(
    flavour: Literal["minha_receita", "brasilapi"], path: str
) -> None:
    conversation = MinhaReceitaAdapter(flavour=flavour).converse(an_inquiry(LETTERS))
    requests = [next(conversation)]
    if flavour == "minha_receita":  # the other has no such address
        assert requests[0].path == "/updated"
        requests = [conversation.send(UPDATED)]
    assert [(request.method, request.path) for request in requests] == [("GET", path)]


def test_codes_are_padded_and_the_placeholder_activity_is_dropped() -> None:
    company = read(
        cnae_fiscal=111301,
        cnae_fiscal_descricao="Cultivo de arroz",
        cnaes_secundarios=[
            {"codigo": 0, "descricao": ""},
            {"codigo": 112101, "descricao": "Algodão"},
        ],
        codigo_natureza_juridica=101,
    )
    assert company.atividade_economica_principal == Coded("0111301", "Cultivo de arroz")
    assert company.atividades_economicas_secundarias == (Coded("0112101", "Algodão"),)
    assert company.natureza_juridica is not None
    assert company.natureza_juridica.codigo == "0101"


def test_a_code_without_description_keeps_the_code() -> None:
    company = read(cnae_fiscal=9999999, cnae_fiscal_descricao=None)
    assert company.atividade_economica_principal == Coded("9999999", None)


@pytest.mark.parametrize(
    ("code", "theirs", "ours"),
    [
        (0, "NÃO INFORMADO", None),
        (1, "MICRO EMPRESA", "MICRO EMPRESA"),
        (5, "DEMAIS", "DEMAIS"),
        (None, "DEMAIS", "DEMAIS"),
        (None, "NÃO INFORMADO", None),
        (None, None, None),
    ],
)
def test_sizes(code: int | None, theirs: str | None, ours: str | None) -> None:
    assert read(codigo_porte=code, porte=theirs).porte == ours


@pytest.mark.parametrize(
    ("code", "text"), [(1, "NULA"), (2, "ATIVA"), (3, "SUSPENSA"), (4, "INAPTA"), (8, "BAIXADA")]
)
def test_statuses_by_code_or_by_text(code: int, text: str) -> None:
    assert read(situacao_cadastral=code).situacao_cadastral == text
    named = read(situacao_cadastral=None, descricao_situacao_cadastral=text)
    assert named.situacao_cadastral == text
    assert read(situacao_cadastral=77).situacao_cadastral is None


def test_empty_values_are_absent() -> None:
    company = read(
        nome_fantasia="",
        qsa=None,
        cnaes_secundarios=None,
        identificador_matriz_filial=None,
        descricao_identificador_matriz_filial=None,
        data_situacao_cadastral=None,
        ddd_telefone_1="",
    )
    assert company.nome_fantasia is None
    assert company.socios == ()
    assert company.atividades_economicas_secundarias == ()
    assert company.identificador_matriz_filial is None
    assert company.data_da_situacao_cadastral is None
    assert company.telefone is None


def test_two_telephones_padding_and_decomposed_accents() -> None:
    company = read(
        ddd_telefone_1="48 30000000",
        ddd_telefone_2="48930000001",
        logradouro="QUADRA02                  LOTE  15",
        natureza_juridica="Sociedade Empresa\u0301ria Limitada",
    )
    assert company.telefone == "4830000000 / 48930000001"
    assert company.logradouro == "QUADRA02 LOTE 15"
    assert company.natureza_juridica == Coded("2062", "Sociedade Empresária Limitada")


# `public-cnpj-apis.md`, both tables of errors.
REFUSALS = [
    (a_reply(400, {"message": f"CNPJ {CNPJ} inválido."}), SourceFailed),
    (a_reply(405, {"message": "Essa URL aceita apenas o método GET."}), SourceFailed),
    (a_reply(302, b"", location="https://docs.minhareceita.org/"), SourceFailed),
    (a_reply(408, {"message": "tempo esgotado"}), SourceFailed),
    (a_reply(500, b"<html>Internal Server Error</html>"), SourceFailed),
    (a_reply(502, b"<html>Bad Gateway</html>"), SourceUnavailable),
    (a_reply(503, b"<html>Service Unavailable</html>"), SourceUnavailable),
    (a_reply(504, b"<html>Gateway Timeout</html>"), SourceFailed),
    (a_reply(429, b""), SourceUnavailable),
    (a_reply(401, {"message": "x", "name": "UnauthorizedError"}), SourceUnavailable),
    (a_reply(403, b"<html>firewall</html>"), SourceUnavailable),
    (
        a_reply(500, {"message": "x", "type": "internal_error", "name": "InternalError"}),
        SourceFailed,
    ),
    (a_reply(200, b"<html>maintenance page</html>"), SourceFailed),
    (a_reply(200, b""), SourceFailed),
    (a_reply(200, b"\xff\xfe"), SourceFailed),
    (a_reply(200, []), SourceFailed),
    (a_reply(200, {"razao_social": "SEM CNPJ"}), SourceFailed),
    (a_reply(200, {"cnpj": 11222333000181}), SourceFailed),
]


@pytest.mark.parametrize(("reply", "error"), REFUSALS)
def test_refusals(reply: HttpReply, error: type[SourceError]) -> None:
    with pytest.raises(SourceError) as caught:
        run_conversation(MinhaReceitaAdapter().converse(an_inquiry()), UPDATED, reply)
    assert type(caught.value) is error
    assert caught.value.detail.startswith("minha_receita")
    assert CNPJ not in str(caught.value)


PUBLIC = json.loads(SAVED) | {"cnpj": "33683111000280"}


NOT_FOUND = a_reply(404, {"message": "CNPJ 11.222.333/0001-81 não encontrado."})


@pytest.mark.parametrize(
    ("flavour", "first", "path"),
    [
        ("minha_receita", [UPDATED], "/33683111000280"),
        ("brasilapi", [], "/api/cnpj/v1/33683111000280"),
    ],
)
def test_not_found_is_confirmed_by_a_known_company(
    flavour: Literal["minha_receita", "brasilapi"], first: list[HttpReply], path: str
) -> None:
    """A 404 may also mean that the database is down."""
    adapter = MinhaReceitaAdapter(flavour=flavour)
    conversation = adapter.converse(an_inquiry())
    requests, company = run_conversation(conversation, *first, NOT_FOUND, a_reply(200, PUBLIC))
    assert company is None
    assert requests[-1].path == path
    assert adapter.conclusive_absence
    assert adapter.capabilities.from_dated_copy


@pytest.mark.parametrize(
    "known",
    [
        NOT_FOUND,
        a_reply(200, json.loads(SAVED)),
        a_reply(200, b"<html>maintenance page</html>"),
        a_reply(403, b"<html>firewall</html>"),
        a_reply(500),
        a_reply(503),
    ],
)
def test_unconfirmed_not_found_is_unavailable(known: HttpReply) -> None:
    with pytest.raises(SourceUnavailable, match="inexistência não confirmada") as caught:
        run_conversation(MinhaReceitaAdapter().converse(an_inquiry()), UPDATED, NOT_FOUND, known)
    assert caught.value.retry_in_seconds == 300
    assert CNPJ not in caught.value.detail


@pytest.mark.parametrize("error", [SourceFailed("x: cortou"), SourceUnavailable("x: fora", 7)])
def test_failed_request_for_the_known_company(error: SourceError) -> None:
    conversation = MinhaReceitaAdapter(flavour="brasilapi").converse(an_inquiry())
    next(conversation)
    conversation.send(NOT_FOUND)
    with pytest.raises(SourceUnavailable, match="inexistência não confirmada"):
        conversation.throw(error)


@pytest.mark.parametrize(
    "updated",
    [
        a_reply(404, {"message": "CNPJ updated inválido."}),
        a_reply(500),
        a_reply(200, b"<html>maintenance page</html>"),
        a_reply(200, {"message": "ontem"}),
        a_reply(200, {"date": "2026-08-08"}),
    ],
)
def test_missing_date_of_data_is_absent(updated: HttpReply) -> None:
    company = a_reply(200, SAVED.encode())
    _, result = run_conversation(MinhaReceitaAdapter().converse(an_inquiry()), updated, company)
    assert isinstance(result, DatedCompany)
    assert result.data_base is None
    assert result.nome_empresarial is not None

    conversation = MinhaReceitaAdapter().converse(an_inquiry())
    next(conversation)
    assert conversation.throw(SourceFailed("x: cortou")).path == f"/{CNPJ}"


def test_brasilapi_has_no_date_of_data() -> None:
    conversation = MinhaReceitaAdapter(flavour="brasilapi").converse(an_inquiry())
    _, result = run_conversation(conversation, a_reply(200, SAVED.encode()))
    assert isinstance(result, DatedCompany)
    assert result.data_base is None


def test_invalid_date_is_absent() -> None:
    company = read(data_inicio_atividade="01/03/2010", data_situacao_especial="ontem")
    assert company.data_de_abertura is None
    assert company.data_da_situacao_especial is None
    assert company.data_da_situacao_cadastral == "2010-03-01"


@pytest.mark.parametrize(
    ("flavour", "path"),
    [("minha_receita", "/33683111000280"), ("brasilapi", "/api/cnpj/v1/33683111000280")],
)
def test_a_probe_asks_about_a_public_company(
    flavour: Literal["minha_receita", "brasilapi"], path: str
) -> None:
    conversation = MinhaReceitaAdapter(flavour=flavour).probe(an_inquiry())
    requests, result = run_conversation(conversation, a_reply(200, PUBLIC))
    assert result == "respondeu"
    assert [(request.method, request.path) for request in requests] == [("GET", path)]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (a_reply(200, json.loads(SAVED)), SourceFailed),
        (a_reply(200, b"<html></html>"), SourceFailed),
        (a_reply(404, {"message": "CNPJ não encontrado."}), SourceFailed),
        (a_reply(403, b"<html>firewall</html>"), SourceUnavailable),
        (a_reply(500), SourceFailed),
        (a_reply(503), SourceUnavailable),
    ],
)
def test_a_probe_that_fails(reply: HttpReply, kind: type[SourceError]) -> None:
    with pytest.raises(SourceError) as caught:
        run_conversation(MinhaReceitaAdapter().probe(an_inquiry()), reply)
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [("7", 7), ("0", 1), ("999999", 3600), ("Wed, 21 Oct 2026 07:28:00 GMT", 30), ("", 30)],
)
def test_retry_after(stated: str, seconds: int) -> None:
    with pytest.raises(SourceUnavailable) as caught:
        run_conversation(
            MinhaReceitaAdapter().converse(an_inquiry()),
            UPDATED,
            a_reply(503, b"", retry_after=stated),
        )
    assert caught.value.retry_in_seconds == seconds
