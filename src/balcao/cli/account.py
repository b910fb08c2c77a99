"""`balcao account`: create, show, change and suspend accounts."""

import shlex
from typing import Annotated

import typer

from balcao.cli.failures import refuse
from balcao.cli.installation import AccountName, Installation, open_installation, wait_for
from balcao.cli.output import (
    AsJson,
    Pairs,
    TextTable,
    program,
    record,
    show,
    when,
    whole,
    yes_or_no,
)
from balcao.core.access import PLAN_WORDS, PLANS, Account, Plan
from balcao.core.calendar import civil_month
from balcao.core.ledger import available_credits, spent_credits
from balcao.core.people import AT_THE_TERMINAL
from balcao.core.terms import (
    account_name_problem,
    ceiling_problem,
    certificates_problem,
    includes_certificates,
)

app = typer.Typer(no_args_is_help=True)

LowBalance = Annotated[
    int | None,
    typer.Option(
        min=1, help="Avisa quando o saldo ficar abaixo deste número de créditos.", metavar="N"
    ),
]


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NOME", help="Nome da conta, único.")],
    *,
    plan: Annotated[Plan, typer.Option(metavar="PLANO", help=f"Um destes: {', '.join(PLANS)}.")],
    test: Annotated[
        bool, typer.Option("--test", help="Conta de teste, atendida pela sandbox.")
    ] = False,
    certificates: Annotated[
        bool,
        typer.Option(
            "--certificates", help="Contrato com certidões (pós-pago; o pré-pago já inclui)."
        ),
    ] = False,
    partner_optin: Annotated[
        bool, typer.Option("--partner-optin", help="Permite pedir o CPF dos sócios (optin=1).")
    ] = False,
    ceiling: Annotated[
        int | None,
        typer.Option(min=0, help="Limite de créditos por mês (só pós-pago).", metavar="N"),
    ] = None,
    low_balance: LowBalance = None,
    as_json: AsJson = False,
) -> None:
    """Cria uma conta, de produção ou de teste. O tipo não pode ser mudado depois.

    O plano pré-pago sempre inclui certidões; o gratuito, nunca. No pós-pago, elas dependem do
    contrato (--certificates).

    Exemplo:

      $ balcao account create acme --plan pre_pago
      $ balcao credit add acme 1000 --reason "pedido 123"
      $ balcao key create acme
    """
    from balcao.storage.contract import NewAccount

    refuse(account_name_problem(name), "NOME")
    _check_terms(plan, certificates=certificates, ceiling=ceiling)
    new = NewAccount(
        name=name,
        plan=plan,
        mode="test" if test else "live",
        certificates=includes_certificates(plan, by_contract=certificates),
        partner_optin=partner_optin,
        ceiling_credits=ceiling,
    )
    with open_installation() as local:
        now = local.now_ms()
        account = local.desk.create_account(new, now)
        if low_balance is not None:
            _set_low_balance(local, account, low_balance)
    kind = "de teste" if test else "de produção"
    lines = [f"Conta {account.account_id} criada: {name} ({PLAN_WORDS[plan]}, {kind})."]
    if plan != "pos_pago":
        line = f'{program()} credit add {shlex.quote(name)} 1000 --reason "..."'
        lines.append(f"A conta ainda não tem créditos: {line}")
    show(as_json, _record(account, civil_month(now)), *lines)


@app.command("list")
def list_accounts(as_json: AsJson = False) -> None:
    """Lista as contas.

    Para ver o que cada conta inclui (certidões, CPF dos sócios): account show.

    Exemplo:

      $ balcao account list
    """
    with open_installation() as local:
        accounts = local.desk.accounts()
        month = civil_month(local.now_ms())
    table = TextTable(
        accounts,
        {
            "Nº": "account_id",
            "Nome": "name",
            "Plano": lambda account: PLAN_WORDS[account.plan],
            "Tipo": _kind,
            "Saldo": "balance_credits",
            "Reservados": "held_credits",
            "No mês": lambda account: spent_credits(account, month),
            "Limite": "ceiling_credits",
        },
        numbers=("Nº", "Saldo", "Reservados", "No mês", "Limite"),
        foldable=("Nome",),
    )
    show(as_json, [_record(account, month) for account in accounts], table)


@app.command("show")
def show_account(account: AccountName, as_json: AsJson = False) -> None:
    """Mostra uma conta: plano, o que ela inclui, créditos e chaves.

    Exemplo:

      $ balcao account show acme
    """
    with open_installation() as local:
        found = local.account(account)
        keys = local.desk.keys(found.account_id)
        low_balance = wait_for(local.desk.mail.threshold(found.account_id))
        month = civil_month(local.now_ms())
    in_force = [key for key in keys if key.revoked_ms is None]
    postpaid, available = found.plan == "pos_pago", available_credits(found, month)
    fields = Pairs(
        [
            ("Conta", f"{found.account_id}, {found.name}"),
            ("Plano", PLAN_WORDS[found.plan]),
            ("Tipo", _kind(found)),
            ("Certidões", found.certificates),
            ("CPF dos sócios (optin)", found.partner_optin),
            ("Saldo", found.balance_credits),  # negative if post-paid: the debt
            ("Reservados", found.held_credits),
            ("Usados neste mês", spent_credits(found, month)),
            ("Limite mensal", _ceiling(found) if postpaid else None),
            ("Disponíveis", "sem limite" if available is None else max(available, 0)),
            ("Aviso de saldo", low_balance),
            ("Chaves não revogadas", f"{len(in_force)} de {len(keys)}"),
            ("Criada em", when(found.created_ms)),
            ("Suspensa em", found.suspended_ms and when(found.suspended_ms)),
        ]
    )
    counts = {
        "keys": len(keys),
        "keys_not_revoked": len(in_force),
        "low_balance_credits": low_balance,
    }
    show(as_json, _record(found, month) | counts, fields)


