"""Make the archive of the present version, and record the checksums of its migrations.

    .venv/bin/python -m tests.releases.make

Run it on the commit of a release (docs/releasing.md). Needs PostgreSQL's programs.
"""

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from balcao import __version__
from balcao.accounts.keys import issue_key
from balcao.core.access import KeyRestrictions
from balcao.home import Home
from balcao.service.clock import system_now_ms
from balcao.settings import Settings
from balcao.storage.contract import NewAccount
from balcao.storage.sqlite.cache import SqliteCache
from balcao.storage.sqlite.desk import SqliteDesk
from tests.cli.storage_move.world import contents, furnish, keep
from tests.http.batcher import COMPANIES, FEDERAL, Batcher, certificates, some_cnpjs
from tests.records import company, federal, producer, sintegra, state, suframa
from tests.releases.archive import (
    ANSWERS,
    DUMP,
    FOLDER,
    RELEASES,
    Archive,
    answer,
    serving,
)
from tests.service import Client, Service, open_service
from tests.storage.postgres import Server, program

MIGRATIONS = Path("src/balcao/storage")
SUMS = RELEASES / "SHA256SUMS"

# Of the rows that are written directly.
MONTHS = (("2026-07-01", "2026-07-31"), ("2026-08-01", "2026-08-31"))
LOOKUPS = (
    company(COMPANIES[0]),
    company(some_cnpjs(1)[0]),
    sintegra(),
    producer("90010000100"),
    suframa(),
    federal(),
    state(),
    federal("cpf=90010000100&data_nascimento=19800101"),
    company("11111111111111"),  # an error, which is not charged
)


def fill(home: Path) -> dict[str, str]:
    """Fill a data folder with everything that a service keeps; return the keys by account."""
    with open_service(home, establishments=1, name="cliente") as service:
        keys = {"cliente": service.client.key}
        by_api(service)
    with closing(SqliteDesk(Home(home).desk, pepper=Home(home).pepper())) as desk:
        for new in (NewAccount("acme", "pre_pago", "live"), NewAccount("beta", "pos_pago", "live")):
            account = desk.create_account(new, system_now_ms())
            keys[new.name], _ = issue_key(desk, Home(home), account, "uso", system_now_ms())
        furnish(desk, Home(home))
    keep(SqliteCache(Home(home).cache("live")), 40)
    return keys


def by_api(service: Service) -> None:
    """Use the service as a client does: lookups, certificates, a budget, batches."""
    admin = service.another_key(service.client, restrictions=KeyRestrictions(administers=True))
    budget = {"de": {"tipo": "chave", "id": str(service.client.key_id)}, "periodo": "mes"}
    body = json.dumps(budget | {"teto_creditos": 900, "nome": "loja"}).encode()
    named = {"content_type": "application/json", "content_length": str(len(body))}
    assert service.request("POST", "/conta/v1/orcamentos", admin, body=body, **named).status == 201
    for number, path in enumerate(LOOKUPS):
        service.get(path, idempotency_key=f"pedido-{number:04}", x_referencia="nota-1")
    batcher = Batcher(service, service.client)
    files = {
        "cnpj-receita-federal": "cnpj;ref\n" + "".join(f"{each};a\n" for each in COMPANIES),
        FEDERAL: certificates(*some_cnpjs(3)),
    }
    for operation, file in files.items():
        batch = batcher.create(file, f"operacao={operation}")
        batcher.confirm(batch)
        batcher.until(batch, "concluido")
    # It waits for its confirmation.
    batcher.until(batcher.create("cnpj\n123\n" + COMPANIES[0] + "\n"), "cotado")


