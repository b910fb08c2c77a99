"""`balcao secret`: replace the installation's secret while serving (ADR 0106)."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from balcao.cli.failures import CommandFailed
from balcao.cli.installation import Installation, open_installation, wait_for
from balcao.cli.output import AsJson, TextTable, program, record, show
from balcao.core.people import AT_THE_TERMINAL
from balcao.core.secrets import SecretRing, secret_id
from balcao.core.writing import counted, instant
from balcao.examination.wording import when

if TYPE_CHECKING:
    from balcao.storage.desk.secrets import KeyLeft

app = typer.Typer(no_args_is_help=True)

# Every node and command reads the database's roles within this time after a rotation.
_SETTLED_MS = 10_000
_KEY_FIELDS = "key_id account_id account name last_used_ms"

DryRun = Annotated[bool, typer.Option("--dry-run", help="Só mostra o que aconteceria.")]


@app.command()
def status(as_json: AsJson = False) -> None:
    """Mostra a troca do segredo em andamento e as chaves que ainda usam o anterior.

    Exemplo:

      $ balcao secret status
    """
    with open_installation() as local:
        ring = _ring(local)
        text, left = _standing(local, ring)
        data = {
            "state": _state(ring),
            "secrets": [secret_id(each) for each in ring.secrets],
            "current": secret_id(ring.current),
            "keys": [record(key, _KEY_FIELDS) for key in left],
        }
        table = _table(left)
    show(as_json, data, text, *([table] if left else []))


@app.command()
def rotate(
    dry_run: DryRun = False,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="ARQUIVO",
            help="Grava o novo secret.key aqui, para distribuir, em vez de trocar o da pasta.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Troca o segredo da instalação (secret.key). Não é preciso parar o serviço.

    O novo segredo é acrescentado ao arquivo. Com vários nós, copie o arquivo para todos: o
    segredo entra em uso quando o último o lê. As chaves de API continuam válidas e passam para
    o novo segredo no primeiro uso. Depois, conclua com "secret finish".

    Exemplo:

      $ balcao secret rotate --dry-run
      $ balcao secret rotate
    """
    from balcao.home import new_secret, write_secrets
    from balcao.storage.places import place_of

    with open_installation() as local, local.home.lock_secrets():
        ring = _ring(local)
        if ring.pending is not None:
            raise CommandFailed(f"{_pending(local, ring)} Nada foi alterado.")
        if ring.previous is not None:
            raise CommandFailed(
                f"Já há uma troca em andamento. Conclua antes com {program()} secret finish."
            )
        keys = local.desk.secrets.keys_left(_ANY, local.now_ms())
        valid = counted(
            len(keys),
            "chave de API continua válida e passa",
            "chaves de API continuam válidas e passam",
        )
        plan = f"{valid} para o novo segredo no primeiro uso. Sessões, links e lotes continuam."
        if dry_run:
            data = {"secret_id": None, "keys": len(keys), "file": None}
            show(as_json, data, plan, "Nada foi alterado (--dry-run).")
            return
        added = new_secret()
        path = output or local.home.secret
        try:
            write_secrets(path, [*_still_needed(local, ring), added])
        except OSError as error:
            raise CommandFailed(
                f"Não foi possível gravar {path} ({error.strerror}). Se ele é montado só para"
                " leitura, use --output ARQUIVO e distribua o arquivo."
            ) from error
        number = secret_id(added)
        wait_for(local.desk.secrets.log_added(number, AT_THE_TERMINAL, local.now_ms()))
    notes = [f"Novo segredo {number} em {path}.", plan]
    if output is not None or place_of(local.settings).desk_file is None:
        notes.append("Copie o arquivo para o secret.key de todos os nós.")
    notes.append(f"Acompanhe com {program()} secret status.")
    show(as_json, {"secret_id": number, "keys": len(keys), "file": str(path)}, *notes)


