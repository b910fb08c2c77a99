"""What an operator may say of an account, at the terminal and in the web application alike.

Problems are sentences for the operator, without a capital: the command line puts the name of its
argument before them.
"""

from balcao.core.access import Account, Plan
from balcao.core.ledger import Audit, Change, TopUp
from balcao.core.marks import CPF_IN_NAME, holds_cpf
from balcao.core.people import Signature

ACCOUNT_NAME_CHARACTERS_MAX = 100
CREDITS_MAX = 1_000_000_000_000
REASON_CHARACTERS_MAX = 500


def name_problem(name: str) -> str | None:
    """A name must be tellable from a number, and print on one line."""
    if not name.strip() or name != name.strip():
        return "não pode ser vazio, nem começar ou terminar com espaço."
    if name.isdecimal():
        return "não pode ser só um número: contas também são chamadas pelo número."
    if not name.isprintable() or len(name) > ACCOUNT_NAME_CHARACTERS_MAX:
        return f"deve ter até {ACCOUNT_NAME_CHARACTERS_MAX} caracteres visíveis."
    if name.startswith("-"):
        return "não pode começar com hífen."
    return CPF_IN_NAME if holds_cpf(name) else None


def ceiling_problem(plan: Plan, ceiling_credits: int | None) -> str | None:
    """Only a post-paid account has a ceiling."""
    if ceiling_credits is None:
        return None
    if plan != "pos_pago":
        return f"só o plano pos_pago tem teto mensal; no {plan} o limite é o saldo."
    if not 0 <= ceiling_credits <= CREDITS_MAX:
        return "não pode ser menor que zero, nem maior que um trilhão."
    return None


def certificates_problem(plan: Plan, *, by_contract: bool) -> str | None:
    """The free plan has none, whatever was agreed (contract 7.1)."""
    if by_contract and plan == "gratuito":
        return "o plano gratuito nunca inclui as certidões; use pre_pago ou pos_pago."
    return None


def includes_certificates(plan: Plan, *, by_contract: bool) -> bool:
    """What is stored: a prepaid account says that it includes what every prepaid one does."""
    return by_contract or plan == "pre_pago"


def credits_problem(credits: int) -> str | None:
    """Credits given, or below zero taken back."""
    if credits == 0:
        return "deve ser diferente de zero."
    if abs(credits) > CREDITS_MAX:
        return "é grande demais."
    return None


def reason_problem(reason: str) -> str | None:
    """Why: it stays in the ledger for ever."""
    if not reason or not reason.isprintable() or len(reason) > REASON_CHARACTERS_MAX:
        return f"diga por quê, em até {REASON_CHARACTERS_MAX} caracteres."
    return CPF_IN_NAME if holds_cpf(reason) else None


def top_up(
    account: Account, credits: int, reason: str, signed: Signature, now_ms: int
) -> tuple[Change, ...]:
    """Give credits, or take them back, with the entry in the audit log: one commit."""
    said = f"{credits:+d} créditos: {reason}"
    return (
        Audit(signed, "credit.add", account.account_id, f"conta {account.name}", said, now_ms),
        TopUp(account.account_id, credits, reason, now_ms),
    )
