"""Form and result page of a state certificate."""

import datetime
from collections.abc import Mapping, Sequence

from balcao.core.calendar import civil_day_text
from balcao.core.certificates import Verdict
from balcao.core.errors import CertificateFailed
from balcao.core.extensions import STATE
from balcao.core.ledger import Trace
from balcao.core.notices import Tone
from balcao.core.writing import cnpj, credits, day
from balcao.operations.certificates import page
from balcao.operations.certificates.lookup import PRICES, by_act
from balcao.operations.sheets import RECEIPT, SheetColumns, SheetFact, day_fact, fact, joined
from balcao.operations.views import (
    Body,
    Button,
    Fact,
    Headline,
    RecordedResult,
    RepeatForm,
    ResultView,
    document,
    source_failed,
    truth,
)

FORM = page.form(
    "certidao-estadual",
    "Certidão estadual",
    "Certidão de débitos da secretaria da fazenda de uma UF, por CNPJ, com o comprovante público.",
)
FAILURES = {
    CertificateFailed.code: source_failed(
        "A secretaria da fazenda não respondeu ou deu uma resposta inválida.",
        "Espere alguns minutos e consulte de novo. Se o problema continuar, emita a certidão na"
        " página da secretaria da fazenda.",
    )
}
NEGATIVE = "Certidão negativa não emitida"
VERDICTS: Mapping[Verdict, tuple[str, Tone]] = {
    "CND": ("Certidão negativa", "good"),
    "none": (NEGATIVE, "info"),
}


def words_of(body: Body) -> str:
    """Return the verdict as a short text, the same on all pages and in all tables."""
    return VERDICTS["CND" if body["success"] else "none"][0]


def view(recorded: RecordedResult) -> ResultView:
    """Return the page of a state certificate; document and UF are in the trace only."""
    body, trace, now_ms = recorded.body, recorded.trace, recorded.now_ms
    uf, until = trace.uf or "", body["validade"]
    later = by_act(recorded.extensions, STATE, uf, body)
    cost = PRICES["online"]
    button = Button(
        f"Atualizar online ({credits(cost)})",
        cost,
        "modo",
        "online",
        "Consulta agora a secretaria da fazenda.",
    )
    return ResultView(
        _headline(body, uf, now_ms) if recorded.in_force else page.expired(until, later, now_ms),
        facts=(
            ("CNPJ", document(trace.document)),
            ("UF", uf),
            ("Número", page.figures(body["numero"])),
            ("Código", page.figures(body["codigo"])),
            ("Mensagem fiscal", body["certidao_mensagem"]),
            ("Mensagem da fonte", body["mensagem"]),
            ("Válida até", day(until)),
            *page.by_act(later),
            *_keeping(body, trace, now_ms),
            ("Certidão negativa", truth(body["certidao_negativa"])),
            ("Emitida pela fonte", truth(body["conseguiu_emitir_certidao_negativa"])),
            ("Fonte consultada em", page.moment(body["datahora"])),
        ),
        receipt_id=page.receipt_number(body["print"]),
        receipt_kind="PDF",
        repeat_forms=(RepeatForm([("cnpj", cnpj(trace.document)), ("uf", uf)], [button]),),
    )


def _keeping(body: Body, trace: Trace, now_ms: int) -> Sequence[Fact]:
    """Return the fact until when a good certificate is cached: the day before its last one."""
    until = body["validade"] if body["success"] else None
    if not until or trace.asked_ms is None:
        return page.keeping(None, None)
    last = (datetime.date.fromisoformat(until) - datetime.timedelta(days=1)).isoformat()
    if last < civil_day_text(trace.asked_ms):
        return page.keeping(None, None)
    return page.keeping(day(last), civil_day_text(now_ms) > last)


def _headline(body: Body, uf: str, now_ms: int) -> Headline:
    if body["success"]:
        until = body["validade"]
        note = "" if until else "A fonte não informou a validade."
        return page.in_force(f"{words_of(body)} ({uf})", note, until, now_ms)
    reason = body["mensagem"] or body["certidao_mensagem"] or ""
    return Headline(
        "bad",
        f"{words_of(body)} ({uf})",
        f"{reason.rstrip('.')}. Procure a secretaria da fazenda de {uf}."
        if reason
        else f"A secretaria da fazenda de {uf} não informou o motivo. Entre em contato com ela.",
    )


def _said(body: Body) -> str | None:
    return joined(body.get("certidao_mensagem"), body.get("mensagem"), by=" · ")


SHEET_COLUMNS = SheetColumns(
    outcome=page.outcome_of(words_of),
    facts=(
        page.outcome_fact(words_of),
        day_fact("valida_ate", "validade", "Válida até", "Último dia de validade."),
        fact(
            "codigo_de_controle",
            "codigo",
            "Código de controle",
            "Código para conferir a certidão na página do estado.",
            22,
        ),
        fact("numero", "numero", "Número", "Número da certidão.", 22),
        SheetFact(
            "situacao", "Situação na fonte", "Situação informada pelo estado.", _said, width=40
        ),
        day_fact("consultada_em", "datahora", "Consultada em", "Data da consulta ao estado."),
        RECEIPT,
    ),
)
