"""The operators' forms: idempotency, and how accounts, terms and credits are read."""

from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationInfo

from balcao.core.access import PLAN_WORDS, Plan
from balcao.core.errors import InvalidParameter
from balcao.core.people import Signature, is_email
from balcao.core.questions import Mode
from balcao.core.terms import (
    account_name_problem,
    ceiling_problem,
    certificates_problem,
    credits_problem,
    includes_certificates,
    reason_problem,
)
from balcao.storage.people import Terms
from balcao.web.kit.context import PageContext
from balcao.web.kit.typed import TypedForm, checked_name, one_of, whole_number
from balcao.web.kit.words.vocabulary import MODES

_FORM_ID_CHARACTERS = range(16, 65)


def once(context: PageContext) -> Signature:
    """Return this operator's signature, valid once. Raises `InvalidParameter` without a form
    number.
    """
    form_id = context.typed("form_id")
    if len(form_id) not in _FORM_ID_CHARACTERS:
        raise InvalidParameter(
            "O formulário chegou incompleto e nada foi feito. Volte, recarregue a página e envie"
            " de novo."
        )
    return context.signature(form_id)


def _refuse(problem: str | None) -> None:
    """Raise the command line's complaint as a sentence, with the plans' display names."""
    if problem is not None:
        for plan, name in PLAN_WORDS.items():
            problem = problem.replace(plan, name)
        raise ValueError(problem[:1].upper() + problem[1:])


def _ceiling(text: str, info: ValidationInfo) -> int | None:
    if not text or "plan" not in info.data:
        return None
    if (ceiling := whole_number(text)) is None:
        raise ValueError("Informe um número inteiro ou deixe em branco.")
    _refuse(ceiling_problem(info.data["plan"], ceiling))
    return ceiling


def _by_contract(text: str, info: ValidationInfo) -> bool:
    if "plan" in info.data:
        _refuse(certificates_problem(info.data["plan"], by_contract=text == "1"))
    return text == "1"


def _is_ticked(text: str) -> bool:
    return text == "1"


def _account_name(text: str) -> str:
    _refuse(account_name_problem(text))
    return text


def _credits(text: str) -> int:
    if (credits := whole_number(text)) is None:
        raise ValueError("Informe um número inteiro, como 1000 ou -50.")
    _refuse(credits_problem(credits))
    return credits


def _reason(text: str) -> str:
    _refuse(reason_problem(text))
    return text


class TermsForm(TypedForm):
    """An account's terms. Fields that depend on the plan follow it."""

    plan: Annotated[Plan, one_of(PLAN_WORDS, "Escolha um plano.")] = Field(alias="plano")
    ceiling_credits: Annotated[int | None, BeforeValidator(_ceiling)] = Field(alias="teto")
    by_contract: Annotated[bool, BeforeValidator(_by_contract)] = Field(alias="certidoes")
    partner_optin: Annotated[bool, BeforeValidator(_is_ticked)] = Field(alias="optin")

    @property
    def terms(self) -> Terms:
        included = includes_certificates(self.plan, by_contract=self.by_contract)
        return Terms(self.plan, included, self.partner_optin, self.ceiling_credits)


def _credits_or_none(text: str) -> int | None:
    if not text:
        return None
    if (credits := _credits(text)) < 0:
        raise ValueError("Uma conta nova não tem créditos para retirar.")
    return credits


def _person(text: str, info: ValidationInfo) -> str:
    """Check that name and e-mail of the first person are both given, or neither."""
    other = info.data.get("manager_name", "")
    if bool(text) != bool(other):
        raise ValueError("Informe o nome e o e-mail ou deixe os dois em branco.")
    if text and not is_email(text):
        raise ValueError("Informe um e-mail completo.")
    return text


def _name_or_nothing(text: str) -> str:
    return checked_name(text) if text else text


class NewAccountForm(TermsForm):
    """The form of a new account, with its first credits and first person, both optional."""

    name: Annotated[str, BeforeValidator(_account_name)] = Field(alias="nome")
    mode: Annotated[
        Mode, one_of(MODES, "Escolha o tipo da conta. Ele não pode ser mudado depois.")
    ] = Field(alias="tipo")
    credits: Annotated[int | None, BeforeValidator(_credits_or_none)] = Field(alias="creditos")
    manager_name: Annotated[str, BeforeValidator(_name_or_nothing)] = Field(alias="pessoa")
    manager_email: Annotated[str, BeforeValidator(_person)] = Field(alias="email")


class CreditsForm(TypedForm):
    """Credits added, or if negative taken back, and the reason."""

    credits: Annotated[int, BeforeValidator(_credits)] = Field(alias="creditos")
    reason: Annotated[str, BeforeValidator(_reason)] = Field(alias="motivo")
