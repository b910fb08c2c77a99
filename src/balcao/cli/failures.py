"""Refusals of commands, and the text for expected errors."""

from balcao.examination import failures


class CommandFailed(Exception):
    """The command cannot be carried out. The text is written for the operator."""


def refuse(problem: str | None, where: str) -> None:
    """Report wrong usage, if there is a problem with this argument or option."""
    if problem is not None:
        import typer

        raise typer.BadParameter(problem, param_hint=where)


def refuse_invisible(text: str, characters_max: int, where: str) -> None:
    """Refuse a name that is empty, too long, or not visible on one line."""
    if not text.strip() or not text.isprintable() or len(text) > characters_max:
        refuse(f"deve ter até {characters_max} caracteres visíveis.", where)
    refuse_person(text, where)


def refuse_person(text: str, where: str) -> None:
    """Refuse a text with a CPF, where texts are kept for ever."""
    from balcao.core.marks import CPF_IN_NAME, holds_cpf

    if holds_cpf(text):
        refuse(CPF_IN_NAME, where)


def explain(error: Exception) -> str | None:
    """Return the sentence for an expected error; None for a bug."""
    return str(error) if isinstance(error, CommandFailed) else failures.explain(error)
