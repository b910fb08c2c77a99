"""Numbers of fictitious companies, with right check digits, and people, with wrong ones."""

from balcao.core.check_digits import cnpj_check_digits, cpf_check_digits


def cnpj(root: str, order: str) -> str:
    """Return the CNPJ of a root (8 characters) and an establishment number (4)."""
    base = root + order
    return base + cnpj_check_digits(base)


def impossible_cpf(nine_digits: int) -> str:
    """Return a CPF with a wrong first check digit, which no real one has.

    `nine_digits` is 0 to 999 999 999.
    """
    # Six zeros in the masked CPF would mean "none".
    nine_digits += not nine_digits % 1_000_000
    text = f"{nine_digits:09d}"
    right = int(cpf_check_digits(text)[0])
    return f"{text}{(right + 1) % 10}{nine_digits % 10}"


def masked_cpf(cpf: str) -> str:
    """Return a CPF masked as in the registry: `***456789**`."""
    return f"***{cpf[3:9]}**"
