"""Forms as pydantic models: reading fields, and messages next to the wrong ones.

A model's fields have our names, their aliases are the form's; the text of a validator's
`ValueError` is shown next to the field.
"""

import re
from collections.abc import Callable, Container, Mapping
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from balcao.core.names import name_problem
from balcao.core.people import NAME_CHARACTERS_MAX, is_email
from balcao.core.request_tags import CPF_IN_NAME, contains_cpf

_WHOLE = re.compile(r"[-−+]?(?:[0-9]{1,15}|[0-9]{1,3}(?:\.[0-9]{3}){1,4})", re.ASCII)
_CPF_TYPED = f"Isto {CPF_IN_NAME}"

Complaints: TypeAlias = dict[str, str]  # by the field's name in the form


class TypedForm(BaseModel):
    """The checked fields of a form. A missing field counts as empty."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)


F = TypeVar("F", bound=TypedForm)


def read(
    model: type[F], form: Mapping[str, str], context: Mapping[str, Any] | None = None
) -> F | Complaints:
    """Return the form with stripped values, or what is wrong with each field."""
    left_empty = {each.alias or name: "" for name, each in model.model_fields.items()}
    typed = left_empty | {name: text.strip() for name, text in form.items()}
    # Texts stay in the audit log forever, e-mail addresses do not.
    texts = {
        each.alias or name
        for name, each in model.model_fields.items()
        if each.annotation in (str, str | None)
    }
    persons = {name: _CPF_TYPED for name in texts - {"email"} if contains_cpf(typed[name])}
    try:
        valid = model.model_validate(typed, context=context)
    except ValidationError as error:
        wrong = {str(each["loc"][0]): str(each["ctx"]["error"]) for each in error.errors()}
        return wrong | persons
    return persons or valid


def checked(is_right: Callable[[str], bool], complaint: str) -> BeforeValidator:
    """Return a validator for text that satisfies `is_right`."""

    def check(text: str) -> str:
        if not is_right(text):
            raise ValueError(complaint)
        return text

    return BeforeValidator(check)


def one_of(choices: Container[str], complaint: str) -> BeforeValidator:
    """Return a validator for one of these words."""
    return checked(choices.__contains__, complaint)


def checked_name(text: str) -> str:
    """Return the name of a person or a key. Raises `ValueError` for an invalid one."""
    if (problem := name_problem(text, NAME_CHARACTERS_MAX)) is not None:
        raise ValueError(f"O nome {problem}")
    return text


NAME = BeforeValidator(checked_name)
EMAIL = checked(is_email, "Informe um e-mail completo.")


def whole_number(text: str) -> int | None:
    """Return `1000`, `1.000` or `-5` as an int; None for anything else."""
    if not _WHOLE.fullmatch(text):
        return None
    return int(text.replace(".", "").replace("−", "-"))
