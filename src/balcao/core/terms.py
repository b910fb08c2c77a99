"""Validation of an account's terms as set by an operator, for terminal and web application.

Problems are sentences for the operator without a capital letter: the command line puts the name of
its argument before them.
"""

from balcao.core.access import Account, Plan
from balcao.core.ledger import Audit, Change, TopUp
from balcao.core.names import name_problem
from balcao.core.people import Signature
from balcao.core.request_tags import CPF_IN_NAME, contains_cpf

ACCOUNT_NAME_CHARACTERS_MAX = 100
CREDITS_MAX = 1_000_000_000_000
REASON_CHARACTERS_MAX = 500


def account_name_problem(name: str) -> str | None:
    """Return the error in an account's name, or None; it must not look like a number."""
    if not name.strip() or name != name.strip():
        return "não pode ser vazio, nem começar ou terminar com espaço."
    if name.isdecimal():
        return "não pode ser só um número, porque toda conta já tem um número."
    if name.startswith("-"):
        return "não pode começar com hífen."
    return name_problem(name, ACCOUNT_NAME_CHARACTERS_MAX)


def ceiling_problem(plan: Plan, ceiling_credits: int | None) -> str | None:
    """Return the error in a ceiling, which only a post-paid account has, or None."""
    if ceiling_credits is None:
        return None
    if plan != "pos_pago":
        return f"só o plano pos_pago tem limite mensal. No {plan}, o limite é o saldo."
    if not 0 <= ceiling_credits <= CREDITS_MAX:
        return "não pode ser menor que zero, nem maior que um trilhão."
    return None


def certificates_problem(plan: Plan, *, by_contract: bool) -> str | None:
    """Return the error if the free plan is to include certificates (contract 7.1), or None."""
    if by_contract and plan == "gratuito":
        return "o plano gratuito nunca inclui as certidões; use pre_pago ou pos_pago."
    return None


def includes_certificates(plan: Plan, *, by_contract: bool) -> bool:
    """Return whether an account may request certificates: by contract, or as a prepaid one."""
    return by_contract or plan == "pre_pago"


def credits_problem(credits: int) -> str | None:
    """Return the error in a number of credits given, or taken back if negative, or None."""
    if credits == 0:
        return "deve ser diferente de zero."
    if abs(credits) > CREDITS_MAX:
        return "é grande demais."
    return None


def reason_problem(reason: str) -> str | None:
    """Return the error in a reason, which is stored in the ledger permanently, or None."""
    if not reason or not reason.isprintable() or len(reason) > REASON_CHARACTERS_MAX:
        return f"informe o motivo, em até {REASON_CHARACTERS_MAX} caracteres."
    return CPF_IN_NAME if contains_cpf(reason) else None


def top_up(
    account: Account, credits: int, reason: str, signed: Signature, now_ms: int
) -> tuple[Change, ...]:
    """Return the changes that give credits, or take them back, with the audit log's entry."""
    detail = f"{credits:+d} créditos: {reason}"
    return (
        Audit(signed, "credit.add", account.account_id, f"conta {account.name}", detail, now_ms),
        TopUp(account.account_id, credits, reason, now_ms),
    )