def requests(service: Service, key: str, account: str) -> list[dict[str, str]]:
    """Return requests whose answers follow from the stored data: repeated keys, and reads."""
    by = Client(0, 0, key)
    paths = ["/conta/v1/saldo", "/conta/v1/orcamentos", "/lotes/v1"]
    paths += [f"/conta/v1/consumo{query}" for query in ("", "?formato=csv", "?agrupar=referencia")]
    paths += [f"/conta/v1/consumo?de={first}&ate={last}" for first, last in MONTHS]
    operations: Any = service.get("/conta/v1/operacoes?referencia=nota-1", by).json["itens"]
    paths += ["/conta/v1/operacoes?referencia=nota-1"]
    paths += [f"/conta/v1/operacoes/{each['operacao_id']}" for each in operations]
    for batch in service.get("/lotes/v1", by).json["itens"]:
        one = f"/lotes/v1/{batch['id']}"
        paths += [one, f"{one}/linhas"]
        if batch["estado"] == "concluido":
            paths += [f"{one}/resultado.csv", f"{one}/resultado.jsonl"]
    found = [{"key": account, "path": path} for path in paths]
    if account != "cliente":
        return found
    for number, path in enumerate(LOOKUPS):
        idempotency_key = f"pedido-{number:04}"
        found.append({"key": account, "path": path, "idempotency_key": idempotency_key})
        repeated = service.get(path, by, idempotency_key=idempotency_key).json
        receipt = repeated.get("print")
        if receipt:
            found.append(
                {"key": account, "path": "/consultas" + receipt.partition("/consultas")[2]}
            )
    return found


def make(to: Path) -> None:
    """Write the three files of the present version."""
    with tempfile.TemporaryDirectory(prefix="balcao-release-") as name:
        scratch = Path(name)
        home = scratch / "home"
        keys = fill(home)
        at_ms = system_now_ms()
        empty = [name for name, (rows, _) in contents(Settings(home=home)).items() if not rows]
        assert not empty, f"no release would prove anything about {empty}"
        to.mkdir(exist_ok=True)
        pack(home, to / FOLDER)
        archive = Archive(to)
        copy = scratch / "copy"
        archive.unpack(copy)
        with serving(copy, at_ms) as service:
            asked = [
                one for account, key in keys.items() for one in requests(service, key, account)
            ]
            record = {
                "program": __version__,
                "at_ms": at_ms,
                "keys": keys,
                "answers": [answer(service, keys, one) for one in asked],
            }
        text = json.dumps(record, ensure_ascii=False, indent=1)
        (to / ANSWERS).write_text(text + "\n", "utf-8")
        moved = scratch / "moved"
        archive.unpack(moved)
        (to / DUMP).write_bytes(gzip.compress(dump(moved, at_ms), mtime=0))


def pack(home: Path, to: Path) -> None:
    """Write a data folder as an archive."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in sorted(home.rglob("*")):
            if path.is_file():
                tar.add(path, path.relative_to(home))
    to.write_bytes(gzip.compress(packed.getvalue(), mtime=0))


def dump(home: Path, at_ms: int) -> bytes:
    """Move a data folder to PostgreSQL, let a node start there once, and dump the database."""
    server = Server()
    try:
        address = server.new_database()
        environment = {**os.environ, "BALCAO_HOME": str(home)}
        move = [sys.executable, "-m", "balcao", "storage", "move", "--to", address, "--final"]
        subprocess.run(move, env=environment, check=True, stdout=subprocess.DEVNULL)
        with serving(home, at_ms, address):
            pass
        postgres = program("postgres")
        assert postgres is not None
        # Next to the server's program: the wrapper on Debian's PATH needs a cluster.
        dumps = Path(postgres).with_name("pg_dump")
        options = ["--no-owner", "--no-privileges", "--inserts", "--rows-per-insert=200"]
        result = subprocess.run([dumps, *options, address], check=True, capture_output=True)
    finally:
        server.remove()
    # Commands of psql, and settings that other versions of the server do not have.
    return b"".join(
        line
        for line in result.stdout.splitlines(keepends=True)
        if not line.startswith((b"\\", b"SET transaction_timeout", b"--"))
    )


def write_sums() -> None:
    """Write the checksums of all migrations."""
    files = sorted(MIGRATIONS.glob("*/migrations/*/*.sql"))
    lines = (f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file}\n" for file in files)
    SUMS.write_text("".join(lines), "utf-8")


def main() -> None:
    to = RELEASES / __version__
    if to.exists():
        shutil.rmtree(to)
    make(to)
    write_sums()
    for path in sorted(to.iterdir()):
        sys.stdout.write(f"{path.relative_to(RELEASES)}: {path.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
