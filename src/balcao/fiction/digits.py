"""Check digits, right ones for CNPJs and wrong ones for the CPFs we invent.

Rule: `cnpj-alfanumerico.md` section 2: a character counts as its ASCII code minus 48. It is
written out here, without `stdnum`, because the generator needs millions of them.
"""


def cnpj_check_digits(base: str) -> str:
    """The two check digits of 12 characters `[0-9A-Z]`."""
    a, b, c, d, e, f, g, h, i, j, k, m = base.encode("ascii")
    # The weights add up to 58 and 62: 48 is taken off every code at once.
    first = (
        (5 * (a + i) + 4 * (b + j) + 3 * (c + k) + 2 * (d + m) + 9 * e + 8 * f + 7 * g + 6 * h)
        - 48 * 58
    ) % 11
    first = 11 - first if first > 1 else 0
    second = (
        (6 * (a + i) + 5 * (b + j) + 4 * (c + k) + 3 * (d + m) + 2 * e + 9 * f + 8 * g + 7 * h)
        - 48 * 62
        + 2 * first
    ) % 11
    second = 11 - second if second > 1 else 0
    return f"{first}{second}"


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
    remainder = sum((10 - i) * int(digit) for i, digit in enumerate(text)) % 11
    right = 11 - remainder if remainder > 1 else 0
    return f"{text}{(right + 1) % 10}{nine_digits % 10}"


def masked_cpf(cpf: str) -> str:
    """`***456789**`, as the registry publishes it."""
    return f"***{cpf[3:9]}**"
