"""From a recorded answer to its page: tables of cases, from the contract's fields."""

import datetime
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from balcao.core.calendar import BRASILIA, HOUR_MS, day_starts_ms
from balcao.core.errors import errors_by_code
from balcao.core.extensions import FEDERAL as FEDERAL_SUBJECT
from balcao.core.extensions import STATE as STATE_SUBJECT
from balcao.core.extensions import Extension
from balcao.core.ledger import Trace
from balcao.core.outcomes import Quote
from balcao.core.questions import Question
from balcao.operations import OPERATIONS, views
from balcao.operations.contract import Operation
from balcao.operations.registrations import page as registrations
from balcao.web.kit.lookups import outcomes
from balcao.web.kit.lookups.forms import BY_SUBJECT, FORMS, LookupForm, blank, filled, request_of
from tests.web.lookups import a_trace

ASKED = datetime.datetime(2026, 11, 12, 14, 3, tzinfo=BRASILIA)
ASKED_MS = round(ASKED.timestamp() * 1000)
DAY_MS = 24 * HOUR_MS

TRACE = a_trace(
    key_id=None,
    user_id=1,
    source="cnpja",
    asked_ms=ASKED_MS,
    opened_ms=ASKED_MS,
    settled_ms=ASKED_MS,
)

FEDERAL: dict[str, Any] = {
    "success": True,
    "certificate_type": "CND",
    "certificate": "CERTIDÃO NEGATIVA",
    "certificate_code": "A1B2",
    "cnpj": "90.010.001/0001-00",
    "cpf": None,
    "corporate_name": "EMPRESA",
    "status": "Válida",
    "issued_at": "2026-06-20",
    "validity": "2026-12-17",
    "extended_validity": None,
    "effective_validity": "2026-12-17",
    "valid_until": "2026-12-16",
    "source_queried_at": "2026-11-12T14:03:00-03:00",
    "served_at": "2026-11-12T14:03:00-03:00",
    "rfb_debts": False,
    "pgfn_debts": None,
    "receipt_type": "application/pdf",
    "receipt_verification_code": "",
    "print": "https://x.example/consultas/v2/certidao/print/abc-1",
}
STATE: dict[str, Any] = {
    "success": True,
    "codigo": None,
    "certidao_mensagem": None,
    "certidao_negativa": True,
    "conseguiu_emitir_certidao_negativa": True,
    "datahora": "2026-11-12 14:03:00",
    "mensagem": None,
    "numero": "1",
    "validade": "2026-12-01",
    "print": None,
}


def seen(
    subject: str, body: dict[str, Any], trace: Trace, now_ms: int = ASKED_MS, **of_it: Any
) -> views.ResultView:
    return OPERATIONS[subject].view(views.RecordedResult(body, trace, now_ms, **of_it))


def instant_of(text: str) -> int:
    """Return the milliseconds of an instant on a Brasília wall clock."""
    at = datetime.datetime.fromisoformat(text).replace(tzinfo=BRASILIA)
    return round(at.timestamp() * 1000)


def registration(uf: str, active: bool, **more: object) -> dict[str, object]:
    return {"inscricao_estadual": "1", "uf": uf, "ativa": active, **more}


@pytest.mark.parametrize(
    ("answer", "tone", "text"),
    [
        ({}, "good", "Certidão negativa (CND)"),
        ({"certificate_type": "CPEND"}, "good", "Positiva com efeitos de negativa (CPEND)"),
        ({"certificate_type": "CPD"}, "bad", "Certidão positiva (CPD)"),
        ({"certificate_type": "OUTRA"}, "warn", "Nem CND nem CPEND"),
        ({"certificate_type": None}, "warn", "Nem CND nem CPEND"),
        ({"certificate_type": None, "certificate": ""}, "warn", "Certidão não emitida"),
    ],
)
def test_federal_verdicts(answer: dict[str, Any], tone: str, text: str) -> None:
    view = seen("federal_certificate", FEDERAL | answer, TRACE, ASKED_MS)
    assert (view.headline.tone, view.headline.text) == (tone, text)