@app.command()
def change(
    account: AccountName,
    *,
    plan: Annotated[
        Plan | None, typer.Option(metavar="PLANO", help=f"Um destes: {', '.join(PLANS)}.")
    ] = None,
    certificates: Annotated[
        bool | None,
        typer.Option(
            "--certificates/--no-certificates", help="Contrato com certidões (só pós-pago)."
        ),
    ] = None,
    partner_optin: Annotated[
        bool | None,
        typer.Option(
            "--partner-optin/--no-partner-optin", help="Permite pedir o CPF dos sócios (optin=1)."
        ),
    ] = None,
    ceiling: Annotated[
        int | None,
        typer.Option(min=0, help="Limite de créditos por mês (só pós-pago).", metavar="N"),
    ] = None,
    no_ceiling: Annotated[bool, typer.Option("--no-ceiling", help="Retira o limite.")] = False,
    low_balance: LowBalance = None,
    no_low_balance: Annotated[
        bool, typer.Option("--no-low-balance", help="Retira o aviso de saldo.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Altera o plano de uma conta e o que ele inclui. Vale em um segundo.

    Opções não informadas não mudam. O plano pré-pago sempre inclui certidões; o gratuito,
    nunca. Só o pós-pago tem limite mensal, removido ao trocar de plano.

    Exemplo:

      $ balcao account change acme --plan pos_pago --ceiling 500
    """
    from balcao.storage.people import Terms

    if ceiling is not None and no_ceiling:
        refuse("não pode ser usado com --ceiling.", "--no-ceiling")
    if low_balance is not None and no_low_balance:
        refuse("não pode ser usado com --low-balance.", "--no-low-balance")
    given = (plan, certificates, partner_optin, ceiling, low_balance)
    if given == (None,) * 5 and not (no_ceiling or no_low_balance):
        raise typer.BadParameter(
            "informe o que mudar: --plan, --certificates, --partner-optin, --ceiling,"
            " --no-ceiling, --low-balance ou --no-low-balance."
        )
    with open_installation() as local:
        found = local.account(account)
        new = plan or found.plan
        _check_terms(new, certificates=certificates is True, ceiling=ceiling)
        if certificates is False and new == "pre_pago":
            refuse("o plano pré-pago sempre inclui certidões.", "--no-certificates")
        kept = ceiling if ceiling is not None or no_ceiling else found.ceiling_credits
        with_certificates = found.certificates if certificates is None else certificates
        terms = Terms(
            new,
            new == "pre_pago" or (new == "pos_pago" and with_certificates),
            found.partner_optin if partner_optin is None else partner_optin,
            kept if new == "pos_pago" else None,
        )
        now = local.now_ms()
        after = wait_for(
            local.desk.people.change_account(found.account_id, terms, AT_THE_TERMINAL, now)
        )
        if low_balance is not None or no_low_balance:
            _set_low_balance(local, found, low_balance)
    text = (
        f"Conta {after.name}: plano {PLAN_WORDS[after.plan]},"
        f" certidões {yes_or_no(after.certificates)},"
        f" CPF dos sócios {yes_or_no(after.partner_optin)}"
    )
    text += f"; limite do mês: {_ceiling(after)}." if after.plan == "pos_pago" else "."
    show(as_json, _record(after, civil_month(now)), text)


@app.command()
def suspend(account: AccountName, as_json: AsJson = False) -> None:
    """Suspende uma conta: as chaves são recusadas e os usuários não podem consultar.

    Vale em um segundo. Os créditos e o extrato não mudam.

    Exemplo:

      $ balcao account suspend acme
    """
    _suspend(account, True, as_json)


@app.command()
def resume(account: AccountName, as_json: AsJson = False) -> None:
    """Reativa uma conta suspensa, com as chaves e os usuários.

    Exemplo:

      $ balcao account resume acme
    """
    _suspend(account, False, as_json)


def _set_low_balance(local: Installation, account: Account, threshold: int | None) -> None:
    setting = local.desk.mail.set_threshold(
        account.account_id, threshold, AT_THE_TERMINAL, local.now_ms()
    )
    wait_for(setting)


def _suspend(account: str, suspended: bool, as_json: bool) -> None:
    with open_installation() as local:
        now, number = local.now_ms(), local.account(account).account_id
        after = wait_for(local.desk.people.suspend_account(number, suspended, AT_THE_TERMINAL, now))
    text = f"Conta {after.name} reativada."
    if suspended:
        text = f"Conta {after.name} suspensa. Para reativar: {program()} account resume {number}"
    show(as_json, _record(after, civil_month(now)), text)


def _check_terms(plan: Plan, *, certificates: bool, ceiling: int | None) -> None:
    refuse(ceiling_problem(plan, ceiling), "--ceiling")
    refuse(certificates_problem(plan, by_contract=certificates), "--certificates")


def _ceiling(account: Account) -> str:
    return (
        "sem limite mensal" if account.ceiling_credits is None else whole(account.ceiling_credits)
    )


def _kind(account: Account) -> str:
    kind = "produção" if account.mode == "live" else "teste"
    return kind if account.suspended_ms is None else f"{kind}, suspensa"


def _record(account: Account, month: str) -> dict[str, object]:
    available = available_credits(account, month)
    terms = "account_id name plan mode certificates partner_optin ceiling_credits"
    return {
        **record(account, f"{terms} balance_credits held_credits"),
        "available_credits": None if available is None else max(available, 0),
        "month_credits": spent_credits(account, month),
        **record(account, "created_ms suspended_ms"),
    }
