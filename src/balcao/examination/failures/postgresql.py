"""Explain a failure of PostgreSQL to the operator, in one sentence that includes the remedy."""

import re

# Messages of libpq and servers, in English or Portuguese. They are never shown: for an invalid
# address they quote a part of it, with the password.
_REASONS = (
    (
        r"^old timeline",
        "Este PostgreSQL é um primário antigo. Outro já foi promovido depois dele, e o que for"
        " gravado aqui se perde. Nada foi alterado. Encerre este servidor e recrie como réplica"
        " (pg_rewind ou pg_basebackup). Se a volta é intencional, encerre os nós e apague"
        " postgresql-timelines.json da pasta de dados de cada um.",
    ),
    (
        r"^(a|the last) commit waits for a standby",
        "O PostgreSQL espera a confirmação de uma réplica síncrona que não responde. Verifique a"
        " réplica e a rede até ela; se ela não volta, retire-a de synchronous_standby_names."
        " Repita depois; nunca cancele a transação que espera.",
    ),
    (
        r"^the schema is not compatible",
        "Uma versão mais nova do Balcão mudou o banco de dados de um modo que esta não entende."
        " Instale a versão mais nova neste nó.",
    ),
    (
        r"^server too old",
        "Esta versão do PostgreSQL é antiga demais. O Balcão precisa da 14 ou mais nova.",
    ),
    (
        r"session is read-only|server is in hot standby mode|ReadOnlySqlTransaction",
        "O PostgreSQL encontrado só aceita leitura: é uma réplica, ou está com"
        " default_transaction_read_only ligado. Inclua no endereço todos os hosts (host1,host2),"
        " promova a réplica ou desative essa configuração.",
    ),
    (
        r"no password supplied",
        "O PostgreSQL exige uma senha. Informe em PGPASSWORD, em ~/.pgpass ou no endereço.",
    ),
    (
        r"password authentication failed|autenticação do tipo senha falhou",
        "O PostgreSQL recusou o usuário ou a senha. Corrija no endereço, em PGPASSWORD ou em"
        " ~/.pgpass.",
    ),
    (
        r"no pg_hba\.conf entry|nenhuma entrada no pg_hba\.conf",
        "O PostgreSQL não aceita esse usuário, vindo desta máquina, nesse banco de dados. Permita"
        " no pg_hba.conf do servidor.",
    ),
    (
        r'database ".*" does not exist|banco de dados ".*" não existe',
        "Esse banco de dados não existe no PostgreSQL. Corrija o nome no endereço ou crie o"
        " banco: createdb --owner USUÁRIO BANCO.",
    ),
    (
        r'role ".*" does not exist|(role|papel) ".*" não existe',
        "Esse usuário não existe no PostgreSQL. Corrija o endereço ou crie o usuário: createuser.",
    ),
    (
        r"failed to resolve host|could not translate host name",
        "O nome da máquina do PostgreSQL não foi encontrado. Corrija o endereço ou verifique o"
        " DNS.",
    ),
    (
        r"too many clients|too many connections|remaining connection slots|muitos clientes",
        "O PostgreSQL não tem mais conexões livres. Aumente max_connections ou encerre conexões"
        " em uso.",
    ),
    (
        r"starting up|shutting down|recovery mode|sendo iniciado|sendo desligado",
        "O PostgreSQL está iniciando ou parando. Repita em instantes.",
    ),
    (
        r"Connection refused|No such file or directory|timeout expired|Network is unreachable"
        r"|No route to host",
        "O PostgreSQL não responde. Verifique se ele está em funcionamento, a máquina e a porta.",
    ),
    (
        r"in connection info string|URI|connection option",
        "O endereço do PostgreSQL é inválido. Formato:"
        " postgresql://usuário:senha@host:5432/banco. Na senha, codifique o que não é letra nem"
        " algarismo (@ é %40).",
    ),
)
_WHERE = "(O endereço é o de BALCAO_DATABASE ou, em uma mudança de dados, o de --to.)"


def is_postgresql(error: BaseException | None) -> bool:
    """Return whether the error comes from the driver."""
    return any(each.__module__.startswith("psycopg") for each in type(error).__mro__)


def explain(error: BaseException | None, detail: str) -> str:
    """Return the sentence for a driver's error; for an unknown one, a general one with `detail`."""
    text = ""
    if is_postgresql(error):
        # With an SQLSTATE the text may contain data: use only the error's name.
        named = getattr(error, "sqlstate", None) is not None
        text = type(error).__name__ if named else str(error)
    for pattern, sentence in _REASONS:
        if re.search(pattern, text):
            return f"{sentence} {_WHERE}"
    return (
        f"O PostgreSQL não respondeu corretamente ({detail}). Verifique se ele está em"
        f" funcionamento e o endereço. {_WHERE}"
    )
