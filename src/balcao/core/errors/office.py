"""Errors for operators only: callers of the API never get one."""

from balcao.core.errors.base import BalcaoError


class StorageNewer(BalcaoError):
    """The database was written by a newer version of this program."""

    operator_hint = (
        "O banco de dados foi gravado por uma versão mais nova do Balcão."
        " Atualize este programa antes de abri-lo."
    )


class StorageUnreleased(BalcaoError):
    """The data were written by a version before the first release."""

    operator_hint = (
        "Estes dados são de uma versão de desenvolvimento do Balcão, anterior à primeira"
        " publicada, e esta versão não os lê; nada foi alterado. Comece com uma pasta de"
        " dados vazia em BALCAO_HOME (com PostgreSQL, também com um banco de dados vazio em"
        " BALCAO_DATABASE). Cópias de segurança daquela versão também não podem ser"
        " restauradas."
    )


class StorageMoved(BalcaoError):
    """The data were moved elsewhere. `detail` is the place, without user or password."""

    operator_hint = (
        "Os dados foram movidos daqui para {detail}: {setting}. Para voltar a usar estes, sem o que"
        " foi feito lá desde então: {program} storage reopen."
    )

    def operator_text(self, program: str) -> str:
        """Return the text for the operator, with the setting for the new place."""
        setting = "remova BALCAO_DATABASE, e ponha essa pasta em BALCAO_HOME"
        if self.detail.startswith("postgresql:"):
            setting = "ponha o endereço desse PostgreSQL em BALCAO_DATABASE"
        return self.operator_hint.format(detail=self.detail, setting=setting, program=program)


class StorageIncomplete(BalcaoError):
    """The data are still being moved here. `detail`: their origin, without user or password."""

    operator_hint = (
        "Os dados ainda estão sendo movidos para cá, de {detail}. Use os de lá, ou termine a"
        " mudança a partir de lá: {program} storage move --to … --final."
    )


class PepperDiffers(BalcaoError):
    """The database's API keys were hashed with a `secret.key` other than this folder's."""

    operator_hint = (
        "As chaves deste banco de dados foram feitas com outro segredo. Ponha nesta pasta"
        " de dados, no lugar do que está aqui, o arquivo secret.key com que foram feitas: o"
        " de um nó que já serve, ou o que está na cópia de segurança (um arquivo tar)."
    )


class NameTaken(BalcaoError):
    """An account of this name exists already."""

    operator_hint = (
        "Já existe uma conta chamada {detail!r}."
        " Escolha outro nome; as que existem: {program} account list."
    )


class EmailTaken(BalcaoError):
    """A user with this e-mail address exists already. The error does not contain it."""

    operator_hint = "Já existe um usuário com esse e-mail. Veja: {program} user list."


class FormDone(BalcaoError):
    """This form was already carried out."""

    operator_hint = "Isso já foi feito; nada foi alterado de novo."


class TermsRefused(BalcaoError):
    """The account's consumption or debt does not allow these terms."""

    operator_hint = (
        "O que a conta já gastou ou deve não permite essa mudança: um plano com saldo não"
        " pode começar devendo, nem um teto ficar abaixo do que já foi usado no mês. Nada"
        " foi alterado. Veja: {program} account show CONTA."
    )


class LastOperator(BalcaoError):
    """The change would leave no operator who can sign in."""

    operator_hint = (
        "Esse é o último operador que consegue entrar; sem ele ninguém administraria a"
        " aplicação. Crie outro antes: {program} user create EMAIL --name NOME"
        " --operator."
    )


class HomeInUse(BalcaoError):
    """Another server is using this data folder. `detail` is the folder."""

    operator_hint = (
        "A pasta de dados {detail} já está em uso por outro servidor."
        " Encerre-o, ou use outra pasta: BALCAO_HOME=OUTRA_PASTA."
    )


class RestoreInterrupted(BalcaoError):
    """A restore stopped while it was replacing the data. `detail` is the data folder."""

    operator_hint = (
        "Uma restauração em {detail} foi interrompida no meio, e os dados de lá não estão inteiros."
        " Repita-a: {program} backup restore ARQUIVO --replace. O que havia antes não se perdeu:"
        " está na pasta before-restore-… (com PostgreSQL, na cópia before-restore-….tar)."
    )


class HomeDamaged(BalcaoError):
    """A file of the data folder is missing or incomplete. `detail` is its name."""

    operator_hint = (
        "O arquivo {detail} falta ou está incompleto. Sem ele nenhuma chave emitida"
        " é reconhecida: restaure-o da cópia de segurança."
    )


class ProviderUnusable(BalcaoError):
    """A provider cannot work with its settings.

    `detail` is the reason and the remedy, without secrets or the content of files. Providers have
    subclasses of this error.
    """

    operator_hint = "{detail}"
