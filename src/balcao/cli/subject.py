"""`balcao subject`: find and erase stored data about a natural person (LGPD)."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from balcao.accounts.secrets import secrets_of
from balcao.cli.failures import CommandFailed
from balcao.cli.installation import Installation, open_installation, wait_for
from balcao.cli.output import AsJson, Block, TextTable, iso, program, record, show, when
from balcao.service.clock import system_now_ms

if TYPE_CHECKING:
    from balcao.core.data_subject import DataSubject
    from balcao.core.questions import Mode
    from balcao.service.erasure import Findings, PersonSearch
    from balcao.settings import Settings
    from balcao.storage.contract import Cache

app = typer.Typer(no_args_is_help=True)

# Declared only to be refused: typer would print an unknown argument.
Refused = Annotated[str | None, typer.Argument(hidden=True)]

_WHERE = {"live": "produção", "test": "sandbox"}
_CONFIRMATION = "apagar"


@app.command()
def find(cpf: Refused = None, as_json: AsJson = False) -> None:
    """Mostra quais dados de uma pessoa física (CPF) estão guardados, sem o conteúdo.

    O CPF é pedido no terminal ou lido da entrada padrão. Na linha de comando, ele ficaria no
    histórico.

    Exemplo:

      $ balcao subject find
      $ balcao subject find --json < cpf.txt
    """
    with _subject_in_installation(cpf) as (local, person, caches):
        from balcao.service import erasure

        found = wait_for(erasure.find(person, local.desk, caches, _batches(local)))
        accounts = {one.account_id: one.name for one in local.desk.accounts()}
        backups = _backups(local.settings)
    blocks = [*_blocks(found, accounts), *_backup_lines(backups)]
    show(as_json, {**_record(found), "backups": backups}, *blocks)


@app.command()
def erase(
    cpf: Refused = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Só mostra o que seria apagado.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Não pede confirmação.")] = False,
    as_json: AsJson = False,
) -> None:
    """Apaga os dados guardados de uma pessoa física (CPF). Não é preciso parar o serviço.

    São apagados os resultados guardados, os comprovantes, as respostas de Idempotency-Key, os
    itens de carteiras com as certidões e o conteúdo dos eventos e, nos detalhes das consultas, o
    documento. O livro-razão não muda: ele não tem CPF. Se uma lei obriga você a guardar um
    comprovante, a decisão é sua: veja antes com --dry-run.

    Exemplo:

      $ balcao subject erase --dry-run
      $ balcao subject erase --yes < cpf.txt
    """
    with _subject_in_installation(cpf) as (local, person, caches):
        from balcao.core.people import AT_THE_TERMINAL
        from balcao.service import erasure
        from balcao.storage.blobs import open_blobs

        batches = _batches(local)
        found = wait_for(erasure.find(person, local.desk, caches, batches))
        backups = _backups(local.settings)
        names = {one.account_id: one.name for one in local.desk.accounts()}
        blocks = _blocks(found, names)
        if dry_run:
            data = {**_record(found), "erased": None, "backups": backups}
            show(as_json, data, *blocks, "Nada foi apagado (--dry-run).")
            return
        if not yes:
            if not as_json:
                show(False, None, *blocks)
                blocks = ()
            _confirm()
        work = erasure.erase(
            person,
            local.desk,
            caches,
            open_blobs(local.settings.receipts or local.home.receipts),
            batches,
            signed=AT_THE_TERMINAL,
            now_ms=local.now_ms,
        )
        erased = wait_for(work)
    # Printed last: a closed pipe (`| head`) must not prevent the erasure.
    counts = {name: getattr(erased, name) for name in erased.__dataclass_fields__}
    data = {**_record(found), "erased": counts, "backups": backups}
    text = f"Apagado: {erased}. O livro-razão não mudou."
    show(as_json, data, *blocks, text, *_backup_lines(backups))


@contextmanager
def _subject_in_installation(
    argument: str | None,
) -> "Iterator[tuple[Installation, DataSubject, Mapping[Mode, Cache]]]":
    from balcao.core.data_subject import data_subject
    from balcao.core.document_reader import read
    from balcao.core.documents import CNPJ_CHARACTERS, Cpf
    from balcao.storage.places import place_of

    if argument is not None:
        raise CommandFailed(
            "Não escreva o CPF na linha de comando: ele ficaria no histórico. Execute o comando"
            " sem o CPF, que será pedido, ou envie pela entrada padrão. Apague esta linha do"
            " histórico."
        )
    raw = typer.prompt("CPF") if sys.stdin.isatty() else sys.stdin.readline()
    cpf = read(raw, {"cpf"}, only=False, digits_least=CNPJ_CHARACTERS).document
    if not isinstance(cpf, Cpf):
        raise CommandFailed("CPF inválido. Informe os 11 dígitos, com ou sem pontos.")
    with open_installation() as local:
        pepper, place = local.home.pepper(), place_of(local.settings)
        modes: tuple[Mode, ...] = ("live", "test")
        caches = {mode: place.open_cache(mode, pepper=pepper) for mode in modes}
        try:
            yield local, data_subject(pepper, cpf), caches
        finally:
            for cache in caches.values():
                cache.close()


def _batches(local: Installation) -> "PersonSearch":
    from balcao.service.erasure import PersonSearch

    return PersonSearch(local.desk, secrets_of(local.home, local.desk), local.home.batches)


def _confirm() -> None:
    if not sys.stdin.isatty():
        raise CommandFailed(
            "Sem terminal não é possível pedir confirmação. Confira com --dry-run e repita com"
            " --yes."
        )
    if typer.prompt(f"Digite {_CONFIRMATION} para apagar tudo isso") != _CONFIRMATION:
        raise CommandFailed("Nada foi apagado.")


def _blocks(found: "Findings", accounts: Mapping[int, str]) -> Sequence[Block]:
    held = found.held

    def row(kind: str, of: str, one: Any, at_ms: int) -> tuple[object, ...]:
        account_id = getattr(one, "account_id", None)
        return kind, of, None if account_id is None else accounts[account_id], when(at_ms)

    rows = [
        row(f"Cache ({_WHERE[mode]})", f"{one.subject} {one.uf}".strip(), None, one.asked_ms)
        for mode, entries in found.cached.items()
        for one in entries
    ]
    rows += [row("Consulta", one.operation, one, one.opened_ms) for one in held.requests]
    rows += [row("Comprovante", one.operation, one, one.created_ms) for one in held.receipts]
    rows += [
        row("Resultado repetível", one.request_id, one, one.expires_ms) for one in held.answers
    ]
    rows += [
        row("Linha de lote", f"{one.batch_id}, linha {one.line}", one, one.created_ms)
        for one in found.rows
    ]
    rows += [row("Item de carteira", one.item_id, one, one.created_ms) for one in held.items]
    rows += [row("Arquivo de lote", one.batch_id, one, one.created_ms) for one in found.named.files]
    table = TextTable.of(
        ("O quê", "De quê", "Conta", "Desde (ou até)"),
        rows,
        empty="Não há dados desta pessoa, exceto em backups e em dados guardados à parte.",
    )
    if not held.erased_ms:
        return [table]
    return [table, f"Já houve uma exclusão. A última foi em {when(held.erased_ms[-1])}."]


def _backups(settings: "Settings") -> Mapping[str, Any]:
    """Return the existing backups, and until when they are retained."""
    from balcao.core.calendar import HOUR_MS
    from balcao.storage.backup_files import kept_in

    copies = kept_in(settings.backups)
    regular = [one for one in copies if one.occasion == "balcao"]
    every_ms = settings.backup_every_hours * HOUR_MS
    gone_ms = None
    if regular and every_ms:
        # They are gone once as many new ones as are retained were made.
        gone_ms = max(system_now_ms(), regular[0].at_ms + every_ms)
        gone_ms += (settings.backup_keep - 1) * every_ms
    return {
        "regular": len(regular),
        "gone_by": iso(gone_ms),
        "gone_by_text": when(gone_ms),
        "others": [one.path.name for one in copies if one.occasion != "balcao"],
        "left_behind": _left_behind(settings),
    }


def _left_behind(settings: "Settings") -> Sequence[Path]:
    """Return the copies that a restore or a move set aside; they are never purged."""
    from balcao.home import Home
    from balcao.storage.places import place_of

    home = Home(settings.home)
    receipts = settings.receipts_folder
    folders = {home.path, home.path if receipts is None else receipts}
    aside = [path for folder in sorted(folders) for path in sorted(folder.glob("before-restore-*"))]
    aside += sorted(home.path.glob("*.damaged"))
    if place_of(settings).desk_file is not None:
        return aside
    old = (home.desk, home.cache("live"), home.cache("test"))
    return [*(path for path in old if path.is_file()), *aside]


def _backup_lines(backups: Mapping[str, Any]) -> Iterator[str]:
    if backups["regular"]:
        until = (
            "eles ficam até você apagar"
            if backups["gone_by"] is None
            else f"o último é apagado até {backups['gone_by_text']}"
        )
        yield f"Backups anteriores: {backups['regular']}; {until}."
    for name in backups["others"]:
        yield f"Este backup fica até você apagar: {name}"
    if backups["regular"] or backups["others"]:
        yield (
            "Restaurar um desses backups traz os dados de volta. Nesse caso, repita"
            f" {program()} subject erase."
        )
    for path in backups["left_behind"]:
        yield f"Dados anteriores, não verificados, que ficam até você apagar: {path}"


def _record(found: "Findings") -> Mapping[str, object]:
    held = found.held
    return {
        "cache": [
            {
                "mode": mode,
                "subject": one.subject,
                "uf": one.uf or None,
                **record(one, "asked_ms source"),
            }
            for mode, entries in found.cached.items()
            for one in entries
        ],
        "requests": [
            record(one, "account_id request_id operation opened_ms") for one in held.requests
        ],
        "receipts": [
            record(one, "account_id receipt_id operation created_ms") for one in held.receipts
        ],
        "recorded_answers": [
            record(one, "account_id request_id expires_ms") for one in held.answers
        ],
        "portfolio_items": [record(one, "account_id item_id created_ms") for one in held.items],
        "batch_rows": [record(one, "account_id batch_id line created_ms") for one in found.rows],
        "batch_files": [record(one, "account_id batch_id created_ms") for one in found.named.files],
        "erased_before_at": [iso(at_ms) for at_ms in held.erased_ms],
    }
