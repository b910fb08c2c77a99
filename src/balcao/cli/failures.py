"""Failures of commands, and messages for expected errors."""


class CommandFailed(Exception):
    """An expected failure of a command, with a message for the operator."""


def refuse(problem: str | None, where: str) -> None:
    """Raise `BadParameter` for this argument or option if there is a problem."""
    if problem is not None:
        import typer

        raise typer.BadParameter(problem, param_hint=where)


def refuse_name(text: str, characters_max: int, where: str) -> None:
    """Raise `BadParameter` for an invalid name."""
    from balcao.core.names import name_problem

    refuse(name_problem(text, characters_max), where)


def refuse_person(text: str, where: str) -> None:
    """Raise `BadParameter` for a text with a CPF that would be stored permanently."""
    from balcao.core.request_tags import CPF_IN_NAME, contains_cpf

    if contains_cpf(text):
        refuse(CPF_IN_NAME, where)


def explain(error: Exception) -> str | None:
    """Return the message for an expected error, None for a bug."""
    if isinstance(error, CommandFailed):
        return str(error)
    from balcao.examination import failures

    return failures.explain(error)
