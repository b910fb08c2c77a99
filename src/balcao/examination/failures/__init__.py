"""What goes wrong on purpose, as one sentence that says what to do."""

import errno
from pathlib import Path

from balcao.examination.failures.postgresql import explain as explain_postgresql
from balcao.examination.failures.postgresql import is_postgresql
from balcao.examination.wording import program


class Unfit(Exception):
    """The settings ask for what cannot be here. The text is written for the operator."""


def explain(error: Exception) -> str | None:
    """The sentence for an expected error; None for a bug."""
    if isinstance(error, Unfit):
        return str(error)
    if isinstance(error, OSError):
        return _system(error)
    return _ours(error) or _backups(error) or _open_data(error) or _sqlite(error)


def _ours(error: Exception) -> str | None:
    from balcao.core import errors

    match error:
        case errors.HomeInUse():
            return (
                f"A pasta de dados {error.detail} já está em uso por outro servidor."
                " Encerre-o, ou use outra pasta: BALCAO_HOME=OUTRA_PASTA."
            )
        case errors.HomeDamaged():
            return (
                f"O arquivo {error.detail} falta ou está incompleto. Sem ele nenhuma chave emitida"
                " é reconhecida: restaure-o da cópia de segurança."
            )
        case errors.ProviderUnusable():
            return error.sentence.format(detail=error.detail)
        case errors.NameTaken():
            return (
                f"Já existe uma conta chamada {error.detail!r}."
                f" Escolha outro nome; as que existem: {program()} account list."
            )
        case errors.EmailTaken():
            return f"Já existe um usuário com esse e-mail. Veja: {program()} user list."
        case errors.FormDone():
            return "Isso já foi feito; nada foi alterado de novo."
        case errors.TermsRefused():
            return (
                "O que a conta já gastou ou deve não permite essa mudança: um plano com saldo não"
                " pode começar devendo, nem um teto ficar abaixo do que já foi usado no mês. Nada"
                f" foi alterado. Veja: {program()} account show CONTA."
            )
        case errors.LastOperator():
            return (
                "Esse é o último operador que consegue entrar; sem ele ninguém administraria a"
                f" aplicação. Crie outro antes: {program()} user create EMAIL --name NOME"
                " --operator."
            )
        case errors.StorageNewer():
            return (
                "O banco de dados foi gravado por uma versão mais nova do Balcão."
                " Atualize este programa antes de abri-lo."
            )
        case errors.StorageUnreleased():
            return (
                "Estes dados são de uma versão de desenvolvimento do Balcão, anterior à primeira"
                " publicada, e esta versão não os lê; nada foi alterado. Comece com uma pasta de"
                " dados vazia em BALCAO_HOME (com PostgreSQL, também com um banco de dados vazio em"
                " BALCAO_DATABASE). Cópias de segurança daquela versão também não podem ser"
                " restauradas."
            )
        case errors.StorageMoved():
            return (
                f"Os dados foram movidos daqui para {error.detail}:"
                f" {_setting_for(error.detail)}. Para voltar a usar estes, sem o que foi feito lá"
                f" desde então: {program()} storage reopen."
            )
        case errors.StorageIncomplete():
            return (
                f"Os dados ainda estão sendo movidos para cá, de {error.detail}. Use os de lá, ou"
                f" termine a mudança a partir de lá: {program()} storage move --to … --final."
            )
        case errors.PepperDiffers():
            return (
                "As chaves deste banco de dados foram feitas com outro segredo. Ponha nesta pasta"
                " de dados, no lugar do que está aqui, o arquivo secret.key com que foram feitas: o"
                " de um nó que já serve, ou o que está na cópia de segurança (um arquivo tar)."
            )
        case errors.StorageFailed():
            cause = error.__cause__
            if is_postgresql(cause) or "database away" in error.detail:
                return explain_postgresql(cause, error.detail)
            if type(cause).__module__.startswith("obstore"):
                return (
                    f"Os comprovantes não podem ser guardados em BALCAO_RECEIPTS ({error.detail})."
                    " Ela é o caminho de uma pasta, ou um endereço como s3://balde/prefixo."
                )
            if isinstance(cause, OSError):
                return _system(cause)
            known = _sqlite(cause) if isinstance(cause, Exception) else None
            return known or (
                f"O banco de dados não pôde ser gravado ({error.detail}); nada foi alterado."
                f" Verifique o disco: {program()} doctor."
            )
    return explain_postgresql(error, type(error).__name__) if is_postgresql(error) else None


def _setting_for(place: str) -> str:
    if place.startswith("postgresql:"):
        return "ponha o endereço desse PostgreSQL em BALCAO_DATABASE"
    return "remova BALCAO_DATABASE, e ponha essa pasta em BALCAO_HOME"


def _backups(error: Exception) -> str | None:
    from balcao.storage.copies.errors import BackupError
    from balcao.storage.ends.errors import MoveRefused

    return str(error) if isinstance(error, (BackupError, MoveRefused)) else None


def _open_data(error: Exception) -> str | None:
    from balcao.opendata import errors as opendata

    match error:
        case opendata.BuildRunning():
            return "Outra importação está em andamento. Espere que termine e repita."
        case opendata.VerificationFailed():
            problems = "; ".join(error.problems)
            advice = (
                "Se o tamanho está certo, repita com --force."
                if error.only_size
                else "Baixe os arquivos de novo: --force não muda isto."
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
            return "O disco está cheio; nada foi alterado. Libere espaço e repita."
        case apsw.BusyError() | apsw.LockedError():
            return "O banco de dados está ocupado por outro processo. Repita em instantes."
        case apsw.NotADBError() | apsw.CorruptError():
            return (
                "O banco de dados está danificado. Restaure uma cópia de segurança:"
                f" {program()} backup list."
            )
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError():
            return (
                "O banco de dados não pode ser aberto para gravação. Verifique o dono e as"
                f" permissões da pasta de dados: {program()} doctor."
            )
        case apsw.IOError():
            return "O disco falhou ao ler ou gravar o banco de dados; nada foi alterado."
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