def test_federal_facts() -> None:
    view = seen("federal_certificate", FEDERAL, TRACE, ASKED_MS)
    facts = dict(view.facts)
    assert facts["Válida até"] == "17/12/2026"
    assert facts["Guardada até"] == "16/12/2026. Até lá, uma nova consulta custa 1 crédito"
    assert facts["Fonte consultada em"] == "12/11/2026 às 14:03"
    assert (facts["Débitos na Receita Federal"], facts["Débitos na PGFN (dívida ativa)"]) == (
        "Não",
        None,
    )
    assert "Prorrogada até" not in facts
    assert (view.receipt_id, view.receipt_kind) == ("abc-1", "PDF")
    assert [each.needs_birth for each in view.repeat_forms] == [False, False]
    longer = FEDERAL | {"extended_validity": "2027-01-20", "effective_validity": "2027-01-20"}
    facts = dict(seen("federal_certificate", longer, TRACE, ASKED_MS).facts)
    assert (facts["Válida até"], facts["Validade original"]) == ("20/01/2027", "17/12/2026")
    expired = seen("federal_certificate", FEDERAL, TRACE, ASKED_MS, in_force=False)
    assert (expired.headline.tone, expired.headline.text) == ("bad", "Certidão vencida")
    assert "17/12/2026" in expired.headline.note


NEGATIVE: dict[str, Any] = {
    "success": False,
    "certificate_type": "CPD",
    "valid_until": "2026-11-12",
}
TONIGHT_MS = day_starts_ms(datetime.date(2026, 11, 13))


@pytest.mark.parametrize(
    ("answer", "asked_ms", "now_ms", "keeping"),
    [
        ({}, ASKED_MS, ASKED_MS, "16/12/2026. Até lá, uma nova consulta custa 1 crédito"),
        ({}, ASKED_MS, ASKED_MS + 40 * DAY_MS, "Não está mais guardada"),
        (
            {"valid_until": None},
            ASKED_MS,
            ASKED_MS,
            "Não fica guardada. A próxima consulta custa 2",
        ),
        (NEGATIVE, ASKED_MS, ASKED_MS, "15:03. Até lá, uma nova consulta custa 1 crédito"),
        (NEGATIVE, ASKED_MS, ASKED_MS + HOUR_MS, "Não está mais guardada"),
        # Not after the day on which the source was asked.
        (NEGATIVE, TONIGHT_MS - 1000, TONIGHT_MS - 1000, "00:00. Até lá"),
        (NEGATIVE, TONIGHT_MS - 1000, TONIGHT_MS, "Não está mais guardada"),
    ],
)
def test_how_long_a_federal_certificate_is_kept(
    answer: dict[str, Any], asked_ms: int, now_ms: int, keeping: str
) -> None:
    trace = msgspec.structs.replace(TRACE, asked_ms=asked_ms)
    body = FEDERAL | answer
    facts = dict(seen("federal_certificate", body, trace, now_ms).facts)
    assert keeping in str(facts.get("Guardada até") or facts["Guardada"])


def test_the_headline_of_a_certificate_in_force() -> None:
    notes = {
        "2ª via, emitida em 20/06/2026.": {},
        "Vence hoje, 12/11/2026.": {"effective_validity": "2026-11-12"},
        "Vale para a matriz e as filiais.": {"cnpj": "90.010.007/0002-68"},
    }
    for note, fields in notes.items():
        verdict = seen("federal_certificate", FEDERAL | fields, TRACE, ASKED_MS).headline
        assert note in verdict.note
        assert verdict.tone == ("warn" if "hoje" in note else "good")
        others = [each for each in notes if each != note and "2ª" not in each]
        assert not any(each in verdict.note for each in others)
    new = FEDERAL | {"issued_at": "2026-11-12"}
    assert "2ª via" not in seen("federal_certificate", new, TRACE, ASKED_MS).headline.note
    today = STATE | {"validade": "2026-11-12"}
    view = seen("state_certificate", today, TRACE, ASKED_MS)
    assert (view.headline.tone, view.headline.note) == ("warn", "Vence hoje, 12/11/2026.")
    assert "Não fica guardada" in str(dict(view.facts)["Guardada"])


@pytest.mark.parametrize(
    ("answer", "tone", "note"),
    [
        ({}, "good", "Válida até 01/12/2026: faltam 19 dias."),
        ({"validade": None}, "good", "A fonte não informou a validade."),
        ({"success": False, "mensagem": "Constam débitos."}, "bad", "Constam débitos. Procure"),
        ({"success": False}, "bad", "não informou o motivo"),
    ],
)
def test_state_verdicts(answer: dict[str, Any], tone: str, note: str) -> None:
    view = seen("state_certificate", STATE | answer, TRACE, ASKED_MS)
    assert view.headline.tone == tone
    assert note in view.headline.note
    assert view.receipt_id is None


