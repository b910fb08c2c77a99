"""Tax clearance certificates: whether there is one, until when it holds, and its receipt."""

import datetime
from collections.abc import Sequence

from balcao.core.certificates import CertificateType
from balcao.core.ledger import Trace
from balcao.subjects import federal_certificate, state_certificate
from balcao.web.forms import Form
from balcao.web.results import (
    REGISTER_FIGURES,
    Again,
    Body,
    Fact,
    Verdict,
    View,
    document,
    receipt_number,
    truth,
)
from balcao.web.texts import cnpj, credits, day, instant

_KINDS: dict[CertificateType, tuple[str, str, str]] = {
    "CND": ("good", "Certidão negativa (CND)", "Não há débitos"),
    "CPEND": (
        "good",
        "Positiva com efeitos de negativa (CPEND)",
        "Há débitos, suspensos ou garantidos: vale como a negativa",
    ),
    "CPD": (
        "bad",
        "Certidão positiva (CPD)",
        "Há débitos em aberto. Regularize-os ou procure a Receita Federal e a PGFN, e consulte"
        " de novo: o resultado muda depois da regularização.",
    ),
}
_IMPOSSIBLE = (
    "A Receita Federal não pôde emitir a certidão pela internet. Costuma haver pendências a"
    " resolver no e-CAC ou em uma unidade de atendimento."
)
_UNCLASSIFIED = "A fonte deu um resultado que não é CND nem CPEND. Leia o texto da certidão abaixo."


def federal(form: Form, body: Body, trace: Trace, *, in_force: bool = True) -> View:
    """The federal joint certificate. Not `in_force`: it has expired since."""
    number = body.get("cnpj") or body.get("cpf")
    return View(
        _expired(body["effective_validity"]) if not in_force else _federal_verdict(body),
        facts=(
            ("CPF" if body.get("cpf") else "CNPJ", document(number)),
            ("Nome", body["corporate_name"]),
            ("Título", body["certificate"]),
            ("Tipo", body["certificate_type"]),
            ("Código de controle", _figures(body["certificate_code"])),
            ("Situação", body["status"]),
            ("Emitida em", day(body["issued_at"])),
            ("Válida até", day(body["effective_validity"])),
            *_extension(body),
            ("Servida do cache até", day(body["valid_until"])),
            ("Débitos na Receita Federal", truth(body["rfb_debts"])),
            ("Débitos na PGFN (dívida ativa)", truth(body["pgfn_debts"])),
            ("Fonte consultada em", _moment(body["source_queried_at"])),
            ("Entregue em", _moment(body["served_at"])),
            ("Código do comprovante", _figures(body["receipt_verification_code"])),
        ),
        receipt_id=receipt_number(body["print"]),
        receipt_kind="HTML" if "html" in body["receipt_type"] else "PDF",
        again=_federal_again(body),
    )


def _extension(body: Body) -> Sequence[Fact]:
    if not body["extended_validity"]:
        return ()
    return (
        ("Validade original", day(body["validity"])),
        ("Prorrogada até", day(body["extended_validity"])),
    )


def _federal_verdict(body: Body) -> Verdict:
    kind = body["certificate_type"]
    if kind in _KINDS:
        tone, text, note = _KINDS[kind]
        until = body["effective_validity"]
        if tone != "good":
            return Verdict(tone, text, note)
        return Verdict(tone, text, f"{note}. Válida até {day(until)}." if until else f"{note}.")
    if kind or body["certificate"]:
        return Verdict("warn", kind or body["certificate"], _UNCLASSIFIED)
    return Verdict("warn", "Certidão não emitida", _IMPOSSIBLE)


def _federal_again(body: Body) -> Sequence[Again]:
    online = credits(federal_certificate.PRICES["online"])
    buttons = [(f"Atualizar online ({online})", "online"), (f"Nova emissão ({online})", "nova")]
    if person := body.get("cpf"):
        return [Again([("quem", "cpf"), ("cpf", person)], buttons, needs_birth=True)]
    return [Again([("quem", "cnpj"), ("cnpj", body["cnpj"])], [button]) for button in buttons]


def state(form: Form, body: Body, trace: Trace, *, in_force: bool = True) -> View:
    """A state certificate; its answer does not repeat who and where, which the trace knows."""
    uf, until = trace.uf or "", body["validade"]
    online = credits(state_certificate.PRICES["online"])
    return View(
        _expired(until) if not in_force else _state_verdict(body, uf),
        facts=(
            ("CNPJ", document(trace.document)),
            ("UF", uf),
            ("Número", _figures(body["numero"])),
            ("Código", _figures(body["codigo"])),
            ("Mensagem fiscal", body["certidao_mensagem"]),
            ("Mensagem da fonte", body["mensagem"]),
            ("Válida até", day(until)),
            ("Servida do cache até", _day_before(until) if body["success"] else None),
            ("Certidão negativa", truth(body["certidao_negativa"])),
            ("Emitida pela fonte", truth(body["conseguiu_emitir_certidao_negativa"])),
            ("Fonte consultada em", _moment(body["datahora"])),
        ),
        receipt_id=receipt_number(body["print"]),
        receipt_kind="PDF",
        again=(
            Again(
                [("cnpj", cnpj(trace.document)), ("uf", uf)],
                [(f"Atualizar online ({online})", "online")],
            ),
        ),
    )


def _state_verdict(body: Body, uf: str) -> Verdict:
    if body["success"]:
        until = body["validade"]
        note = f"Válida até {day(until)}." if until else "A fonte não disse até quando ela vale."
        return Verdict("good", f"Certidão negativa ({uf})", note)
    reason = body["mensagem"] or body["certidao_mensagem"] or ""
    return Verdict(
        "bad",
        f"Certidão negativa não emitida ({uf})",
        f"{reason.rstrip('.')}. Procure a secretaria da fazenda de {uf}."
        if reason
        else f"A secretaria da fazenda de {uf} não disse o motivo. Procure-a.",
    )


def _expired(until: str | None) -> Verdict:
    return Verdict(
        "bad",
        "Certidão vencida",
        f"Venceu em {day(until)} e não serve mais como prova. Consulte de novo.",
    )


def _figures(text: str | None) -> object:
    return REGISTER_FIGURES.format(text) if text else None


def _moment(text: str | None) -> str | None:
    """`YYYY-MM-DD HH:mm:ss`, or with its offset, as people write it."""
    if not text:
        return None
    try:
        at = datetime.datetime.fromisoformat(text)
    except ValueError:
        return text
    if at.tzinfo is None:  # Brasília's clock already
        return f"{day(at.date())} às {at:%H:%M}"
    return instant(round(at.timestamp() * 1000))


def _day_before(until: str | None) -> str | None:
    if not until:
        return None
    return day(datetime.date.fromisoformat(until) - datetime.timedelta(days=1))
