"""Forms are read by models: what was typed becomes values, or complaints beside the fields."""

from typing import Annotated

import pytest
from pydantic import Field

from balcao.web.kit.typed import EMAIL, PERSON_NAME, TypedForm, read
from balcao.web.pages.operator.forms import CreditsForm, NewAccountForm, TermsForm


class Invited(TypedForm):
    name: Annotated[str, PERSON_NAME] = Field(alias="nome")
    email: Annotated[str, EMAIL]


def test_spaces_around_do_not_count_and_other_fields_do_not_matter() -> None:
    typed = read(Invited, {"nome": " Ana ", "email": "ana@balcao.test ", "csrf": "x"})
    assert typed == Invited(nome="Ana", email="ana@balcao.test")


def test_each_field_has_its_own_complaint_under_the_form_s_name() -> None:
    """What is left out counts as left empty."""
    wrong = {
        "nome": "Diga o nome, com até 100 caracteres.",
        "email": "O e-mail não parece completo.",
    }
    assert read(Invited, {}) == wrong
    assert read(Invited, {"nome": "a\tb", "email": "ana"}) == wrong


@pytest.mark.parametrize(
    ("form", "complaints"),
    [
        ({"plano": "outro", "teto": "dez"}, {"plano": "Escolha um plano."}),
        (
            {"plano": "gratuito", "teto": "10", "certidoes": "1"},
            {
                "teto": "Só o plano pós-pago tem teto mensal; no gratuito o limite é o saldo.",
                "certidoes": "O plano gratuito nunca inclui as certidões; use pré-pago ou"
                " pós-pago.",
            },
        ),
    ],
)
def test_what_depends_on_the_plan_is_asked_only_of_a_plan(
    form: dict[str, str], complaints: dict[str, str]
) -> None:
    assert read(TermsForm, form) == complaints
    both = complaints | {"tipo": "Escolha para que a conta serve; isso não muda depois."}
    assert read(NewAccountForm, form | {"nome": "acme"}) == both


def test_nothing_that_was_typed_stands_in_a_complaint() -> None:
    said = read(CreditsForm, {"creditos": "52998224725", "motivo": "x" * 501})
    assert said == {"motivo": "Diga por quê, em até 500 caracteres."}
    assert "ana@" not in str(read(Invited, {"nome": "", "email": "ana@"}))
