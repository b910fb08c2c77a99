"""The check of backups by `balcao doctor`."""

from collections.abc import Callable, Iterator

from balcao.core.calendar import HOUR_MS
from balcao.core.findings import Finding
from balcao.examination.wording import age, program, when
from balcao.home import Home
from balcao.settings import Settings
from balcao.storage.backup_files import is_on_another_disk, newest_ms

# A backup is late after this many times the configured interval.
LATE_TIMES = 2


def backups(now_ms: Callable[[], int], settings: Settings, home: Home) -> Iterator[Finding]:
    """Report whether the newest backup is recent enough."""
    folder, every = settings.backups, settings.backup_every_hours
    newest, now = newest_ms(folder), now_ms()
    if newest is None:
        if not home.secret.is_file():
            yield Finding("ok", "ainda não há dados para copiar")
            return
        text = f"nenhum em {folder}. Faça um: {program()} backup create"
        yield Finding("warn", text)
        return
    text = f"o mais recente é de {when(newest)} (há {age(now - newest)}), em {folder}"
    if not is_on_another_disk(folder, home.path):
        text_apart = (
            "os backups ficam no disco dos dados. Leve os backups para outra máquina ou indique"
            " em BALCAO_BACKUP_FOLDER uma pasta de outro disco"
        )
        yield Finding("ok", text_apart, "local dos backups")
    if every and now - newest > LATE_TIMES * every * HOUR_MS:
        text += f"; deveria haver um a cada {every} h. Veja o motivo no log"
        yield Finding("warn", text)
    elif not every:
        yield Finding("ok", f"{text}; os automáticos estão desativados")
    else:
        yield Finding("ok", text)