def test_state_is_served_until_the_day_before() -> None:
    view = seen("state_certificate", STATE, TRACE, ASKED_MS)
    facts = dict(view.facts)
    assert "30/11/2026." in str(facts["Guardada até"])
    assert facts["Fonte consultada em"] == "12/11/2026 às 14:03"


@pytest.mark.parametrize(
    ("name", "value", "title", "shown"),
    [
        ("mei", {"optante": True, "desde": "2015-03-02"}, "MEI", "Optante, desde 02/03/2015"),
        ("mei", {"optante": False, "ate": "2020-12-31"}, "MEI", "Não optante, desde 31/12/2020"),
        ("mei", {"optante": False}, "MEI", "Não optante"),
        ("mei", {"optante": None}, "MEI", None),
        ("simples", None, "Simples Nacional", None),
        ("regime_tributario", None, "Regime tributário", None),
        ("regime_tributario", [], "Regime tributário", None),
        (
            "regime_tributario",
            [
                {"ano": year, "forma_de_tributacao": form}
                for year, form in (
                    (2022, "LUCRO REAL"),
                    (2023, "IMUNE DO IRPJ"),
                    (2023, "IMUNE DO IRPJ"),
                )
            ],
            "Regime tributário",
            "Imune do IRPJ (2023)",
        ),
        ("capital_social", 29500.5, "Capital social", "R$ 29.500,50"),
        ("motivo_situacao_cadastral", {"codigo": "00"}, "Motivo da situação", None),
    ],
)
def test_facts_that_not_every_source_has(
    name: str, value: object, title: str, shown: str | None
) -> None:
    body = {"response": {"cnpj": "90010001000100", name: value}}
    assert dict(seen("company", body, TRACE).facts)[title] == shown


@pytest.mark.parametrize(
    ("status", "tone"),
    [
        ("ATIVA", "good"),
        ("SUSPENSA", "warn"),
        ("INAPTA", "warn"),
        ("BAIXADA", "bad"),
        ("NULA", "bad"),
        (None, "neutral"),
        ("OUTRA", "neutral"),
    ],
)
def test_companies_with_few_facts(status: str | None, tone: str) -> None:
    body = {"response": {"cnpj": "90010001000100", "situacao_cadastral": status}}
    view = seen("company", body, TRACE)
    assert view.headline.tone == tone
    assert [each.rows for each in view.tables] == [[], []]


def test_addresses_are_composed_of_known_parts() -> None:
    whole = {
        "logradouro": "DAS ACACIAS",
        "numero": "100",
        "complemento": None,
        "bairro": "",
        "municipio": "SAO PAULO",
        "uf": "SP",
        "cep": "04000100",
    }
    assert views.address(whole, "RUA") == "RUA DAS ACACIAS, 100, SAO PAULO/SP, 04000-100"
    assert views.address({"cidade": "MANAUS", "estado": "AM"}) == "MANAUS/AM"
    assert views.address({}) is None


def test_texts_of_sources_are_escaped() -> None:
    body = {
        "response": {
            "cnpj": "90010001000100",
            "socios": [{"nome": "<b>X</b>", "pais": "<i>", "cpf_cnpj_socio": "<u>"}],
        }
    }
    (row,) = seen("company", body, TRACE).tables[1].rows
    assert str(row[0]) == "&lt;b&gt;X&lt;/b&gt; <small>&lt;i&gt;</small>"
    assert "<u>" not in str(row[1])


@pytest.mark.parametrize(
    ("active", "tone", "text", "title"),
    [
        ([True], "good", "1", "1 inscrição ativa"),
        ([True, True, False], "good", "2", "2 inscrições ativas, 1 inativa"),
        ([False, False], "bad", "inativa", "2 inscrições inativas"),
        ([], "neutral", "0", "nenhuma inscrição"),
    ],
)
def test_tiles(active: list[bool], tone: str, text: str, title: str) -> None:
    body = {
        "uf": "SP",
        "inscricoes_estaduais": [registration("MG", each) for each in active],
        "ufs": [{"uf": "MG", "origem": "cache"}, {"uf": "BA", "origem": "indisponivel"}],
    }
    tiles = registrations.tiles(body)
    assert set(tiles) == {"MG", "BA"}
    assert (tiles["MG"].tone, tiles["MG"].text, tiles["MG"].title) == (tone, text, title)
    assert (tiles["BA"].tone, tiles["BA"].text) == ("warn", "falhou")


