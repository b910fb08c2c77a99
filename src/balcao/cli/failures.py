"""What a command refuses, and what is said of what goes wrong."""

from balcao.examination import failures


class CommandFailed(Exception):
    """A command cannot do what it was asked. The text is written for the operator."""


def refuse(problem: str | None, where: str) -> None:
    """Wrong usage, if there is a problem with this argument or option."""
    if problem is not None:
        import typer

        raise typer.BadParameter(problem, param_hint=where)


def refuse_invisible(text: str, characters_max: int, where: str) -> None:
    """A name is seen: not empty, not too long, on one line."""
    if not text.strip() or not text.isprintable() or len(text) > characters_max:
        refuse(f"deve ter até {characters_max} caracteres visíveis.", where)
    refuse_person(text, where)


def refuse_person(text: str, where: str) -> None:
    """Refuse a CPF in what is kept for ever."""
    from balcao.core.marks import CPF_IN_NAME, holds_cpf

    if holds_cpf(text):
        refuse(CPF_IN_NAME, where)


def explain(error: Exception) -> str | None:
    """The sentence for an expected error; None for a bug."""
    return str(error) if isinstance(error, CommandFailed) else failures.explain(error)
