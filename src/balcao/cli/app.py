"""The tree of commands: their names and lines of help, and where each of them is."""

from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command, get_group

from balcao import __version__
from balcao.cli.portuguese import PortugueseGroup, apply_portuguese

# The place of a command (a module of this package, and its function) or of a group (a module), and
# its line in the main help.
_PLACES: Mapping[str, tuple[str, str]] = {
    "serve": (
        "serve.serve",
        "Inicia o serviço. Na primeira vez, cria a pasta de dados, a sandbox e as contas de teste.",
    ),
    "open": (
        "sign_in.sign_in",
        "Gera um link para um operador entrar sem senha. A saída padrão traz só o link.",
    ),
    "usage": (
        "usage.usage",
        "Mostra o consumo de uma conta por operação e origem, com o total.",
    ),
    "quote": (
        "quote.quote",
        "Mostra o preço atual de uma consulta, sem consultar nem cobrar.",
    ),
    "lookup": (
        "lookup.lookup",
        "Mostra o preço, pede confirmação, consulta e exibe a resposta e o valor cobrado.",
    ),
    "search": (
        "search.search",
        "Busca empresas no mês em uso, sem cobrar. Equivale a /buscas/v1/empresas.",
    ),
    "routes": (
        "routes.routes",
        "Lista os endereços da API e da aplicação e a função que responde cada um.",
    ),
    "errors": (
        "errors.errors",
        "Lista todos os erros do serviço, em árvore, com status, código e mensagem.",
    ),
    "doctor": (
        "doctor.doctor",
        "Verifica a instalação e explica como resolver cada problema. Nada é alterado.",
    ),
    "account": ("account", "Cria, mostra, altera e suspende contas."),
    "key": ("key", "Cria, lista, altera e revoga chaves de API."),
    "budget": ("budget", "Cria, lista, altera e remove orçamentos de chaves e de clientes."),
    "wallet": (
        "wallet",
        "Acrescenta e lista as empresas e pessoas que uma conta acompanha, e as mudanças delas.",
    ),
    "webhook": ("webhook", "Cria, lista, testa e reenvia webhooks, que recebem os eventos."),
    "user": ("user", "Cria e administra usuários da aplicação."),
    "credit": ("credit", "Acrescenta e retira créditos."),
    "batch": (
        "batch",
        "Consulta todas as linhas de um arquivo: cotação, confirmação, acompanhamento e download"
        " do resultado.",
    ),
    "ledger": ("ledger", "Verifica o livro-razão."),
    "job": ("job", "Mostra as tarefas pendentes e recomeça as que falharam."),
    "mail": ("mail", "Testa o envio de e-mails e mostra a fila."),
    "certificate-extension": (
        "certificate_extension",
        "Atos que prorrogaram certidões, mostrados no resultado ao lado da validade.",
    ),
    "secret": ("secret", "Troca o segredo da instalação, com o serviço no ar."),
    "subject": ("subject", "Encontra e apaga os dados de uma pessoa física (titular)."),
    "backup": ("backup", "Faz, lista e restaura backups."),
    "storage": ("storage", "Move os dados entre SQLite e PostgreSQL."),
    "opendata": ("opendata", "Importa o cadastro do CNPJ (dados abertos)."),
    "source": ("source", "Mostra e verifica as fontes de cada consulta."),
    "simulator": ("simulator", "Simula as fontes, sozinhas em um servidor."),
    "config": ("config", "Mostra e documenta as configurações."),
}
# Portuguese aliases of commands, for scripts.
_ALIASES = {"abrir": "open", "consultar": "lookup"}


class _DeferredCommand(TyperCommand):
    """A command or group in the main help; its module is imported when it is used."""

    def __init__(self, name: str, place: str, line: str, *, hidden: bool = False) -> None:
        super().__init__(name, help=line, hidden=hidden)
        self._place = place

    @cached_property
    def itself(self) -> Any:
        """The command or group itself."""
        module_name, _, function = self._place.partition(".")
        module = import_module(f"balcao.cli.{module_name}")
        if not function:
            module.app.info.help = self.help
            apply_portuguese(module.app)
            return get_group(module.app)
        single = typer.Typer(add_completion=False)
        single.command(self.name)(getattr(module, function))
        apply_portuguese(single)
        return get_command(single)

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Parse the arguments of the command itself."""
        return self.itself.make_context(info_name, args, parent, **extra)


def loaded(command: Any) -> Any:
    """Return a command of the tree with its parameters or subcommands."""
    return command.itself if isinstance(command, _DeferredCommand) else command


class _MainGroup(PortugueseGroup):
    """The outermost group."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, (place, line) in _PLACES.items():
            self.add_command(_DeferredCommand(name, place, line))
        for alias, name in _ALIASES.items():
            self.add_command(_DeferredCommand(alias, *_PLACES[name], hidden=True))


app = typer.Typer(
    cls=_MainGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks show values, perhaps secrets
    rich_markup_mode="rich",
)


def _show_version(show: bool) -> None:
    if show:
        typer.echo(f"balcao {__version__}")
        raise typer.Exit


@app.callback()
def balcao(
    version: Annotated[
        bool, typer.Option("--version", help="Mostra a versão e sai.", callback=_show_version)
    ] = False,
) -> None:
    """Balcão: consultas a cadastros brasileiros, pagas em créditos.

    Comece por iniciar o serviço. Ele prepara tudo o que falta.

      $ balcao serve

    Os dados ficam na pasta BALCAO_HOME (padrão: .balcao). Todas as configurações:

      $ balcao config show
    """
