"""Numbers of invented companies and people: right ones of companies, wrong ones of people."""

from balcao.core.check_digits import cnpj_check_digits, cpf_check_digits


def cnpj(root: str, order: str) -> str:
    """The full CNPJ of a root (8 characters) and an establishment number (4)."""
    base = root + order
    return base + cnpj_check_digits(base)


def impossible_cpf(nine_digits: int) -> str:
    """A CPF with a first check digit that is wrong, so that it cannot be anybody's.

    `nine_digits` is 0 to 999 999 999.
    """
    # Masked, six zeros would read as "nobody".
    nine_digits += not nine_digits % 1_000_000
    text = f"{nine_digits:09d}"
    right = int(cpf_check_digits(text)[0])
    return f"{text}{(right + 1) % 10}{nine_digits % 10}"


def masked_cpf(cpf: str) -> str:
    """`***456789**`, as the registry publishes it."""
    return f"***{cpf[3:9]}**"
