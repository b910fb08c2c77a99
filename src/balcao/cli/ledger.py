"""`balcao ledger`: check the ledger, and rebuild its daily totals."""

from collections.abc import Sequence

import typer

from balcao.cli.installation import AccountName, open_installation, wait_for
from balcao.cli.output import AsJson, Block, Note, record, show
from balcao.core.writing import counted

app = typer.Typer(no_args_is_help=True)


@app.command("verify", hidden=True)  # alias: the name used elsewhere
@app.command()
def check(as_json: AsJson = False) -> None:
    """Soma tudo de novo e compara saldos, reservas e orçamentos com os lançamentos.

    Não é preciso parar o serviço. Sai com código 1 se algo não confere.

    Exemplo:

      $ balcao ledger check
    """
    with open_installation() as local:
        found = local.desk.check()
    if found.complaints:
        details = [Note(f"  {complaint}") for complaint in found.complaints]
        blocks: Sequence[Block] = [Note("O livro-razão não confere:"), *details]
    else:
        text = (
            f"O livro-razão confere: {counted(found.accounts, 'conta', 'contas')},"
            f" {counted(found.entries, 'lançamento', 'lançamentos')},"
            f" {counted(found.open_operations, 'operação aberta', 'operações abertas')},"
            f" {counted(found.budgets, 'orçamento', 'orçamentos')}."
        )
        blocks = [text, *(f"  {remark}" for remark in found.remarks)]
    books = record(found, "accounts entries open_operations budgets complaints remarks")
    show(as_json, {"ok": not found.complaints, **books}, *blocks)
    if found.complaints:
        raise typer.Exit(1)


@app.command()
def refold(account: AccountName) -> None:
    """Refaz os totais diários de uma conta, a partir dos lançamentos.

    Use quando `ledger check` informa que os totais não conferem com os lançamentos. O
    livro-razão não muda. O serviço refaz os totais em alguns minutos. Até lá, o extrato lê os
    lançamentos.

    Exemplo:

      $ balcao ledger refold acme
    """
    with open_installation() as local:
        found = local.account(account)
        wait_for(local.desk.totals.reset(found.account_id))
    typer.echo(f"Os totais da conta {found.name} serão refeitos a partir dos lançamentos.")
