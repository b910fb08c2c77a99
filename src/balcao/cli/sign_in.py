"""`balcao open`: print a link that signs an operator in to the web application."""

from collections.abc import Sequence
from typing import Annotated

import typer

from balcao.cli.failures import CommandFailed
from balcao.cli.installation import open_installation, wait_for
from balcao.cli.output import AsJson, Note, program, show
from balcao.core.people import AT_THE_TERMINAL, User, normal_email


def sign_in(
    user: Annotated[
        str | None,
        typer.Argument(
            metavar="OPERADOR", help="E-mail ou número (user list). Opcional se houver só um."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Gera um link para um operador entrar sem senha. A saída padrão traz só o link.

    O link vale por 5 minutos e só pode ser usado uma vez. A auditoria registra a criação e o
    uso. Se o segundo fator estiver ativo, o código continua sendo pedido. Só operadores podem
    entrar assim.

    Exemplo:

      $ balcao open
      $ balcao open voce@exemplo.com.br
    """
    from balcao.accounts.links import SIGN_IN_MINUTES, make_sign_in
    from balcao.accounts.seal import Seal
    from balcao.accounts.secrets import secrets_of
    from balcao.core.addresses import one_time_link

    with open_installation() as local:
        operator = _operator(local.desk.people.users(None), user)
        seal, now = Seal(secrets_of(local.home, local.desk)), local.now_ms()
        people = local.desk.people
        work = make_sign_in(seal, people, operator.user_id, AT_THE_TERMINAL, now)
        link = one_time_link(local.address, wait_for(work))
    note = (
        f"Operador {operator.user_id}. O link vale por {SIGN_IN_MINUTES} minutos e só pode ser"
        " usado uma vez. Quem abrir o link entra como este operador."
    )
    data = {"link": link, "link_minutes": SIGN_IN_MINUTES, "user_id": operator.user_id}
    show(as_json, data, Note(note), link)


def _operator(operators: Sequence[User], who: str | None) -> User:
    """Return the operator to sign in. Raises `CommandFailed`, without e-mail addresses."""
    found = [
        each
        for each in operators
        if each.suspended_ms is None
        and (
            who is None or str(each.user_id) == who or normal_email(each.email) == normal_email(who)
        )
    ]
    if not found:
        raise CommandFailed(
            "Nenhum operador com esse e-mail ou número pode entrar. Operadores existentes:"
            f" {program()} user list. Um novo: {program()} user create EMAIL --name NOME"
            " --operator"
        )
    if len(found) > 1:
        numbers = ", ".join(str(each.user_id) for each in found)
        raise CommandFailed(
            f"Há mais de um operador ({numbers}). Informe qual: {program()} open Nº"
        )
    return found[0]
