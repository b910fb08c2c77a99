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
            yield Finding("ok", "ainda não há o que copiar")
            return
        text = f"nenhuma em {folder}; faça uma: {program()} backup create"
        yield Finding("warn", text)
        return
    text = f"a mais nova é de {when(newest)} (há {age(now - newest)}), em {folder}"
    if not is_on_another_disk(folder, home.path):
        text_apart = (
            "as cópias ficam no disco dos dados: leve-as para fora da máquina, ou ponha em"
            " BALCAO_BACKUP_FOLDER uma pasta de outro disco"
        )
        yield Finding("ok", text_apart, "lugar das cópias")
    if every and now - newest > LATE_TIMES * every * HOUR_MS:
        text += f"; deveria haver uma a cada {every} h: veja no registro por que não há"
        yield Finding("warn", text)
    elif not every:
        yield Finding("ok", f"{text}; as automáticas estão desligadas")
    else:
        yield Finding("ok", text)