@app.command()
def finish(
    dry_run: DryRun = False,
    yes: Annotated[bool, typer.Option("--yes", help="Não pede confirmação.")] = False,
    as_json: AsJson = False,
) -> None:
    """Conclui a troca do segredo: o anterior deixa de ser aceito.

    As chaves de API sem uso desde a troca são listadas e revogadas. Se o segredo anterior
    vazou, conclua logo.

    Exemplo:

      $ balcao secret finish --dry-run
      $ balcao secret finish
    """
    from balcao.accounts.seal import Seal
    from balcao.accounts.secrets import secrets_of
    from balcao.service.secret_following import reseal

    with open_installation() as local, local.home.lock_secrets():
        secrets, stored = secrets_of(local.home, local.desk), local.desk.secrets
        ring, newest, now = secrets.ring, stored.newest(), local.now_ms()
        if ring.pending is not None:
            raise CommandFailed(_pending(local, ring))
        if newest is None or ring.previous is None:
            raise CommandFailed("Não há troca de segredo em andamento.")
        left = stored.keys_left(newest.secret_id, now)
        table = _table(left)
        question = f"{counted(len(left), 'chave seria revogada', 'chaves seriam revogadas')}."
        if dry_run:
            data = {"revoked": [record(key, _KEY_FIELDS) for key in left], "finished": False}
            show(as_json, data, table, question, "Nada foi alterado (--dry-run).")
            return
        if abs(now - newest.activated_ms) < _SETTLED_MS:
            raise CommandFailed("O novo segredo acabou de entrar em uso. Repita em dez segundos.")
        if left and not yes:
            _confirm(left, question, as_json=as_json)
        wait_for(reseal(local.desk, Seal(secrets)))
        revoked = wait_for(stored.finish(newest.secret_id, AT_THE_TERMINAL, now))
        kept = _still_needed(local, _ring(local))
        trimmed = _trim(local, kept)
    data = {"revoked": [record(key, _KEY_FIELDS) for key in revoked], "finished": True}
    text = f"Troca concluída. {counted(len(revoked), 'chave revogada', 'chaves revogadas')}."
    show(as_json, data, *([_table(revoked)] if revoked else []), text, trimmed)


_ANY = "-"  # the id of no secret: no key is hashed with it


def _ring(local: Installation) -> SecretRing:
    from balcao.accounts.secrets import secrets_of

    return secrets_of(local.home, local.desk).ring


def _state(ring: SecretRing) -> str:
    if ring.pending is not None:
        return "pending"
    return "rotating" if ring.previous is not None else "stable"


def _standing(local: Installation, ring: SecretRing) -> tuple[str, "Sequence[KeyLeft]"]:
    newest = local.desk.secrets.newest()
    if ring.pending is not None:
        return _pending(local, ring), []
    if newest is None or ring.previous is None:
        return "Nenhuma troca em andamento.", []
    left = local.desk.secrets.keys_left(newest.secret_id, local.now_ms())
    text = (
        f"Segredo trocado em {instant(newest.activated_ms)}."
        f" {counted(len(left), 'chave ainda usa', 'chaves ainda usam')} o anterior."
        f" Para concluir: {program()} secret finish"
    )
    return text, left


def _pending(local: Installation, ring: SecretRing) -> str:
    assert ring.pending is not None
    lacking = local.desk.secrets.nodes_without(secret_id(ring.pending))
    if lacking:
        nodes = ", ".join(map(str, lacking))
        return f"Novo segredo à espera dos nós {nodes}: copie o secret.key para lá."
    return "Novo segredo à espera: entra em uso em alguns segundos, com o serviço no ar."


def _table(left: "Sequence[KeyLeft]") -> TextTable:
    return TextTable(
        left,
        {
            "Chave": "key_id",
            "Conta": "account",
            "Nome": "name",
            "Último uso": lambda key: when(key.last_used_ms),
        },
        empty="Nenhuma chave usa o segredo anterior.",
    )


def _still_needed(local: Installation, ring: SecretRing) -> list[bytes]:
    """Return the secrets without those that nothing is hashed or sealed with any more."""
    batches = local.desk.secrets.batches()
    return [
        each
        for each in ring.secrets
        if each in (ring.first, *ring.accepted) or secret_id(each) in batches
    ]


def _trim(local: Installation, kept: list[bytes]) -> str:
    """Remove the other secrets from the file. Return a sentence about it."""
    home = local.home
    if len(kept) == len(home.secrets()):
        return "O primeiro segredo fica no secret.key: os dados de pessoas são achados com ele."
    try:
        home.replace_secrets(kept)
    except OSError as error:
        why = f"não foi possível gravar o arquivo ({error.strerror})"
        return f"O segredo anterior ficou no secret.key, sem uso: {why}."
    return "O segredo anterior foi retirado do secret.key."


def _confirm(left: "Sequence[KeyLeft]", question: str, *, as_json: bool) -> None:
    if not sys.stdin.isatty():
        raise CommandFailed(
            f"{question} Sem terminal não é possível pedir confirmação. Confira com --dry-run e"
            " repita com --yes."
        )
    if not as_json:
        show(False, None, _table(left))
    if not typer.confirm(f"{question} Concluir?"):
        raise CommandFailed("Nada foi alterado.")
