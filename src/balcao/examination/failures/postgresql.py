"""Why PostgreSQL does not do what it is asked, as one sentence that says what to do."""

import re

# What libpq and servers say, in English, or in Portuguese where the server speaks it. The text
# itself is never shown: of an address that cannot be read it repeats a part, with the password.
_REASONS = (
    (
        r"no password supplied",
        "O PostgreSQL pede uma senha, e não há nenhuma: ponha-a em PGPASSWORD, em ~/.pgpass ou no"
        " endereço.",
    ),
    (
        r"password authentication failed|autenticação do tipo senha falhou",
        "O PostgreSQL recusou o usuário ou a senha. Corrija-os no endereço, em PGPASSWORD ou em"
        " ~/.pgpass.",
    ),
    (
        r"no pg_hba\.conf entry|nenhuma entrada no pg_hba\.conf",
        "O PostgreSQL não aceita esse usuário, vindo desta máquina, nesse banco de dados: permita-o"
        " no pg_hba.conf do servidor.",
    ),
    (
        r'database ".*" does not exist|banco de dados ".*" não existe',
        "Esse banco de dados não existe no PostgreSQL. Corrija o nome no endereço, ou crie-o:"
        " createdb --owner USUÁRIO BANCO.",
    ),
    (
        r'role ".*" does not exist|(role|papel) ".*" não existe',
        "Esse usuário não existe no PostgreSQL. Corrija o endereço, ou crie-o: createuser.",
    ),
    (
        r"failed to resolve host|could not translate host name",
        "O nome da máquina do PostgreSQL não foi encontrado. Corrija-o no endereço, ou verifique o"
        " DNS.",
    ),
    (
        r"too many clients|too many connections|remaining connection slots|muitos clientes",
        "O PostgreSQL não tem mais conexões livres: aumente max_connections, ou encerre quem as"
        " usa.",
    ),
    (
        r"starting up|shutting down|recovery mode|sendo iniciado|sendo desligado",
        "O PostgreSQL está iniciando ou parando. Repita em instantes.",
    ),
    (
        r"Connection refused|No such file or directory|timeout expired|Network is unreachable"
        r"|No route to host",
        "Ninguém responde no endereço do PostgreSQL. Verifique se ele está no ar, a máquina e a"
        " porta.",
    ),
    (
        r"in connection info string|URI|connection option",
        "O endereço do PostgreSQL não pode ser lido. Ele é assim:"
        " postgresql://usuário:senha@host:5432/banco; o que não é letra nem algarismo na senha vai"
        " codificado (@ é %40).",
    ),
)
_WHERE = "(O endereço é o de BALCAO_DATABASE ou, ao mudar os dados de lugar, o de --to.)"


def is_postgresql(error: BaseException | None) -> bool:
    """Whether it comes from the driver."""
    return type(error).__module__.startswith("psycopg")


def explain(error: BaseException | None, detail: str) -> str:
    """The sentence for an error of the driver. `detail` is told where nothing better is known."""
    text = str(error) if is_postgresql(error) and getattr(error, "sqlstate", None) is None else ""
    for pattern, sentence in _REASONS:
        if re.search(pattern, text):
            return f"{sentence} {_WHERE}"
    return (
        f"O PostgreSQL não respondeu como devia ({detail}). Verifique se está no ar, e o"
        f" endereço. {_WHERE}"
    )
