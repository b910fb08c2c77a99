"""Translation of Typer to Portuguese: headings, usage lines, and usage errors."""

import re
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from balcao.cli.completing import completion_for
from balcao.cli.failures import explain
from balcao.cli.imports import import_help, import_structlog

_HELP_OF_OPTIONS = {
    "help": "Mostra esta ajuda e sai.",
    "install_completion": "Instala o autocompletar no shell atual.",
    "show_completion": "Mostra o autocompletar do shell atual, para copiar ou adaptar.",
}

_COMPLETION = "install_completion"

_HEADINGS = {
    "ARGUMENTS_PANEL_TITLE": "Argumentos",
    "OPTIONS_PANEL_TITLE": "Opções",
    "COMMANDS_PANEL_TITLE": "Comandos",
    "DEFAULT_STRING": "[padrão: {}]",
    "ENVVAR_STRING": "[variável: {}]",
    "REQUIRED_LONG_STRING": "[obrigatório]",
    "DEPRECATED_STRING": "(em desuso) ",
}

# Messages of the parser and their translations; `\1` is the first group. Typer looks up its
# headings and two of these in a gettext catalogue, and composes the others.
_TRANSLATIONS = (
    (r"Missing command\.", "Falta o comando."),
    (r"No such command '(.*)'\.? ?(?:Did you mean (.*)\?)?", r"Não existe o comando '\1'.|\2"),
    (r"Got unexpected extra argument\(s\) \((.*)\)", r"Argumento a mais: \1."),
    (r"Option '(.*)' requires an argument\.", r"A opção \1 precisa de um valor."),
    (r"Option '(.*)' does not take a value\.", r"A opção \1 não leva valor."),
    (r"(?:Value error, )?'(.*)' is not one of (.*)\.", r"'\1' não é um destes: \2."),
    (r"\w+ '(.*)' does not exist\.", r"'\1' não existe."),
    (r"\w+ '(.*)' is a file\.", r"'\1' é um arquivo, e não uma pasta."),
    (r"\w+ '(.*)' is a directory\.", r"'\1' é uma pasta, e não um arquivo."),
    (r"\w+ '(.*)' is not readable\.", r"'\1' não pode ser lido."),
    (r".*valid integer.*", "não é um número inteiro."),
    (r".*valid number.*", "não é um número."),
    (r".*greater than or equal to (\S+)", r"deve ser \1 ou mais."),
    (r".*less than or equal to (\S+)", r"deve ser \1 ou menos."),
    (r"Value error, (.*)", r"\1"),
)


def translate(text: str) -> str:
    """Translate a message of the parser; unknown ones are returned unchanged."""
    for english, portuguese in _TRANSLATIONS:
        match = re.fullmatch(english, text, re.DOTALL)
        if match:
            sentence, _, suggestion = match.expand(portuguese).partition("|")
            return f"{sentence} Seria {suggestion}?" if suggestion else sentence
    return text


def usage_error_message(error: Any) -> str:
    """Return the Portuguese message for a usage error."""
    kind = type(error).__name__
    if kind == "MissingParameter":
        noun = "a opção" if error.param.param_type_name == "option" else "o argumento"
        return f"Falta {noun} {_hint(error)}."
    if kind == "NoSuchOption":
        nearest = ", ".join(sorted(error.possibilities or ()))
        return f"Não existe a opção {error.option_name}." + (
            f" Seria {nearest}?" if nearest else ""
        )
    if kind == "BadParameter":
        hint = _hint(error)
        return f"Valor inválido para {hint}: {translate(error.message)}".replace(" para :", ":")
    return translate(error.format_message())


def _hint(error: Any) -> str:
    hint = error.param_hint or (error.param.get_error_hint() if error.param is not None else "")
    return hint if isinstance(hint, str) else " / ".join(hint)


def _install_completion(ctx: Any, param: Any, value: Any) -> Any:
    """Install the completion as Typer does, with a message in Portuguese."""
    if not value or ctx.resilient_parsing:
        return value
    from typer import completion

    shell, path = completion.install()  # type: ignore[attr-defined]
    typer.echo(f"Autocompletar do {shell} instalado em {path}. Abra um novo terminal para usá-lo.")
    raise typer.Exit


