"""`/app/operador/sistema`: health, backups and settings of the installation.

An examination and a backup can be started here.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError
from starlette.responses import Response

from balcao.core.calendar import HOUR_MS
from balcao.core.findings import Status
from balcao.settings import Settings
from balcao.settings.in_force import EffectiveSetting, by_group, in_force, setting_name
from balcao.storage.backup_files import KeptBackup, is_on_another_disk, kept_in, partial_bytes
from balcao.web.kit.context import PageContext
from balcao.web.kit.words.vocabulary import Word
from balcao.web.pages.operator import requested

_PATH = "/app/operador/sistema"

WORDS: dict[Status, Word] = {
    "ok": Word("ok", "good"),
    "warn": Word("aviso", "warn"),
    "fail": Word("falha", "bad"),
}
OCCASIONS = {
    "balcao": "periódico ou manual",
    "before-migration": "antes de atualizar as tabelas",
    "before-restore": "antes de restaurar outra",
}


async def health(context: PageContext) -> Response:
    """Show the findings of the last examination, the failures first; start the first one."""
    seen = context.tools.examinations
    if seen.last is None:
        await seen.start(context.now_ms())
    last = seen.last
    worst_first = sorted(
        () if last is None else last.findings,
        key=lambda one: ("fail", "warn", "ok").index(one.status),
    )
    return context.page(
        "operador/saude.html",
        last=last,
        since_ms=seen.since_ms,
        findings=[(WORDS[one.status], one.name, one.text) for one in worst_first],
        failures=sum(one.status == "fail" for one in worst_first),
        warnings=sum(one.status == "warn" for one in worst_first),
    )


async def examine(context: PageContext) -> Response:
    """Start an examination."""
    await context.tools.examinations.start(context.now_ms())
    return context.redirect(_PATH)


@dataclass(frozen=True, slots=True)
class BackupRow:
    """One backup in the folder. `size` in bytes; None: it was deleted meanwhile."""

    kept: KeptBackup
    occasion: str
    size: int | None


_COPIES = "/app/operador/copias"


async def make_backup(context: PageContext) -> Response:
    """Request a backup now."""
    problem = await requested.request(context, "backup")
    return await _backups(context, problem) if problem else context.redirect(_COPIES)


async def backups(context: PageContext) -> Response:
    """Show the backups in the folder, newest first."""
    return await _backups(context)


async def _backups(context: PageContext, alert: str | None = None) -> Response:
    settings = context.settings
    rows, apart = await asyncio.to_thread(_backup_rows, settings)
    newest = next((row.kept.at_ms for row in rows if row.kept.occasion == "balcao"), None)
    every = settings.backup_every_hours
    late = bool(every and newest and context.now_ms() - newest > 2 * every * HOUR_MS)
    return context.page(
        "operador/copias.html",
        409 if alert else 200,
        alert=alert,
        making=await requested.status_of(context, "backup"),
        written=await asyncio.to_thread(partial_bytes, settings.backups),
        rows=rows,
        folder=settings.backups,
        every=every,
        keep=settings.backup_keep,
        is_apart=apart,
        newest=newest,
        late=late,
    )


def _backup_rows(settings: Settings) -> tuple[Sequence[BackupRow], bool]:
    rows = []
    for kept in kept_in(settings.backups):
        try:
            size: int | None = kept.path.stat().st_size
        except OSError:
            size = None
        rows.append(BackupRow(kept, OCCASIONS.get(kept.occasion, kept.occasion), size))
    return rows, is_on_another_disk(settings.backups, settings.home)


_UNREADABLE = (
    "balcao.toml mudou desde o início do serviço e não pode mais ser lido. Veja o erro com balcao"
    " config show e corrija o arquivo. Até o próximo início, vale a configuração lida no último."
)


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting. `changed`: the configured value differs from the one in force."""

    variable: str
    name: str
    text: str
    origin: str
    changed: bool


async def settings_in_force(context: PageContext) -> Response:
    """Show every setting, its value without secrets, and its origin."""
    try:
        groups = await asyncio.to_thread(_groups, context.settings)
    except (ValueError, OSError):  # TOML errors, too; the settings in force were read at the start
        return context.problem(409, "Origem desconhecida", _UNREADABLE)
    only = context.query("so") == "definidas"
    shown = [
        (title, [row for row in rows if not only or row.origin != "padrão" or row.changed])
        for title, rows in groups
    ]
    return context.page(
        "operador/configuracoes.html",
        groups=[(title, rows) for title, rows in shown if rows],
        all=sum(len(rows) for _, rows in groups),
        only=only,
    )


def _groups(settings: Settings) -> Sequence[tuple[str, Sequence[SettingRow]]]:
    """Return the titles of the groups of settings, each with its rows."""
    try:
        written = {one.path: one.value for one in in_force(Settings())}
    except (ValidationError, ValueError, OSError):  # changed since the start, and invalid
        written = {}

    def row(one: EffectiveSetting) -> SettingRow:
        changed = one.path not in written or written[one.path] != one.value
        return SettingRow(setting_name(one.path), one.name, _text(one.value), one.origin, changed)

    return [(group.value, [*map(row, members)]) for group, members in by_group(in_force(settings))]


def _text(value: object) -> str:
    if value is None or value in ("", [], {}):
        return "—"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
