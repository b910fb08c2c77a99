"""Checks of disks and of the store of receipts."""

import asyncio
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from balcao.core.errors import StorageFailed
from balcao.core.findings import Finding
from balcao.core.store_mark import Standing, compare_marks, may_delete
from balcao.examination.wording import decimal, program, whole
from balcao.home import Home
from balcao.settings import Settings
from balcao.storage.places import place_of

DISK_BYTES_MIN = 200_000_000
DISK_BYTES_COMFORTABLE = 5_000_000_000

# A disk may have free bytes but no free inodes.
DISK_FILES_MIN = 1_000

RECEIPTS = "comprovantes"

_GIGABYTE = 1_000_000_000

# Errors of S3-compatible stores for missing permissions.
_REFUSED = re.compile(
    "PermissionDenied|Unauthenticated|AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch"
)


def disks(settings: Settings, home: Home) -> Iterator[Finding]:
    """Report free bytes and inodes of every disk that is written to."""
    seen = {_existing(home.path).stat().st_dev}
    yield _data_disk(_existing(home.path))
    for name, folder in _other_places(settings):
        existing = _existing(folder)
        if existing.stat().st_dev not in seen:
            seen.add(existing.stat().st_dev)
            yield _other_disk(name, existing)


def _other_places(settings: Settings) -> Sequence[tuple[str, Path]]:
    receipts = settings.receipts_folder
    return [
        ("disco dos backups", settings.backups),
        *([("disco dos comprovantes", receipts)] if receipts is not None else []),
    ]


def _existing(path: Path) -> Path:
    """Return the folder, or its nearest existing parent."""
    existing = path.absolute()
    while not existing.exists():
        existing = existing.parent
    return existing


def _data_disk(existing: Path) -> Finding:
    free = shutil.disk_usage(existing).free
    text = f"{decimal(free / _GIGABYTE)} GB livres"
    if free < DISK_BYTES_MIN:
        return Finding("fail", f"{text}. Libere espaço ou nada poderá ser gravado")
    if (few := _too_few_files(existing)) is not None:
        return Finding("fail", f"{text}, mas {few}: remova arquivos pequenos")
    if free < DISK_BYTES_COMFORTABLE:
        return Finding("warn", f"{text}: pouco para importar um mês do CNPJ")
    return Finding("ok", text)


def _other_disk(name: str, existing: Path) -> Finding:
    """Report a disk whose lack of space prevents backups or receipts, but not the service."""
    free = shutil.disk_usage(existing).free
    text = f"{decimal(free / _GIGABYTE)} GB livres em {existing}"
    if free < DISK_BYTES_MIN:
        return Finding("warn", f"{text}: libere espaço", name)
    if (few := _too_few_files(existing)) is not None:
        return Finding("warn", f"{text}, mas {few}: remova arquivos pequenos", name)
    return Finding("ok", text, name)


def _too_few_files(existing: Path) -> str | None:
    """Describe the free inodes, if they are few. Some file systems do not count them."""
    disk = os.statvfs(existing)
    if disk.f_files == 0 or disk.f_favail >= DISK_FILES_MIN:
        return None
    return f"só cabem mais {whole(disk.f_favail)} arquivos (inodes)"


def receipts(settings: Settings, _: Home) -> Iterator[Finding]:
    """Try to write, read and remove a few bytes in the store of receipts."""
    folder = settings.receipts_folder
    if folder is not None and not folder.is_dir():
        yield _folder_to_come(folder)
        return
    from balcao.storage.blobs import open_blobs

    where = settings.receipts if folder is None else folder
    try:
        asyncio.run(open_blobs(where).probe())
    except StorageFailed as error:
        yield Finding("fail", f"{where} {_remedy(error.detail, folder)}")
    else:
        yield Finding("ok", f"{where}: leitura e gravação")
        yield from _restored(settings, where)


def _restored(settings: Settings, where: Path | str) -> Iterator[Finding]:
    """Report a desk older than its receipts (ADR 0074), or a mark that is not written yet."""
    from balcao.storage.blobs import open_blobs
    from balcao.storage.desk.receipt_marks import marks_in

    place = place_of(settings)
    if place.desk_file is not None and not place.desk_file.is_file():
        return
    in_store, _ = asyncio.run(open_blobs(where).read_mark())
    with place.inspect() as look:
        if look.schema() != look.newest:  # reported by the check of the database
            return
        marks = marks_in(look.connection)
    standing = compare_marks(in_store, marks)
    if not may_delete(standing):
        yield Finding("fail", f"{_STANDINGS[standing]} {_UNCONFIRMED}", "restauração")
    elif marks and (in_store is None or marks[-1].mark != in_store.mark):
        # Normally written into the store a moment after its commit.
        waiting = time.time() - marks[-1].at_ms / 1000
        if waiting > _MARK_WAITS_SECONDS:
            yield Finding("warn", _MARK_REFUSED.format(round(waiting / 60)), "restauração")


_STANDINGS: Mapping[Standing, str] = {
    "behind": "o banco de dados é mais antigo que os comprovantes. Ele foi restaurado.",
    "foreign": "os comprovantes são de outra instalação.",
    "unmarked": "os comprovantes não têm a marca deste banco de dados. Eles foram restaurados ou"
    " são outros.",
}
_MARK_WAITS_SECONDS = 300.0
_MARK_REFUSED = (
    "a marca que liga os comprovantes ao banco de dados espera há {} minutos para ser gravada. Se"
    " o serviço está em funcionamento, o armazenamento está recusando: verifique as permissões e"
    " se ele aceita gravações condicionais (If-Match)"
)
_UNCONFIRMED = (
    "Nenhum comprovante é apagado. Em um teste, aponte BALCAO_RECEIPTS para outro lugar. Se estes"
    f" dados são os válidos: {program()} backup confirm"
)


def _folder_to_come(folder: Path) -> Finding:
    existing = _existing(folder)
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return Finding("ok", f"{folder} ainda não existe. Será criada no próximo início")
    text = (
        f"{folder} não existe e não pode ser criada. Verifique o dono e as permissões de {existing}"
    )
    return Finding("fail", text)


def _remedy(detail: str, folder: Path | None) -> str:
    if folder is not None:
        return f"não pode ser gravada ({detail}): verifique o dono, as permissões e o disco"
    if "NoSuchBucket" in detail:
        return "não existe: crie o bucket ou corrija BALCAO_RECEIPTS"
    if _REFUSED.search(detail):
        return (
            f"recusou as credenciais ({detail}): verifique AWS_ACCESS_KEY_ID,"
            " AWS_SECRET_ACCESS_KEY, AWS_REGION e as permissões de gravar, ler, listar e apagar"
        )
    return f"não pôde ser usado ({detail}): verifique AWS_ENDPOINT_URL, AWS_REGION e a rede"