class _Coercion:
    """Conversion of a parameter's values; only those that need one load Typer's, with pydantic."""

    def __init__(self, param: Any) -> None:
        self._typers = param.get_runtime_param
        described = param.type_descriptor
        self._is_text = described.annotation is str and described.parameter_info.parser is None
        self._is_single = not param.multiple and param.nargs == 1

    def itself(self) -> "_Coercion":
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if self._is_single and (value is None or (self._is_text and isinstance(value, str))):
            return value
        return self._typers().coerce(value, param=param, ctx=ctx)


class _Portuguese:
    """Base of commands and groups: help and usage in Portuguese."""

    help: Any  # declared by the other base class

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if "get_runtime_param" not in vars(param):
                param.get_runtime_param = _Coercion(param).itself
            if param.name in _HELP_OF_OPTIONS:
                param.help = _HELP_OF_OPTIONS[param.name]
            if param.name == _COMPLETION:
                param.callback = _install_completion
            # Show our metavar after an option's name, never a Python type.
            metavar = param.metavar if param.param_type_name == "option" else None
            if (values := completion_for(param.metavar)) is not None:
                param.shell_complete = values
            param.display_type_rich = lambda ctx, metavar=metavar: metavar
        return params

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        words = {"[OPTIONS]": "[OPÇÕES]", "COMMAND [ARGS]...": "COMANDO [ARGUMENTOS]..."}
        pieces = self.collect_usage_pieces(ctx)  # type: ignore[attr-defined]
        usage = " ".join(words.get(piece, piece) for piece in pieces)
        formatter.write_usage(ctx.command_path, usage, prefix="Uso: ")

    def format_help(self, ctx: Any, formatter: Any) -> None:
        rich_utils = import_help()
        self.help = _unwrapped(self.help or "")
        for name, text in _HEADINGS.items():
            setattr(rich_utils, name, text)
        super().format_help(ctx, formatter)  # type: ignore[misc]


def _unwrapped(text: str) -> str:
    """Return a help text with one line per paragraph, for the terminal to wrap.

    In the source they are wrapped at 100 characters, which looks ragged in a narrower terminal.
    Indented paragraphs are examples.
    """
    paragraphs = text.split("\n\n")
    return "\n\n".join(
        paragraph if paragraph.startswith(" ") else " ".join(paragraph.split("\n"))
        for paragraph in paragraphs
    )


class PortugueseCommand(_Portuguese, TyperCommand):
    """A command with help in Portuguese."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        import_structlog()  # before the modules that log
        return super().invoke(ctx)


class PortugueseGroup(_Portuguese, TyperGroup):
    """A group of commands with help in Portuguese; the outermost one reports errors."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line and end the process."""
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except TyperException as error:
            _print_usage_error(error)
            sys.exit(error.exit_code)
        except typer.Abort:
            sys.exit(1)
        except Exception as error:
            sentence = explain(error)
            if sentence is None:  # a bug: show its traceback
                raise
            print(f"erro: {sentence}", file=sys.stderr)
            sys.exit(1)
        sys.exit(code if isinstance(code, int) else 0)


def _print_usage_error(error: Any) -> None:
    if type(error).__name__ == "NoArgsIsHelpError":  # the help was printed
        return
    ctx = getattr(error, "ctx", None)
    if ctx is not None:
        print(ctx.get_usage(), file=sys.stderr)
    print(f"erro: {usage_error_message(error)}", file=sys.stderr)
    if ctx is not None:
        print(f"Ajuda: {ctx.command_path} --help", file=sys.stderr)


def apply_portuguese(app: typer.Typer) -> None:
    """Make an application and all its commands use the Portuguese classes."""
    app.info.cls = PortugueseGroup
    for command in app.registered_commands:
        command.cls = PortugueseCommand
    for group in app.registered_groups:
        if group.typer_instance is not None:
            apply_portuguese(group.typer_instance)
