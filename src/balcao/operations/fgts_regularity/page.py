"""Form and result page of an employer's regularity with the FGTS."""

from collections.abc import Mapping, Sequence

from balcao.core.certificates import Verdict
from balcao.core.errors import CertificateFailed
from balcao.core.extensions import FGTS
from balcao.core.notices import Tone
from balcao.core.writing import credits, day
from balcao.operations.certificates import page
from balcao.operations.certificates.lookup import PRICES, by_act
from balcao.operations.sheets import RECEIPT, SheetColumns, day_fact, fact, one
from balcao.operations.views import (
    Body,
    Button,
    Fact,
    Headline,
    RecordedResult,
    RepeatForm,
    ResultTable,
    ResultView,
    document,
    source_failed,
)

FORM = page.form(
    "regularidade-fgts",
    "Regularidade do FGTS",
    "Certificado de regularidade do empregador na Caixa (CRF), por CNPJ, com o comprovante.",
)
FAILURES = {
    CertificateFailed.code: source_failed(
        "O portal da Caixa não respondeu ou deu uma resposta inválida.",
        "Espere alguns minutos e consulte de novo. Se o problema continuar, consulte a"
        " regularidade na página da Caixa.",
    )
}
NEGATIVE = "Não regular"
VERDICTS: Mapping[Verdict, tuple[str, Tone]] = {
    "CND": ("Regular", "good"),
    "CPD": ("Irregular", "bad"),
    "none": ("Não comprovada", "warn"),
    "other": ("Não cadastrado", "info"),
}

_SITUATIONS: Mapping[str, tuple[Verdict, str, str]] = {
    "regular": ("CND", "Regular com o FGTS", ""),
    "irregular": (
        "CPD",
        "Irregular com o FGTS",
        "Há pendências na Caixa. Regularize e consulte de novo depois.",
    ),
    "nao_comprovada": (
        "none",
        "Regularidade não comprovada",
        "A Caixa não comprova a regularidade pela internet, o que não prova débitos. O empregador"
        " deve procurar a Caixa.",
    ),
    "nao_cadastrado": (
        "other",
        "Empregador não cadastrado",
        "A Caixa não conhece este empregador, como é normal para quem nunca teve empregados.",
    ),
}


def words_of(body: Body) -> str:
    """Return the situation as a short text, the same on all pages and in all tables."""
    return VERDICTS[_SITUATIONS[body["situation"]][0]][0]


def view(recorded: RecordedResult) -> ResultView:
    """Return the page of a regularity."""
    body, now_ms = recorded.body, recorded.now_ms
    until = body["effective_validity"]
    later = by_act(recorded.extensions, FGTS, None, body)
    return ResultView(
        _headline(body, now_ms) if recorded.in_force else page.expired(until, later, now_ms),
        facts=(
            ("CNPJ", document(body["cnpj"])),
            *_registration(body),
            ("Nome", body["corporate_name"]),
            ("Endereço", body["address"]),
            ("Número do CRF", page.figures(body["certificate_number"])),
            ("Emitido em", day(body["issued_at"])),
            ("Válido de", day(body["valid_from"])),
            ("Válido até", day(until)),
            *page.by_act(later),
            *page.keeping_of(body, recorded.trace.asked_ms, now_ms),
            ("Motivo", body["reason"]),
            ("Fonte consultada em", page.moment(body["source_queried_at"])),
            ("Entregue em", page.moment(body["served_at"])),
        ),
        tables=_history(body),
        receipt_id=page.receipt_number(body["print"]),
        receipt_kind="HTML" if "html" in body["receipt_type"] else "PDF",
        repeat_forms=_again(body),
    )


def _headline(body: Body, now_ms: int) -> Headline:
    verdict, text, note = _SITUATIONS[body["situation"]]
    branch = "A Caixa não conhece a filial. O resultado é o da matriz."
    if body["registration_is_head_office"]:
        note = f"{branch} {note}".rstrip()
    if verdict == "CND":
        return page.in_force(text, note, body["effective_validity"], now_ms)
    return Headline(VERDICTS[verdict][1], text, note)


def _registration(body: Body) -> Sequence[Fact]:
    """Return the fact with the registration, if it is not the CNPJ that was asked."""
    if not body["registration_is_head_office"]:
        return ()
    return (("Inscrição (matriz)", document(body["registration"])),)


def _history(body: Body) -> Sequence[ResultTable]:
    if not body["history"]:
        return ()
    rows = [
        (
            page.figures(each["certificate_number"]),
            day(each["issued_at"]),
            day(each["valid_from"]),
            day(each["valid_until"]),
        )
        for each in body["history"]
    ]
    columns = ("Número", "Emissão", "Válido de", "Válido até")
    return (ResultTable("Certificados da inscrição", columns, rows),)


def _again(body: Body) -> Sequence[RepeatForm]:
    cost = PRICES["online"]
    text = f"Atualizar online ({credits(cost)})"
    button = Button(text, cost, "modo", "online", "Consulta agora a Caixa.")
    return (RepeatForm([("cnpj", body["cnpj"])], [button]),)


SHEET_COLUMNS = SheetColumns(
    outcome=page.outcome_of(words_of),
    facts=(
        page.outcome_fact(
            words_of, "`Regular`, `Irregular`, `Não comprovada` ou `Não cadastrado`."
        ),
        day_fact("valida_ate", "effective_validity", "Válido até", "Último dia de validade."),
        fact("numero", "certificate_number", "Número do CRF", "Número do certificado.", 26),
        day_fact("emitida_em", "issued_at", "Emitido em", "Data da emissão."),
        fact(
            "cnpj_da_certidao",
            "registration",
            "Inscrição",
            "A inscrição do resultado: a da matriz, se a Caixa não conhece a filial.",
        ),
        fact("nome", "corporate_name", "Nome", "Nome do titular, segundo a fonte.", 40),
        fact("motivo", "reason", "Motivo", "Por que não é regular, segundo a Caixa.", 40),
        RECEIPT,
    ),
    name="nome",
    official={"razao_social": one("corporate_name")},
)
