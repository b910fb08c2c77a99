"""Errors for operators only: callers of the API never get one."""

from balcao.core.errors.base import BalcaoError


class StorageNewer(BalcaoError):
    """The database was written by a newer version of this program."""

    operator_hint = (
        "O banco de dados foi gravado por uma versão mais nova do Balcão."
        " Atualize este programa antes de abri-lo."
    )
    _WAYS = (
        "O banco de dados foi atualizado pelo Balcão {written_by}, e este é o {this}. Nada foi"
        " alterado.\n\nPara continuar, instale o {written_by} e inicie de novo:\n\n"
        "  pip install --no-deps balcao-{written_by}-py3-none-any.whl\n\n"
        "Para voltar ao {this}, encerre todos os nós e restaure, com o {written_by} instalado, o"
        " backup anterior à atualização. O que foi cobrado desde então se perde:\n\n"
        "  {program} backup restore {saved_in} --replace\n"
        "  pip install --no-deps balcao-{this}-py3-none-any.whl\n\n"
    )

    def __init__(
        self, detail: str = "", *, written_by: str = "", this: str = "", saved_in: str | None = None
    ) -> None:
        """`written_by`, `this`: the versions of the programs, if they are known.

        `saved_in`: the backup made before the database was migrated beyond this program's schema.
        """
        super().__init__(detail)
        self.written_by, self.this, self.saved_in = written_by, this, saved_in

    def operator_text(self, program: str) -> str:
        """Return the text for the operator, with the commands for both ways out."""
        if not self.written_by:
            return super().operator_text(program)
        where = (
            "O backup está na pasta do nó que fez a atualização."
            if self.saved_in
            else "ARQUIVO é o backup que você fez por outros meios antes da atualização."
        )
        ways = self._WAYS.format(
            written_by=self.written_by,
            this=self.this,
            program=program,
            saved_in=self.saved_in or "ARQUIVO",
        )
        return ways + where


class OlderNodesRunning(BalcaoError):
    """Nodes of an earlier schema are running that cannot serve after the next migration."""

    operator_hint = (
        "Esta versão muda o banco de dados de um modo que os nós da versão anterior não entendem,"
        " e algum deles ainda está em funcionamento. Nada foi alterado. Encerre todos os nós e"
        " repita."
    )


class StorageUnreleased(BalcaoError):
    """The data were written by a version before the first release."""

    operator_hint = (
        "Estes dados são de uma versão de desenvolvimento do Balcão, anterior à primeira"
        " publicada. Esta versão não consegue ler esses dados. Nada foi alterado. Comece com uma"
        " pasta de dados vazia em BALCAO_HOME (com PostgreSQL, também com um banco de dados vazio"
        " em BALCAO_DATABASE). Backups daquela versão também não podem ser restaurados."
    )


class StorageMoved(BalcaoError):
    """The data were moved elsewhere. `detail` is the place, without user or password."""

    operator_hint = (
        "Os dados foram movidos daqui para {detail}: {setting}. Para voltar a usar estes dados,"
        " sem as mudanças feitas lá desde então: {program} storage reopen."
    )

    def operator_text(self, program: str) -> str:
        """Return the text for the operator, with the setting for the new place."""
        setting = "remova BALCAO_DATABASE e defina BALCAO_HOME com essa pasta"
        if self.detail.startswith("postgresql:"):
            setting = "defina BALCAO_DATABASE com o endereço desse PostgreSQL"
        return self.operator_hint.format(detail=self.detail, setting=setting, program=program)


class StorageIncomplete(BalcaoError):
    """The data are still being moved here. `detail`: their origin, without user or password."""

    operator_hint = (
        "Os dados ainda estão sendo movidos de {detail} para cá. Use os de lá ou termine a"
        " mudança a partir de lá: {program} storage move --to … --final."
    )


class PepperDiffers(BalcaoError):
    """The database's API keys were hashed with a `secret.key` other than this folder's."""

    operator_hint = (
        "As chaves deste banco de dados foram criadas com outro segredo. Substitua o secret.key"
        " desta pasta de dados pelo original: o de um nó em funcionamento ou o que está no backup"
        " (um arquivo tar)."
    )


class NameTaken(BalcaoError):
    """An account of this name exists already."""

    operator_hint = (
        "Já existe uma conta chamada {detail!r}. Escolha outro nome. Contas existentes: {program}"
        " account list."
    )


class EmailTaken(BalcaoError):
    """A user with this e-mail address exists already. The error does not contain it."""

    operator_hint = "Esse e-mail já está em uso. Veja: {program} user list."


class FormDone(BalcaoError):
    """This form was already carried out."""

    operator_hint = "Isso já foi feito. Nada foi alterado de novo."


class TermsRefused(BalcaoError):
    """The account's consumption or debt does not allow these terms."""

    operator_hint = (
        "O gasto ou o saldo da conta não permite essa mudança: um plano com saldo não aceita"
        " saldo negativo, e o limite mensal não pode ser menor que o valor já usado no mês. Nada"
        " foi alterado. Veja: {program} account show CONTA."
    )


class LastOperator(BalcaoError):
    """The change would leave no operator who can sign in."""

    operator_hint = (
        "Este é o último operador que consegue entrar. Crie outro antes: {program} user create"
        " EMAIL --name NOME --operator."
    )


class HomeInUse(BalcaoError):
    """Another server is using this data folder. `detail` is the folder."""

    operator_hint = (
        "A pasta de dados {detail} já está em uso por outro servidor. Encerre o servidor ou use"
        " outra pasta: BALCAO_HOME=OUTRA_PASTA."
    )


class RestoreInterrupted(BalcaoError):
    """A restore stopped while it was replacing the data. `detail` is the data folder."""

    operator_hint = (
        "Uma restauração em {detail} foi interrompida e os dados estão incompletos. Repita:"
        " {program} backup restore ARQUIVO --replace. Os dados anteriores não se perderam: estão"
        " na pasta before-restore-… (com PostgreSQL, no backup before-restore-….tar)."
    )


class HomeDamaged(BalcaoError):
    """A file of the data folder is missing or incomplete. `detail` is its name."""

    operator_hint = (
        "O arquivo {detail} está ausente ou incompleto. Sem ele, nenhuma chave emitida é"
        " reconhecida. Restaure o arquivo de um backup."
    )


class ProviderUnusable(BalcaoError):
    """A provider cannot work with its settings.

    `detail` is the reason and the remedy, without secrets or the content of files. Providers have
    subclasses of this error.
    """

    operator_hint = "{detail}"
