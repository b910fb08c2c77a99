"""Findings about a PostgreSQL server: what an operator should change in its setup."""

from collections.abc import Iterator

import msgspec

from balcao.core.findings import Finding
from balcao.core.writing import counted

OLDEST_VERSION = 14  # of PostgreSQL

CONNECTIONS_PER_NODE = 8
CONNECTIONS_BESIDE = 3  # of commands, backups and `doctor` itself

SERVER = "servidor PostgreSQL"
DURABILITY = "durabilidade"
STANDBYS = "réplicas"
CONNECTIONS = "conexões do banco"


class ServerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Settings and state of a server, readable by every user."""

    version: int
    synchronous_commit: str
    fsync: bool
    full_page_writes: bool
    standby_names: str  # `synchronous_standby_names`
    standbys: int  # connected now
    waiting_commits: int
    connections_max: int  # for this user on this database
    nodes: int  # that are connected now, commands among them
    pools_transactions: bool  # a pooler lends a connection for one transaction


def too_old(facts: ServerFacts) -> bool:
    """Return whether this version is not supported."""
    return facts.version < OLDEST_VERSION


def remarks(facts: ServerFacts) -> Iterator[Finding]:
    """Yield one finding for each subject, good or bad."""
    if too_old(facts):
        yield Finding(
            "fail",
            f"a versão {facts.version} é antiga demais. Atualize para a {OLDEST_VERSION} ou mais"
            " nova",
            SERVER,
        )
    yield from _durability(facts)
    yield from _standbys(facts)
    yield from _connections(facts)


def _durability(facts: ServerFacts) -> Iterator[Finding]:
    complaints = []
    if not facts.fsync:
        complaints.append("fsync está desativado: uma queda da máquina pode corromper o banco")
    if not facts.full_page_writes:
        complaints.append(
            "full_page_writes está desativado: uma queda da máquina pode corromper o banco"
        )
    if facts.synchronous_commit == "off":
        complaints.append(
            "synchronous_commit está em off: uma queda perde cobranças já confirmadas"
        )
    elif facts.synchronous_commit == "local" and (facts.standby_names or facts.standbys):
        complaints.append(
            "synchronous_commit está em local: nenhuma réplica é esperada, e a troca de primário"
            " perde cobranças já confirmadas"
        )
    if complaints:
        yield Finding("warn", f"{'; '.join(complaints)}. Restaure o padrão (on)", DURABILITY)
    else:
        yield Finding("ok", "fsync, full_page_writes e synchronous_commit ligados", DURABILITY)


def _standbys(facts: ServerFacts) -> Iterator[Finding]:
    standbys = counted(facts.standbys, "réplica conectada", "réplicas conectadas")
    if facts.waiting_commits:
        waiting = counted(facts.waiting_commits, "transação espera", "transações esperam")
        yield Finding(
            "fail",
            f"{waiting} a confirmação de uma réplica síncrona ({standbys}). Verifique a réplica e a"
            " rede até ela; não cancele a transação",
            STANDBYS,
        )
    elif facts.standby_names and not facts.standbys:
        yield Finding(
            "warn",
            "synchronous_standby_names exige uma réplica, e nenhuma está conectada: nada pode ser"
            " gravado",
            STANDBYS,
        )
    elif facts.standbys and not facts.standby_names:
        yield Finding(
            "warn",
            f"{standbys}, e nenhuma é esperada: a troca de primário perde as últimas cobranças."
            " Defina synchronous_standby_names",
            STANDBYS,
        )
    elif facts.standbys:
        yield Finding("ok", f"{standbys}, com espera por confirmação", STANDBYS)
    else:
        yield Finding("ok", "nenhuma", STANDBYS)


def _connections(facts: ServerFacts) -> Iterator[Finding]:
    complaints = []
    nodes = max(1, facts.nodes)
    needed = nodes * CONNECTIONS_PER_NODE + CONNECTIONS_BESIDE
    if facts.connections_max < needed:
        complaints.append(
            f"este usuário pode abrir {facts.connections_max}, e"
            f" {counted(nodes, 'nó precisa', 'nós precisam')} de {needed}: aumente CONNECTION LIMIT"
            " ou max_connections"
        )
    if facts.pools_transactions:
        complaints.append(
            "há um pool por transação (PgBouncer) no caminho, e o serviço depende da sessão: use"
            " pool_mode = session ou conexões diretas"
        )
    if complaints:
        yield Finding("warn", "; ".join(complaints), CONNECTIONS)
    else:
        yield Finding("ok", f"até {facts.connections_max}", CONNECTIONS)
