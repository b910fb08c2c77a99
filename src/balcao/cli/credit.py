"""`balcao credit`: add and withdraw credits."""

from typing import Annotated

import typer

from balcao.cli.failures import CommandFailed, refuse
from balcao.cli.installation import AccountName, open_installation
from balcao.cli.output import AsJson, show, whole
from balcao.core import writing
from balcao.core.ledger import InsufficientFunds
from balcao.core.people import AT_THE_TERMINAL
from balcao.core.terms import CREDITS_MAX, credits_problem, reason_problem, top_up

app = typer.Typer(no_args_is_help=True)


@app.callback()
def credit() -> None:
    """Acrescenta e retira créditos."""  # so that `add` stays a subcommand


@app.command(context_settings={"ignore_unknown_options": True})  # -5 is a number
def add(
    account: AccountName,
    credits: Annotated[
        int,
        typer.Argument(
            metavar="N",
            min=-CREDITS_MAX,
            max=CREDITS_MAX,
            help="Quantidade de créditos. Um valor negativo retira (no pós-pago, aumenta o valor"
            " devido).",
        ),
    ],
    reason: Annotated[
        str,
        typer.Option(help="Motivo. Fica registrado no livro-razão para sempre.", metavar="TEXTO"),
    ],
    as_json: AsJson = False,
) -> None:
    """Acrescenta créditos a uma conta e mostra o novo saldo. Um N negativo retira.

    Não é preciso parar o serviço. O saldo de uma conta gratuita ou pré-paga nunca fica
    negativo.

    O saldo de uma conta pós-paga é o valor devido, negativo. Um N positivo abate (um pagamento)
    e um N negativo aumenta a dívida. O limite do mês não muda.

    Exemplo:

      $ balcao credit add acme 1000 --reason "pedido 123"
      $ balcao credit add acme -50 --reason "estorno do pedido 123"
    """
    refuse(credits_problem(credits), "N")
    reason = reason.strip()
    refuse(reason_problem(reason), "--reason")
    with open_installation() as local:
        found = local.account(account)
        entry = top_up(found, credits, reason, AT_THE_TERMINAL, local.now_ms())
        refusal = local.desk.commit_now(entry)
        if isinstance(refusal, InsufficientFunds):
            raise CommandFailed(
                f"A conta {found.name} tem {writing.credits(refusal.available_credits)}"
                f" disponíveis. Não é possível retirar {whole(refusal.needed_credits)}."
            )
        after = local.account(str(found.account_id))
    came, went = ("acrescentado", "à"), ("retirado", "da")
    verb, to = came if credits > 0 else went
    moved = writing.counted(abs(credits), f"crédito {verb}", f"créditos {verb}s")
    data = {
        "account_id": after.account_id,
        "account": after.name,
        "added_credits": credits,
        "balance_credits": after.balance_credits,
        "held_credits": after.held_credits,
    }
    text = f"{moved} {to} conta {after.name}. Novo saldo: {whole(after.balance_credits)}."
    show(as_json, data, text)