def test_empty_columns_are_left_out() -> None:
    rows = [registration("SP", True, tipo_ie="IE Normal"), registration("MG", False)]
    table = registrations.table(rows)
    assert table.columns == ("Inscrição", "UF", "Situação", "Tipo")
    assert table.rows[1][3] is None
    assert registrations.table(rows, short=True).columns == ("Inscrição", "UF", "Situação")


# ---- Words ----

# Refusals before a lookup, shown at a field or on a separate page.
_ELSEWHERE = {
    # Errors of keys, budgets, batches, searches, portfolios and webhooks, which no lookup form has.
    "ARQUIVOS_NA_FILA",
    "ARQUIVO_EM_PREPARO",
    "ARQUIVO_ILEGIVEL",
    "BUSCA_INDISPONIVEL",
    "CHAVE_NAO_ADMINISTRA",
    "CLIENTE_OBRIGATORIO",
    "CORPO_INVALIDO",
    "COTACAO_MUDOU",
    "CURSOR_DE_OUTRO_MES",
    "ENDERECO_NAO_PERMITIDO",
    "ESPACO_DA_CONTA",
    "ESTADO_DO_LOTE",
    "FILTRO_OBRIGATORIO",
    "LOTES_ABERTOS_DEMAIS",
    "LOTE_APAGADO",
    "LOTE_NAO_ENCONTRADO",
    "MARCA_COM_CPF",
    "OPERACAO_NAO_PERMITIDA",
    "SEM_ESPACO",
    "ORCAMENTOS_DEMAIS",
    "ORCAMENTO_COM_DONO",
    "ORCAMENTO_NAO_ENCONTRADO",
    "API_KEY_INVALIDA",
    "LIMITE_EXCEDIDO",
    "CND_POS_PAGO_NAO_HABILITADO",
    "PARAMETRO_REPETIDO",
    "ESTRATEGIA_INVALIDA",
    "DOCUMENTOS_CONFLITANTES",
    "PARAMETROS_CONFLITANTES",
    "COMPROVANTE_NAO_ENCONTRADO",
    "OPERACAO_NAO_ENCONTRADA",
    "ROTA_NAO_ENCONTRADA",
    "METODO_NAO_PERMITIDO",
    "REQUISICAO_GRANDE_DEMAIS",
    "REQUISICAO_INVALIDA",
    "TIPO_NAO_SUPORTADO",
    "WEBHOOK_DESLIGADO",
    "CARTEIRA_CHEIA",
    "RELOGIO_AVANCANDO",
    "CALENDARIO_NAO_ENCONTRADO",
    "CALENDARIOS_DEMAIS",
    "CERTIDAO_NAO_ENCONTRADA",
    "CURSOR_INVALIDO",
    "CURSOR_VENCIDO",
    "ENTREGA_NAO_ENCONTRADA",
    "ITEM_NAO_ENCONTRADO",
    "OPTIN_NAO_HABILITADO",
    "REENVIO_EM_ANDAMENTO",
    "RESULTADO_INDISPONIVEL",
    "SERVICO_INDISPONIVEL",
    "WEBHOOKS_DEMAIS",
    "WEBHOOK_NAO_ENCONTRADO",
}


def test_every_code_has_a_text() -> None:
    for code, kind in errors_by_code().items():
        assert kind.notice or kind.field or code in _ELSEWHERE, code


def test_unknown_codes_show_the_api_s_message() -> None:
    assert outcomes.notice_for_code("NOVO", "Um texto.").text == "Um texto."
    unserved = outcomes.notice_for_code("SERVICO_INDISPONIVEL", "Nenhuma fonte responde.")
    assert unserved.text == "Nenhuma fonte responde."


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1, "1 segundo"), (42, "42 segundos"), (3600, "60 minutos"), (43_200, "12 horas")],
)
def test_waits_are_shown_in_fitting_units(seconds: int, text: str) -> None:
    assert outcomes._wait(seconds) == text


