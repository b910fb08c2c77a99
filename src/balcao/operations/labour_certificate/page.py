"""Form and result page of a labour certificate."""

from collections.abc import Mapping, Sequence

from balcao.core.certificates import Verdict
from balcao.core.errors import CertificateFailed
from balcao.core.extensions import LABOUR
from balcao.core.notices import Tone
from balcao.core.writing import credits, day
from balcao.operations.certificates import page
from balcao.operations.certificates.lookup import PRICES, by_act
from balcao.operations.sheets import RECEIPT, SheetColumns, SheetFact, day_fact, fact, one
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
    truth,
)

FORM = page.form(
    "certidao-trabalhista",
    "Certidão trabalhista",
    "Débitos não pagos perante a Justiça do Trabalho (CNDT), por CNPJ ou por CPF, com o"
    " comprovante.",
)
FAILURES = {
    CertificateFailed.code: source_failed(
        "O portal da Justiça do Trabalho não respondeu ou deu uma resposta inválida.",
        "Espere alguns minutos e consulte de novo. Se o problema continuar, emita a certidão na"
        " página do TST.",
    )
}
NEGATIVE = "Nem CND nem CPEND"
VERDICTS: Mapping[Verdict, tuple[str, Tone]] = {
    "CND": ("CND", "good"),
    "CPEND": ("CPEND", "good"),
    "CPD": ("CPD", "bad"),
    "none": ("Certidão não emitida", "warn"),
}

_KINDS: Mapping[Verdict, tuple[Tone, str, str]] = {
    "CND": ("good", "Certidão negativa (CNDT)", "Não há débitos trabalhistas."),
    "CPEND": (
        "good",
        "Positiva com efeito de negativa",
        "Há débitos garantidos ou suspensos. Vale como negativa.",
    ),
    "CPD": (
        "bad",
        "Certidão positiva",
        "Há débitos em aberto. Pague ou garanta os débitos nos processos listados e consulte de"
        " novo depois.",
    ),
    "none": ("warn", VERDICTS["none"][0], "O portal não emitiu a certidão deste documento."),
}


def verdict_of(body: Body) -> Verdict:
    """Return the verdict of an answer."""
    kind = body.get("certificate_type")
    return next((each for each in _KINDS if each == kind), "none")


def words_of(body: Body) -> str:
    """Return the verdict as a short text, the same on all pages and in all tables."""
    return VERDICTS[verdict_of(body)][0]


def view(recorded: RecordedResult) -> ResultView:
    """Return the page of a labour certificate."""
    body, now_ms = recorded.body, recorded.now_ms
    until = body["effective_validity"]
    later = by_act(recorded.extensions, LABOUR, None, body)
    return ResultView(
        _headline(body, now_ms) if recorded.in_force else page.expired(until, later, now_ms),
        facts=(
            ("CPF" if body.get("cpf") else "CNPJ", document(body.get("cnpj") or body.get("cpf"))),
            *_certified(body),
            ("Nome", body["corporate_name"]),
            ("Título", body["certificate"]),
            ("Número", page.figures(body["certificate_number"])),
            ("Código", page.figures(body["certificate_code"])),
            ("Emitida em", _issued(body)),
            ("Válida até", day(until)),
            *page.by_act(later),
            *page.keeping_of(body, recorded.trace.asked_ms, now_ms),
            ("Consta no banco de devedores (BNDT)", truth(body["debtor_listed"])),
            ("Processos", body["lawsuits_total"]),
            ("Fonte consultada em", page.moment(body["source_queried_at"])),
            ("Entregue em", page.moment(body["served_at"])),
        ),
        tables=_lawsuits(body),
        receipt_id=page.receipt_number(body["print"]),
        receipt_kind="HTML" if "html" in body["receipt_type"] else "PDF",
        repeat_forms=_again(body),
    )


def _headline(body: Body, now_ms: int) -> Headline:
    tone, text, note = _KINDS[verdict_of(body)]
    covers = " Vale para a matriz e as filiais." if body["covers"] == "empresa" else ""
    if tone == "good":
        usual = page.in_force(text, note, body["effective_validity"], now_ms)
        return Headline(usual.tone, text, f"{usual.note}{covers}")
    return Headline(tone, text, note)


def _certified(body: Body) -> Sequence[Fact]:
    """Return the fact with the CNPJ to which it was issued, if another establishment was asked."""
    certified = body["certificate_cnpj"]
    if not certified or certified == body["cnpj"]:
        return ()
    return (("CNPJ da certidão", document(certified)),)


def _issued(body: Body) -> str | None:
    issued, time = body["issued_at"], body["issued_time"]
    if not issued:
        return None
    return f"{day(issued)} às {time[:5]}" if time else day(issued)


def _lawsuits(body: Body) -> Sequence[ResultTable]:
    if not body["lawsuits"]:
        return ()
    rows = [(page.figures(number),) for number in body["lawsuits"]]
    return (ResultTable("Processos listados", ("Número",), rows),)


def _again(body: Body) -> Sequence[RepeatForm]:
    cost = PRICES["online"]
    text = f"Emitir outra certidão ({credits(cost)})"
    button = Button(text, cost, "modo", "online", "O portal emite uma nova certidão.")
    who = "cpf" if body.get("cpf") else "cnpj"
    return (RepeatForm([("quem", who), (who, body[who])], [button]),)


def _numbers(body: Body) -> str | None:
    return " ".join(body.get("lawsuits") or ()) or None


SHEET_COLUMNS = SheetColumns(
    outcome=page.outcome_of(words_of),
    facts=(
        page.outcome_fact(words_of),
        day_fact("valida_ate", "effective_validity", "Válida até", "Último dia de validade."),
        fact(
            "numero",
            "certificate_number",
            "Número",
            "Número e ano, para conferir a certidão na página do TST.",
            18,
        ),
        day_fact("emitida_em", "issued_at", "Emitida em", "Data da emissão."),
        fact(
            "cnpj_da_certidao",
            "certificate_cnpj",
            "CNPJ da certidão",
            "O do estabelecimento ao qual foi emitida.",
        ),
        fact("nome", "corporate_name", "Nome", "Nome do titular, segundo a fonte.", 40),
        fact("processos", "lawsuits_total", "Processos", "Quantidade de processos.", 12),
        SheetFact(
            "numeros_dos_processos",
            "Números dos processos",
            "Os processos listados na certidão.",
            _numbers,
            width=30,
        ),
        RECEIPT,
    ),
    name="nome",
    official={"razao_social": one("corporate_name")},
)
