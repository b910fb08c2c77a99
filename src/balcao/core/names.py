"""The rule for names that people give: of accounts, users, keys, budgets and batches."""

from balcao.core.errors import InvalidParameter
from balcao.core.request_tags import CPF_IN_NAME, contains_cpf, reject_cpf


def name_problem(name: str, characters_max: int) -> str | None:
    """Return the error in a name, as a sentence after the name of its field; None: it is valid.

    Characters that reverse the direction of text would show another name than the stored one.
    """
    return _form_problem(name, characters_max) or (CPF_IN_NAME if contains_cpf(name) else None)


def check_name(name: str, characters_max: int, field: str) -> None:
    """Raise `InvalidParameter` or `TagWithCpf` for an invalid name."""
    if (problem := _form_problem(name, characters_max)) is not None:
        raise InvalidParameter(f"{field}: {problem}")
    reject_cpf(name, field)


def _form_problem(name: str, characters_max: int) -> str | None:
    if not name.strip() or len(name) > characters_max:
        return f"deve ter de 1 a {characters_max} caracteres."
    if not name.isprintable():
        return (
            "tem caracteres invisíveis, de controle ou que invertem o texto. Apague tudo e digite"
            " o nome de novo."
        )
    return None
