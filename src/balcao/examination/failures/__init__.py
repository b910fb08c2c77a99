"""Explain an expected failure to the operator, in one sentence that includes the remedy.

The texts of our own errors are on their classes (`core.errors`). Here are those of the operating
system, the databases and other libraries.
"""

import errno
from pathlib import Path

from balcao.examination.failures.postgresql import explain as explain_postgresql
from balcao.examination.failures.postgresql import is_postgresql
from balcao.examination.wording import program


class BadSettings(Exception):
    """The settings cannot be satisfied on this machine. The text is for the operator."""


def explain(error: Exception) -> str | None:
    """Return the sentence for an expected error; None for a bug."""
    if isinstance(error, BadSettings):
        return str(error)
    if isinstance(error, OSError):
        return _system(error)
    return _ours(error) or _backups(error) or _open_data(error) or _sqlite(error)


def _ours(error: Exception) -> str | None:
    from balcao.core.errors import BalcaoError, StorageFailed

    if isinstance(error, StorageFailed):
        cause = error.__cause__
        if is_postgresql(cause) or "database away" in error.detail:
            return explain_postgresql(cause, error.detail)
        if type(cause).__module__.startswith("obstore"):
            return (
                f"Os comprovantes não podem ser guardados em BALCAO_RECEIPTS ({error.detail})."
                " Use o caminho de uma pasta ou um endereço como s3://bucket/prefixo."
            )
        if isinstance(cause, OSError):
            return _system(cause)
        known = _sqlite(cause) if isinstance(cause, Exception) else None
        if known is not None:
            return known
    if isinstance(error, BalcaoError):
        return error.operator_text(program()) or None
    return explain_postgresql(error, type(error).__name__) if is_postgresql(error) else None


def _backups(error: Exception) -> str | None:
    from balcao.storage.transfer.errors import BackupError, MoveRefused

    return str(error) if isinstance(error, (BackupError, MoveRefused)) else None


def _open_data(error: Exception) -> str | None:
    from balcao.opendata import errors as opendata

    match error:
        case opendata.BuildRunning():
            return "Outra importação está em andamento. Espere que termine e repita."
        case opendata.VerificationFailed():
            problems = "; ".join(error.problems)
            advice = (
                "Se o tamanho estiver certo, repita com --force."
                if error.only_size
                else "Baixe os arquivos de novo. Aqui --force não ajuda."
            )
            return (
                f"O mês foi lido, mas não passou na verificação: {problems}."
                f" O mês em uso não foi trocado. {advice}"
            )
        case opendata.OpenDataError():
            return f"Dados abertos: {error}. O mês em uso não foi trocado."
    return None


def _sqlite(error: Exception) -> str | None:
    import apsw

    match error:
        case apsw.FullError():
            return "O disco está cheio. Nada foi alterado. Libere espaço e repita."
        case apsw.BusyError() | apsw.LockedError():
            return "O banco de dados está ocupado por outro processo. Repita em instantes."
        case apsw.NotADBError() | apsw.CorruptError():
            return f"O banco de dados está danificado. Restaure um backup: {program()} backup list."
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError():
            return (
                "O banco de dados não pode ser aberto para gravação. Verifique o dono e as"
                f" permissões da pasta de dados: {program()} doctor."
            )
        case apsw.IOError():
            return "O disco falhou ao ler ou gravar o banco de dados. Nada foi alterado."
    return None


def _system(error: OSError) -> str:
    where = f" ({Path(str(error.filename))})" if error.filename is not None else ""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return f"O disco está cheio{where}. Libere espaço e repita."
        case errno.EACCES | errno.EPERM:
            return f"Sem permissão{where}. Verifique o dono e as permissões."
        case errno.EROFS:
            return f"O disco está montado somente para leitura{where}."
        case errno.ENOENT:
            return f"Arquivo ou pasta não existe{where}."
        case errno.ENOTDIR | errno.EEXIST:
            return f"Há um arquivo onde devia haver uma pasta{where}."
        case errno.EISDIR:
            return f"Há uma pasta onde devia haver um arquivo{where}."
        case errno.EMFILE | errno.ENFILE:
            return "Há arquivos demais abertos; aumente o limite do sistema (ulimit -n)."
    return f"O sistema operacional recusou: {error.strerror or type(error).__name__}{where}."