@pytest.mark.parametrize(
    ("quote", "available", "expected"),
    [
        (
            Quote(0, 2, "source"),
            10,
            "Até 2 créditos se a fonte responder. Falhas não são cobradas.",
        ),
        (
            Quote(0, 2, "source"),
            None,
            "Até 2 créditos se a fonte responder. Falhas não são cobradas.",
        ),
        (
            Quote(0, 2, "source"),
            1,
            "Esta consulta precisa de 2 créditos disponíveis. Disponíveis: 1.",
        ),
        (
            Quote(0, 1, "source"),
            0,
            "Esta consulta precisa de 1 crédito disponível. Disponíveis: 0.",
        ),
        (
            Quote(0, 0, "cache", at_hand=True, code="SEM_RESULTADO_EM_CACHE"),
            10,
            "Não há certidão guardada válida: sem resultado e sem custo.",
        ),
        (
            Quote(1, 1, "cache", at_hand=True, asked_ms=ASKED_MS),
            10,
            "Há um resultado guardado de 12/11/2026: 1 crédito.",
        ),
    ],
)
def test_prices_of_certificates(quote: Quote, available: int | None, expected: str) -> None:
    form = FORMS["certidao-federal"]
    asked = _question(form, OPERATIONS[form.subject], _typed(form.slug, cnpj="90010001000100"))
    assert outcomes.price(asked, quote, available, ASKED_MS + DAY_MS).text == expected


@pytest.mark.parametrize(
    ("slug", "uf", "quote", "expected"),
    [
        (
            "empresa",
            "",
            Quote(1, 1, "own", at_hand=True, asked_ms=ASKED_MS),
            "A resposta está na nossa cópia do mês: 1 crédito.",
        ),
        (
            "empresa",
            "",
            Quote(0, 0, "own", at_hand=True, code="CNPJ_NAO_ENCONTRADO"),
            "não existe: sem custo",
        ),
        (
            "suframa",
            "",
            Quote(1, 1, "cache", at_hand=True, asked_ms=ASKED_MS),
            "Há um resultado guardado de 12/11/2026: 1 crédito.",
        ),
        (
            "inscricoes-estaduais",
            "BR",
            Quote(27, 27, "cache", at_hand=True, asked_ms=ASKED_MS),
            "Há resultados guardados das 27 UFs, desde 12/11/2026: 27 créditos.",
        ),
    ],
)
def test_prices_of_the_others(slug: str, uf: str, quote: Quote, expected: str) -> None:
    form = FORMS[slug]
    asked = _question(form, OPERATIONS[form.subject], _typed(slug, cnpj="90010001000100", uf=uf))
    assert expected in outcomes.price(asked, quote, None, ASKED_MS + DAY_MS).text


@pytest.mark.parametrize(
    ("unserved", "expected"),
    [
        ("SERVICO_INDISPONIVEL", "Nenhuma fonte pode responder esta consulta agora"),
        ("UF_OBRIGATORIA", "Escolha a UF."),
        ("CNPJ_NAO_ENCONTRADO", "não existe: sem custo"),
    ],
)
def test_unserved_lookups_have_no_price(unserved: str, expected: str) -> None:
    form = FORMS["inscricoes-estaduais"]
    asked = _question(form, OPERATIONS[form.subject], _typed(form.slug, cnpj="90010001000100"))
    price = outcomes.price(asked, Quote(0, 1, "source"), 10, ASKED_MS, unserved)
    assert expected in price.text
    assert price.in_button == "sem custo"


# ---- Forms ----


def _question(form: LookupForm, operation: Operation, typed: Mapping[str, str]) -> Question:
    return operation.parse(*request_of(form, operation, typed))


def _typed(slug: str, **fields: str) -> dict[str, str]:
    return dict(blank(FORMS[slug])) | fields


@pytest.mark.parametrize(
    ("slug", "fields", "strategy", "days"),
    [
        ("empresa", {}, "CACHE_PREFERENCIAL", 7),
        ("empresa", {"dias": "30"}, "CACHE_PREFERENCIAL", 30),
        ("empresa", {"dias": ""}, "CACHE_PREFERENCIAL", 7),
        ("empresa", {"onde": "fonte"}, "SO_ONLINE", 7),
        ("suframa", {}, "CACHE_PREFERENCIAL", 25),
        ("suframa", {"onde": "fonte"}, "CACHE_PREFERENCIAL", 0),
        ("certidao-federal", {}, "CACHE_PREFERENCIAL", 0),
        ("certidao-federal", {"modo": "guardado"}, "SO_CACHE", 0),
    ],
)
def test_forms_become_the_operation_s_request(
    slug: str, fields: dict[str, str], strategy: str, days: int
) -> None:
    form = FORMS[slug]
    typed = _typed(slug, cnpj="90.010.001/0001-00", **fields)
    asked = _question(form, OPERATIONS[form.subject], typed)
    assert asked.document.text == "90010001000100"
    assert (asked.strategy, asked.max_age_days) == (strategy, days)
    assert not asked.refresh
    assert asked.deprecated is None


