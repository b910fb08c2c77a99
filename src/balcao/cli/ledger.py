"""`balcao ledger`: check the ledger, and rebuild its daily totals."""

from collections.abc import Sequence

import typer

from balcao.cli.installation import AccountName, open_installation, wait_for
from balcao.cli.output import AsJson, Block, Note, record, show
from balcao.core.writing import counted

app = typer.Typer(no_args_is_help=True, help="Confere o livro de créditos.")


@app.command("verify", hidden=True)  # alias: the name used elsewhere
@app.command()
def check(as_json: AsJson = False) -> None:
    """Soma tudo de novo: saldos, retenções e orçamentos contra os lançamentos.

    Funciona com o servidor no ar. Sai com código 1 quando algo não confere.

    Exemplo:

      $ balcao ledger check
    """
    with open_installation() as local:
        found = local.desk.check()
    if found.complaints:
        details = [Note(f"  {complaint}") for complaint in found.complaints]
        blocks: Sequence[Block] = [Note("O livro não confere:"), *details]
    else:
        text = (
            f"O livro confere: {counted(found.accounts, 'conta', 'contas')},"
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

    Para quando `ledger check` diz que os totais não são os lançamentos. Nada muda no
    livro. Até que o servidor os refaça, em alguns minutos, o extrato lê os próprios
    lançamentos.

    Exemplo:

      $ balcao ledger refold acme
    """
    with open_installation() as local:
        found = local.account(account)
        wait_for(local.desk.totals.reset(found.account_id))
    typer.echo(f"Os totais da conta {found.name} serão refeitos a partir dos lançamentos.")
