"""Forms are read by models: typed texts become values, or errors at their fields."""

from typing import Annotated

import pytest
from pydantic import Field

from balcao.web.kit.typed import EMAIL, NAME, TypedForm, read
from balcao.web.pages.operator.forms import CreditsForm, NewAccountForm, TermsForm


class Invited(TypedForm):
    name: Annotated[str, NAME] = Field(alias="nome")
    email: Annotated[str, EMAIL]


def test_values_are_stripped_and_other_fields_ignored() -> None:
    typed = read(Invited, {"nome": " Ana ", "email": "ana@balcao.test ", "csrf": "x"})
    assert typed == Invited(nome="Ana", email="ana@balcao.test")


def test_each_field_has_its_own_error_by_the_form_s_name() -> None:
    """A missing field counts as empty."""
    wrong = {
        "nome": "O nome deve ter de 1 a 100 caracteres.",
        "email": "Informe um e-mail completo.",
    }
    assert read(Invited, {}) == wrong
    assert read(Invited, {"nome": " ", "email": "ana"}) == wrong


@pytest.mark.parametrize(
    ("form", "complaints"),
    [
        ({"plano": "outro", "teto": "dez"}, {"plano": "Escolha um plano."}),
        (
            {"plano": "gratuito", "teto": "10", "certidoes": "1"},
            {
                "teto": "Só o plano pós-pago tem limite mensal. No gratuito, o limite é o saldo.",
                "certidoes": "O plano gratuito nunca inclui as certidões; use pré-pago ou"
                " pós-pago.",
            },
        ),
    ],
)
def test_fields_that_depend_on_the_plan_need_a_plan(
    form: dict[str, str], complaints: dict[str, str]
) -> None:
    assert read(TermsForm, form) == complaints
    both = complaints | {"tipo": "Escolha o tipo da conta. Ele não pode ser mudado depois."}
    assert read(NewAccountForm, form | {"nome": "acme"}) == both


def test_no_error_repeats_the_typed_text() -> None:
    answer = read(CreditsForm, {"creditos": "52998224725", "motivo": "x" * 501})
    assert answer == {"motivo": "Informe o motivo, em até 500 caracteres."}
    assert "ana@" not in str(read(Invited, {"nome": "", "email": "ana@"}))
