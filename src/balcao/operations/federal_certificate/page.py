"""Form and result page of a federal certificate."""

from collections.abc import Mapping, Sequence

from balcao.core.calendar import civil_day_text
from balcao.core.certificates import Verdict
from balcao.core.extensions import FEDERAL
from balcao.core.ledger import Trace
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
    ResultView,
    document,
    truth,
)

FORM = page.form(
    "certidao-federal",
    "Certidão federal",
    "Débitos de tributos federais e da dívida ativa da União, por CNPJ ou por CPF, com o"
    " comprovante.",
)
NEGATIVE = "Nem CND nem CPEND"
VERDICTS: Mapping[Verdict, tuple[str, Tone]] = {
    "CND": ("CND", "good"),
    "CPEND": ("CPEND", "good"),
    "CPD": ("CPD", "bad"),
    "other": (NEGATIVE, "info"),
    "none": ("Certidão não emitida", "warn"),
}

_KINDS: Mapping[Verdict, tuple[str, str, str]] = {
    "CND": ("good", "Certidão negativa (CND)", "Não há débitos"),
    "CPEND": (
        "good",
        "Positiva com efeitos de negativa (CPEND)",
        "Há débitos suspensos ou garantidos. Vale como negativa",
    ),
    "CPD": (
        "bad",
        "Certidão positiva (CPD)",
        "Há débitos em aberto. Regularize os débitos com a Receita Federal ou a PGFN e consulte"
        " de novo depois.",
    ),
}
_IMPOSSIBLE = (
    "A Receita Federal não pôde emitir a certidão pela internet. Em geral há pendências a"
    " resolver no e-CAC ou em uma unidade de atendimento."
)
_UNCLASSIFIED = "O resultado da fonte não é CND nem CPEND. Leia o texto da certidão abaixo."


def verdict_of(body: Body) -> Verdict:
    """Return the verdict of an answer, as `FederalCertificate.verdict` does of a certificate."""
    kind = body.get("certificate_type")
    known: Verdict | None = next((each for each in _KINDS if each == kind), None)
    if known is not None:
        return known
    return "other" if kind or body.get("certificate") else "none"


def words_of(body: Body) -> str:
    """Return the verdict as a short text, the same on all pages and in all tables."""
    return VERDICTS[verdict_of(body)][0]


def view(recorded: RecordedResult) -> ResultView:
    """Return the page of a federal certificate."""
    body, trace, now_ms = recorded.body, recorded.trace, recorded.now_ms
    number = body.get("cnpj") or body.get("cpf")
    verification = body["receipt_verification_code"]
    until = body["effective_validity"]
    later = by_act(recorded.extensions, FEDERAL, None, body)
    return ResultView(
        _headline(body, trace, now_ms) if recorded.in_force else page.expired(until, later, now_ms),
        facts=(
            ("CPF" if body.get("cpf") else "CNPJ", document(number)),
            *_certified(body),
            ("Nome", body["corporate_name"]),
            ("Título", body["certificate"]),
            ("Tipo", body["certificate_type"]),
            ("Código de controle", page.figures(body["certificate_code"])),
            ("Situação", body["status"]),
            ("Emitida em", day(body["issued_at"])),
            ("Válida até", day(until)),
            *_extension(body),
            *page.by_act(later),
            *page.keeping_of(body, trace.asked_ms, now_ms),
            ("Débitos na Receita Federal", truth(body["rfb_debts"])),
            ("Débitos na PGFN (dívida ativa)", truth(body["pgfn_debts"])),
            ("Fonte consultada em", page.moment(body["source_queried_at"])),
            ("Entregue em", page.moment(body["served_at"])),
            (
                "Código do comprovante",
                page.figures(verification) if verification != body["certificate_code"] else None,
            ),
        ),
        receipt_id=page.receipt_number(body["print"]),
        receipt_kind="HTML" if "html" in body["receipt_type"] else "PDF",
        repeat_forms=_again(body),
    )


def brief(body: Body) -> str:
    """Return the certificate's code."""
    return body["certificate_code"] or ""


def _certified(body: Body) -> Sequence[Fact]:
    """Return the fact with the head office's CNPJ, if a branch's certificate is issued to it."""
    certified = body.get("certificate_cnpj")  # older answers have none
    if not certified or certified == body["cnpj"]:
        return ()
    return (("CNPJ da certidão (matriz)", document(certified)),)


def _is_of_branch(body: Body) -> bool:
    number = body.get("cnpj")
    if body.get("certificate_cnpj"):
        return bool(_certified(body))
    return number is not None and "/0001-" not in number


def _extension(body: Body) -> Sequence[Fact]:
    if not body["extended_validity"]:
        return ()
    return (
        ("Validade original", day(body["validity"])),
        ("Prorrogada até", day(body["extended_validity"])),
    )


def _headline(body: Body, trace: Trace, now_ms: int) -> Headline:
    verdict = verdict_of(body)
    if verdict in _KINDS:
        tone, text, note = _KINDS[verdict]
        branch = " Vale para a matriz e as filiais." if _is_of_branch(body) else ""
        if tone != "good":
            return Headline(tone, text, note + branch)
        usual = page.in_force(text, f"{note}.", body["effective_validity"], now_ms)
        return Headline(usual.tone, text, f"{usual.note}{_copy(body, trace)}{branch}")
    note = _UNCLASSIFIED if verdict == "other" else _IMPOSSIBLE
    return Headline("warn", words_of(body), note)


def _copy(body: Body, trace: Trace) -> str:
    """Return a sentence if the certificate is a second copy, issued before the lookup."""
    issued, asked_ms = body["issued_at"], trace.asked_ms
    if not issued or asked_ms is None or issued[:10] >= civil_day_text(asked_ms):
        return ""
    return f" 2ª via, emitida em {day(issued)}."


def _again(body: Body) -> Sequence[RepeatForm]:
    cost = PRICES["online"]
    buttons = [
        Button(f"{text} ({credits(cost)})", cost, "modo", mode, hint)
        for text, mode, hint in (
            ("Atualizar online", "online", "Busca na fonte a certidão ainda válida (2ª via)."),
            ("Nova emissão", "nova", "Emite outra certidão na fonte."),
        )
    ]
    if person := body.get("cpf"):
        return [RepeatForm([("quem", "cpf"), ("cpf", person)], buttons, needs_birth=True)]
    return [RepeatForm([("quem", "cnpj"), ("cnpj", body["cnpj"])], [button]) for button in buttons]


SHEET_COLUMNS = SheetColumns(
    outcome=page.outcome_of(words_of),
    facts=(
        page.outcome_fact(words_of),
        day_fact("valida_ate", "effective_validity", "Válida até", "Último dia de validade."),
        fact(
            "codigo_de_controle",
            "certificate_code",
            "Código de controle",
            "Código para conferir a certidão na página da Receita Federal.",
            22,
        ),
        day_fact("emitida_em", "issued_at", "Emitida em", "Data da emissão."),
        fact(
            "cnpj_da_certidao",
            "certificate_cnpj",
            "CNPJ da certidão",
            "O da matriz, se a linha é de uma filial.",
        ),
        fact("nome", "corporate_name", "Nome", "Nome do titular, segundo a fonte.", 40),
        fact("situacao", "status", "Situação na fonte", "Situação informada pela fonte.", 26),
        fact("debitos_rfb", "rfb_debts", "Débitos na RFB", "`Sim` ou `Não`.", 14),
        fact("debitos_pgfn", "pgfn_debts", "Débitos na PGFN", "`Sim` ou `Não`.", 14),
        RECEIPT,
    ),
    name="nome",
    official={"razao_social": one("corporate_name")},
)