def test_insisting_on_a_certificate() -> None:
    form = FORMS["certidao-federal"]
    operation = OPERATIONS[form.subject]
    typed = _typed(form.slug, cnpj="90010001000100")
    assert _question(form, operation, typed | {"modo": "online"}).refresh
    assert _question(form, operation, typed | {"modo": "nova"}).inquiries[0].reissue
    offered = [value for value, *_ in form.modes("nova")]
    assert offered == ["", "guardado", "nova"]
    assert [value for value, *_ in form.modes("")] == ["", "guardado"]


def test_unknown_fields_are_ignored() -> None:
    typed = filled({"cnpj": " 1 ", "cache_strategy": "SO_ONLINE", "uf": "x" * 500})
    assert typed["cnpj"] == "1"
    assert "cache_strategy" not in typed
    assert len(typed["uf"]) == 100


def test_an_act_is_shown_with_the_source_s_validity() -> None:
    """Contract 4.12."""
    acts = [
        Extension(FEDERAL_SUBJECT, None, "2026-06-20", "2026-06-20", None, 90, "Portaria 1"),
        Extension(STATE_SUBJECT, "SP", "2026-11-12", "2026-11-12", "2027-02-28", None, "Decreto 1"),
    ]
    body = FEDERAL | {"issued_at": "2026-06-20"}
    plain = seen("federal_certificate", body, TRACE, ASKED_MS)
    view = seen("federal_certificate", body, TRACE, ASKED_MS, extensions=acts)
    added = [fact for fact in view.facts if fact not in plain.facts]
    assert added == [
        (
            "Prorrogada por ato até",
            "17/03/2027, por Portaria 1 (informado pelo operador do serviço)",
        )
    ]
    assert [fact for fact in view.facts if fact not in added] == list(plain.facts)
    assert view.headline == plain.headline  # the source's statements are unchanged
    state = msgspec.structs.replace(TRACE, uf="SP")
    facts = dict(seen("state_certificate", STATE, state, ASKED_MS, extensions=acts).facts)
    assert facts["Válida até"] == "01/12/2026"
    assert "28/02/2027, por Decreto 1" in str(facts["Prorrogada por ato até"])
    other = msgspec.structs.replace(TRACE, uf="RJ")
    facts = dict(seen("state_certificate", STATE, other, ASKED_MS, extensions=acts).facts)
    assert "Prorrogada por ato até" not in facts


@pytest.mark.parametrize(
    ("now", "tone", "text"),
    [
        ("2026-12-18 12:00:00", "warn", "Certidão vencida, prorrogada por ato"),
        ("2027-03-17 23:59:59", "warn", "Certidão vencida, prorrogada por ato"),
        ("2027-03-18 00:00:00", "bad", "Certidão vencida"),
    ],
)
def test_an_expired_certificate_may_be_extended(now: str, tone: str, text: str) -> None:
    act = Extension(FEDERAL_SUBJECT, None, "2026-06-20", "2026-06-20", None, 90, "Portaria 1")
    body = FEDERAL | {"issued_at": "2026-06-20"}
    for_it = {"in_force": False, "extensions": [act]}
    headline = seen("federal_certificate", body, TRACE, instant_of(now), **for_it).headline
    assert (headline.tone, headline.text) == (tone, text)
    assert ("Confira o ato" in headline.note) is (tone == "warn")


def test_acts_name_existing_operations() -> None:
    assert {subject for subject, operation in OPERATIONS.items() if operation.issues} >= {
        FEDERAL_SUBJECT,
        STATE_SUBJECT,
    }


def test_every_operation_has_a_form() -> None:
    assert set(BY_SUBJECT) == set(OPERATIONS)
    assert len(FORMS) == len(OPERATIONS)
