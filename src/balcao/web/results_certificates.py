"""Tax clearance certificates: whether there is one, until when it holds, and its receipt."""

import datetime
from collections.abc import Sequence

from balcao.core.calendar import civil_day, civil_day_text, day_starts_ms
from balcao.core.certificates import SHORT_CACHE_MS, CertificateType
from balcao.core.ledger import Trace
from balcao.core.writing import cnpj, credits, day, instant
from balcao.operations.federal_certificate import operation as federal_certificate
from balcao.operations.state_certificate import operation as state_certificate
from balcao.web.forms import Form
from balcao.web.results import (
    REGISTER_FIGURES,
    Again,
    Body,
    Button,
    Fact,
    Verdict,
    View,
    document,
    receipt_number,
    truth,
)

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


def federal(form: Form, body: Body, trace: Trace, now_ms: int, *, in_force: bool = True) -> View:
    """The federal joint certificate. Not `in_force`: it has expired since."""
    number = body.get("cnpj") or body.get("cpf")
    verification = body["receipt_verification_code"]
    until = body["effective_validity"]
    return View(
        _federal_verdict(body, trace, now_ms) if in_force else _expired(until),
        facts=(
            ("CPF" if body.get("cpf") else "CNPJ", document(number)),
            ("Nome", body["corporate_name"]),
            ("Título", body["certificate"]),
            ("Tipo", body["certificate_type"]),
            ("Código de controle", _figures(body["certificate_code"])),
            ("Situação", body["status"]),
            ("Emitida em", day(body["issued_at"])),
            ("Válida até", day(until)),
            *_extension(body),
            *_federal_keeping(body, trace, now_ms),
            ("Débitos na Receita Federal", truth(body["rfb_debts"])),
            ("Débitos na PGFN (dívida ativa)", truth(body["pgfn_debts"])),
            ("Fonte consultada em", _moment(body["source_queried_at"])),
            ("Entregue em", _moment(body["served_at"])),
            (
                "Código do comprovante",
                _figures(verification) if verification != body["certificate_code"] else None,
            ),
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


def _federal_keeping(body: Body, trace: Trace, now_ms: int) -> Sequence[Fact]:
    """Until when the same question costs less: negative results for an hour of the same day."""
    until, asked_ms = body["valid_until"], trace.asked_ms
    if body["success"]:
        return _keeping(day(until) if until else None, until and civil_day_text(now_ms) > until)
    if asked_ms is None:
        return ()
    tomorrow = civil_day(asked_ms) + datetime.timedelta(days=1)
    until_ms = min(asked_ms + SHORT_CACHE_MS, day_starts_ms(tomorrow))
    at = instant(until_ms).rpartition(" ")[2]  # it is within the hour, so that is enough
    return _keeping(at, now_ms >= until_ms)


def _keeping(until: str | None, is_over: bool | None) -> Sequence[Fact]:
    kept, online = (credits(federal_certificate.PRICES[path]) for path in ("cache", "online"))
    if until is None:
        return (("Guardada", f"Não fica guardada: a próxima consulta custa {online}"),)
    if is_over:
        return (("Guardada", f"Não está mais guardada: a próxima consulta custa {online}"),)
    return (("Guardada até", f"{until}; até lá, outra consulta custa {kept}"),)


def _federal_verdict(body: Body, trace: Trace, now_ms: int) -> Verdict:
    kind = body["certificate_type"]
    if kind in _KINDS:
        tone, text, note = _KINDS[kind]
        number = body.get("cnpj")
        branch = "" if not number or "/0001-" in number else " Vale para a matriz e as filiais."
        if tone != "good":
            return Verdict(tone, text, note + branch)
        verdict = _in_force(text, f"{note}.", body["effective_validity"], now_ms)
        return Verdict(verdict.tone, text, f"{verdict.note}{_copy(body, trace)}{branch}")
    if kind or body["certificate"]:
        return Verdict("warn", kind or body["certificate"], _UNCLASSIFIED)
    return Verdict("warn", "Certidão não emitida", _IMPOSSIBLE)


def _in_force(text: str, note: str, until: str | None, now_ms: int) -> Verdict:
    """Of a certificate that proves something today: whether also tomorrow."""
    if not until:
        return Verdict("good", text, note)
    if until[:10] == civil_day_text(now_ms):
        return Verdict("warn", text, f"{note} Vence hoje, {day(until)}.".lstrip())
    return Verdict("good", text, f"{note} Válida até {day(until)}.".lstrip())


def _copy(body: Body, trace: Trace) -> str:
    """Whether the source gave again what it had issued before it was asked."""
    issued, asked_ms = body["issued_at"], trace.asked_ms
    if not issued or asked_ms is None or issued[:10] >= civil_day_text(asked_ms):
        return ""
    return f" 2ª via, emitida em {day(issued)}."


def _federal_again(body: Body) -> Sequence[Again]:
    cost = federal_certificate.PRICES["online"]
    buttons = [
        Button(f"{text} ({credits(cost)})", cost, "modo", mode, hint)
        for text, mode, hint in (
            ("Atualizar online", "online", "Procura na fonte a certidão que ainda vale (2ª via)."),
            ("Nova emissão", "nova", "Pede à fonte outra certidão."),
        )
    ]
    if person := body.get("cpf"):
        return [Again([("quem", "cpf"), ("cpf", person)], buttons, needs_birth=True)]
    return [Again([("quem", "cnpj"), ("cnpj", body["cnpj"])], [button]) for button in buttons]


def state(form: Form, body: Body, trace: Trace, now_ms: int, *, in_force: bool = True) -> View:
    """A state certificate; its answer does not repeat who and where, which the trace knows."""
    uf, until = trace.uf or "", body["validade"]
    cost = state_certificate.PRICES["online"]
    button = Button(
        f"Atualizar online ({credits(cost)})",
        cost,
        "modo",
        "online",
        "Consulta agora a secretaria da fazenda.",
    )
    return View(
        _state_verdict(body, uf, now_ms) if in_force else _expired(until),
        facts=(
            ("CNPJ", document(trace.document)),
            ("UF", uf),
            ("Número", _figures(body["numero"])),
            ("Código", _figures(body["codigo"])),
            ("Mensagem fiscal", body["certidao_mensagem"]),
            ("Mensagem da fonte", body["mensagem"]),
            ("Válida até", day(until)),
            *_state_keeping(body, trace, now_ms),
            ("Certidão negativa", truth(body["certidao_negativa"])),
            ("Emitida pela fonte", truth(body["conseguiu_emitir_certidao_negativa"])),
            ("Fonte consultada em", _moment(body["datahora"])),
        ),
        receipt_id=receipt_number(body["print"]),
        receipt_kind="PDF",
        again=(Again([("cnpj", cnpj(trace.document)), ("uf", uf)], [button]),),
    )


def _state_keeping(body: Body, trace: Trace, now_ms: int) -> Sequence[Fact]:
    """Only positive results with a validity are kept, until the day before it."""
    until = body["validade"] if body["success"] else None
    if not until or trace.asked_ms is None:
        return _keeping(None, None)
    last = (datetime.date.fromisoformat(until) - datetime.timedelta(days=1)).isoformat()
    if last < civil_day_text(trace.asked_ms):
        return _keeping(None, None)
    return _keeping(day(last), civil_day_text(now_ms) > last)


def _state_verdict(body: Body, uf: str, now_ms: int) -> Verdict:
    if body["success"]:
        until = body["validade"]
        note = "" if until else "A fonte não disse até quando ela vale."
        return _in_force(f"Certidão negativa ({uf})", note, until, now_ms)
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
