"""`balcao config`: show the settings in force, and document all settings."""

import json
import os

import typer

from balcao.cli.configuration import read_settings
from balcao.cli.output import AsJson, Block, TextTable, show

app = typer.Typer(no_args_is_help=True)


@app.command("show")
def show_settings(as_json: AsJson = False) -> None:
    """Mostra cada configuração em uso, por assunto, e a origem dela. Segredos aparecem como ***.

    Exemplo:

      $ balcao config show
    """
    from balcao.settings.in_force import by_group, in_force, setting_name, unknown_variables

    found = list(in_force(read_settings()))
    for complaint in unknown_variables(os.environ):
        typer.echo(f"aviso: {complaint}", err=True)
    data = {each.name: {"value": each.value, "origin": each.origin} for each in found}
    blocks: list[Block] = []
    for group, members in by_group(found):
        table = TextTable(
            members,
            {
                "Variável": lambda each: setting_name(each.path),
                "Valor": lambda each: _text(each.value),
                "Origem": "origin",
            },
            foldable=("Variável", "Valor"),
        )
        blocks += [group.value, table]
    show(as_json, data, *blocks)


@app.command()
def docs() -> None:
    """Escreve o manual das configurações (docs/settings.md) na saída padrão.

    Exemplo:

      $ balcao config docs > docs/settings.md
    """
    from balcao.cli.manual import write_manual

    print(write_manual(), end="")


def _text(value: object) -> str:
    if value is None or value == "":
        return "—"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
