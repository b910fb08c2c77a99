"""`balcao user`: manage the users of the web application."""

from collections.abc import Sequence
from typing import Annotated

import typer

from balcao.cli.arguments import one_of
from balcao.cli.failures import CommandFailed, refuse, refuse_name
from balcao.cli.installation import Installation, open_installation, wait_for
from balcao.cli.output import AsJson, Note, TextTable, program, record, show, when
from balcao.core.people import (
    AT_THE_TERMINAL,
    NAME_CHARACTERS_MAX,
    ROLE_WORDS,
    Role,
    User,
    is_email,
    normal_email,
)

app = typer.Typer(no_args_is_help=True)

UserName = Annotated[str, typer.Argument(metavar="USUÁRIO", help="E-mail ou número (user list).")]


def _role(text: str) -> Role:
    """Parse the role of an account's user, in Portuguese or as in the JSON output."""
    roles: Sequence[Role] = ("consultant", "manager")
    word = one_of([*(ROLE_WORDS[role] for role in roles), *roles])(text)
    return next(role for role in roles if word in (role, ROLE_WORDS[role]))


@app.command()
def create(
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="Usado para entrar na aplicação.")],
    *,
    name: Annotated[str, typer.Option(metavar="NOME", help="Nome da pessoa.")],
    account: Annotated[
        str | None, typer.Option(metavar="CONTA", help="Nome ou número da conta do usuário.")
    ] = None,
    role: Annotated[
        Role | None,
        typer.Option(
            parser=_role,
            metavar="PAPEL",
            help="consultor (consulta) ou gestor (também vê créditos e chaves).",
        ),
    ] = None,
    operator: Annotated[
        bool, typer.Option("--operator", help="Operador do serviço, sem conta.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Cria um usuário e mostra o link para escolher a senha. A saída padrão traz só o link.

    O link vale por 72 horas e só pode ser usado uma vez. Entregue apenas à própria pessoa.

    Exemplo:

      $ balcao user create ana@acme.com.br --name "Ana Lima" --account acme --role gestor
      $ balcao user create voce@exemplo.com.br --name "Seu Nome" --operator
    """
    from balcao.storage.people import NewUser

    if not is_email(email):
        refuse("não é um endereço de e-mail.", "EMAIL")
    name = name.strip()
    refuse_name(name, NAME_CHARACTERS_MAX, "--name")
    if operator and (account is not None or role is not None):
        refuse(
            "um operador não pertence a nenhuma conta. Não use --account nem --role.",
            "--operator",
        )
    if not operator and (account is None or role is None):
        raise typer.BadParameter("informe --account CONTA e --role PAPEL, ou --operator.")
    with open_installation() as local:
        number = None if account is None else local.account(account).account_id
        new = NewUser(email, name, role or "operator", number)
        people = local.desk.people
        user = wait_for(people.add_user(new, AT_THE_TERMINAL, local.now_ms()))
        link = _new_link(local, user)
    _show_link(user, link, "criado", as_json, local.settings.public_url)


@app.command("list")
def list_users(
    account: Annotated[
        str | None, typer.Option(metavar="CONTA", help="Só os desta conta (nome ou número).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Lista os operadores e os usuários de cada conta.

    Exemplo:

      $ balcao user list
      $ balcao user list --account acme
    """
    with open_installation() as local:
        if account is None:
            users = _all_users(local)
        else:
            users = local.desk.people.users(local.account(account).account_id)
        names = {one.account_id: one.name for one in local.desk.accounts()}
    table = TextTable(
        users,
        {
            "Nº": "user_id",
            "E-mail": "email",
            "Nome": "name",
            "Conta": lambda user: None if user.account_id is None else names[user.account_id],
            "Papel": lambda user: ROLE_WORDS[user.role],
            "Estado": _state,
            "2º fator": "has_totp",
            "Último uso": "seen_ms",
        },
        numbers=("Nº",),
        foldable=("E-mail", "Nome", "Conta"),
        empty=f"Nenhum usuário. Crie um: {program()} user create --help.",
    )
    show(as_json, [_record(user) for user in users], table)


@app.command()
def link(user: UserName, as_json: AsJson = False) -> None:
    """Mostra um novo link para escolher a senha. Os anteriores deixam de valer.

    Para quem esqueceu a senha ou não usou o primeiro link em 72 horas. A senha atual vale até o
    link ser usado.

    Exemplo:

      $ balcao user link ana@acme.com.br
    """
    with open_installation() as local:
        found = _find(local, user)
        if found.suspended_ms is not None:
            raise CommandFailed(
                f"O usuário {found.user_id} está suspenso. Antes:"
                f" {program()} user resume {found.user_id}"
            )
        made = _new_link(local, found)
    _show_link(found, made, "tem um novo link", as_json, local.settings.public_url)


@app.command()
def suspend(user: UserName, as_json: AsJson = False) -> None:
    """Impede um usuário de entrar e encerra as sessões e os links dele na hora.

    Exemplo:

      $ balcao user suspend ana@acme.com.br
    """
    _suspend(user, True, as_json)


@app.command()
def resume(user: UserName, as_json: AsJson = False) -> None:
    """Volta a deixar entrar um usuário suspenso, com a senha que ele tinha.

    Exemplo:

      $ balcao user resume ana@acme.com.br
    """
    _suspend(user, False, as_json)


@app.command()
def seat(
    user: UserName,
    account: Annotated[str, typer.Argument(metavar="CONTA", help="Nome ou número da conta.")],
    role: Annotated[
        Role, typer.Option(parser=_role, metavar="PAPEL", help="consultor ou gestor, nessa conta.")
    ] = "manager",
    remove: Annotated[bool, typer.Option("--remove", help="Retira o lugar.")] = False,
    as_json: AsJson = False,
) -> None:
    """Dá a um operador acesso a uma conta ou altera o papel dele. Com --remove, remove o acesso.

    O operador mantém a senha e o segundo fator e troca de papel no menu com o próprio nome. As
    consultas feitas pela conta são cobradas dela, com o nome do operador no histórico.

    Exemplo:

      $ balcao user seat voce@exemplo.com.br pre-pago
      $ balcao user seat voce@exemplo.com.br pre-pago --remove
    """
    with open_installation() as local:
        found, where = _find(local, user), local.account(account)
        if found.role != "operator":
            raise CommandFailed(
                f"O usuário {found.user_id} não é operador e só pode ter acesso à própria conta."
            )
        memberships, now, by = local.desk.memberships, local.now_ms(), AT_THE_TERMINAL
        if remove:
            wait_for(memberships.take(found.user_id, where.account_id, by, now))
        else:
            assert role != "operator", "the option reads no such word"
            wait_for(memberships.give(found.user_id, where.account_id, role, by, now))
        held = memberships.of(found.user_id)
    text = f"O operador {found.user_id} não tem acesso à conta {where.name}."
    if not remove:
        word = ROLE_WORDS[role]
        text = f"O operador {found.user_id} tem acesso à conta {where.name}, como {word}."
    memberships_held = [record(each, "account_id role given_ms") for each in held]
    show(as_json, {"user_id": found.user_id, "seats": memberships_held}, text)


@app.command("reset-totp")
def reset_totp(user: UserName, as_json: AsJson = False) -> None:
    """Desativa o segundo fator de quem perdeu o aplicativo autenticador.

    Antes, confirme que o pedido é da própria pessoa.

    Exemplo:

      $ balcao user reset-totp ana@acme.com.br
    """
    with open_installation() as local:
        found = _find(local, user)
        if found.has_totp:
            people = local.desk.people
            wait_for(people.set_totp(found.user_id, None, AT_THE_TERMINAL, local.now_ms()))
        after = _find(local, str(found.user_id))
    text = f"O usuário {found.user_id} já não tinha segundo fator."
    if found.has_totp:
        text = f"Segundo fator do usuário {found.user_id} desativado."
    show(as_json, _record(after), text)


@app.command("recovery-codes")
def recovery_codes(user: UserName, as_json: AsJson = False) -> None:
    """Gera dez códigos de recuperação para quem usa segundo fator. Os anteriores deixam de valer.

    Cada código substitui o aplicativo autenticador uma vez. Antes, confirme que o pedido é da
    própria pessoa.

    Exemplo:

      $ balcao user recovery-codes ana@acme.com.br
    """
    from balcao.accounts.recovery import code_digest, new_codes
    from balcao.accounts.seal import Seal
    from balcao.accounts.secrets import secrets_of

    with open_installation() as local:
        found = _find(local, user)
        if not found.has_totp:
            raise CommandFailed(f"O usuário {found.user_id} não tem segundo fator.")
        seal, codes = Seal(secrets_of(local.home, local.desk)), new_codes()
        digests = [code_digest(seal, found.user_id, code) for code in codes]
        stored = local.desk.recovery_codes
        wait_for(stored.renew(found.user_id, digests, AT_THE_TERMINAL, local.now_ms()))
    note = Note("Entregue os códigos só à própria pessoa. Eles não serão mostrados de novo.")
    show(as_json, {"user_id": found.user_id, "codes": list(codes)}, note, "\n".join(codes))


def _suspend(name: str, suspended: bool, as_json: bool) -> None:
    with open_installation() as local:
        found = _find(local, name)
        people = local.desk.people
        wait_for(people.suspend_user(found.user_id, suspended, AT_THE_TERMINAL, local.now_ms()))
        after = _find(local, str(found.user_id))
    text = f"Usuário {after.user_id} pode entrar."
    if suspended:
        again = f"{program()} user resume {after.user_id}"
        text = f"Usuário {after.user_id} suspenso. Para reativar: {again}"
    show(as_json, _record(after), text)


def _all_users(local: Installation) -> Sequence[User]:
    people = local.desk.people
    users = list(people.users(None))
    for account in local.desk.accounts():
        users.extend(people.users(account.account_id))
    return users


def _find(local: Installation, name: str) -> User:
    """Return the user with this e-mail or number. Raises `CommandFailed`, without either."""
    for user in _all_users(local):
        if str(user.user_id) == name or normal_email(user.email) == normal_email(name):
            return user
    raise CommandFailed(
        f"Não há usuário com esse e-mail ou número. Usuários existentes: {program()} user list."
    )


def _new_link(local: Installation, user: User) -> str:
    """Create a one-time link and return its address."""
    from balcao.accounts.links import make_link
    from balcao.core.addresses import one_time_link

    work = make_link(
        local.desk.people, "set_password", user.user_id, AT_THE_TERMINAL, local.now_ms()
    )
    return one_time_link(local.address, wait_for(work))


def _show_link(user: User, link: str, what: str, as_json: bool, public_url: str) -> None:
    from balcao.accounts.links import LINK_HOURS

    notes = [
        f"Usuário {user.user_id} {what}. Entregue o link só à própria pessoa: ele vale por"
        f" {LINK_HOURS} horas, uma vez, e não será mostrado de novo."
    ]
    if not public_url:
        notes.append(
            "O endereço do link é o do serviço nesta máquina. Se a pessoa usa outro, troque o"
            " endereço ou defina BALCAO_PUBLIC_URL."
        )
    data = {"link": link, "link_hours": LINK_HOURS, **_record(user)}
    show(as_json, data, *map(Note, notes), link)


def _state(user: User) -> str:
    if user.suspended_ms is not None:
        return f"suspenso em {when(user.suspended_ms)}"
    return "ativo" if user.has_password else "sem senha"


def _record(user: User) -> dict[str, object]:
    return record(
        user,
        "user_id account_id email name role has_password has_totp created_ms seen_ms suspended_ms",
    )
