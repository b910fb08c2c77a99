"""A metered lookup written the obvious way: an ORM, a transaction per request.

Authentication, a per-minute limit, a cached answer and a durable charge, in SQLAlchemy sessions on
SQLite (WAL, synchronous=FULL like ours), in worker threads, behind the same server. For comparison
only, and fair: no needless queries, all useful indexes.
"""

import asyncio
import hashlib
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server.embed import Server
from sqlalchemy import ForeignKey, create_engine, event, func, select
from sqlalchemy.engine import Engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

LIMIT_PER_MINUTE = 10_000_000


class Base(DeclarativeBase):
    pass


class Account(Base):
    __tablename__ = "account"
    id: Mapped[int] = mapped_column(primary_key=True)
    balance: Mapped[int]


class ApiKey(Base):
    __tablename__ = "api_key"
    hash: Mapped[str] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))


class Window(Base):
    __tablename__ = "rate_window"
    account_id: Mapped[int] = mapped_column(primary_key=True)
    minute: Mapped[int] = mapped_column(primary_key=True)
    requests: Mapped[int]


class Answer(Base):
    __tablename__ = "answer"
    document: Mapped[str] = mapped_column(primary_key=True)
    body: Mapped[str]


class Entry(Base):
    __tablename__ = "entry"
    id: Mapped[str] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"), index=True)
    credits: Mapped[int]
    at: Mapped[float]


def open_engine(path: Path) -> Engine:
    engine = create_engine(
        f"sqlite:///{path}", connect_args={"timeout": 60, "check_same_thread": False}, pool_size=64
    )

    @event.listens_for(engine, "connect")
    def _settings(connection: Any, _: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def answer(engine: Engine, key: str, document: str) -> tuple[int, bytes]:
    with Session(engine) as session, session.begin():
        owner = session.get(ApiKey, hashlib.sha256(key.encode()).hexdigest())
        if owner is None:
            return 401, b"{}"
        account = session.get_one(Account, owner.account_id)
        minute = int(time.time() // 60)
        window = session.get(Window, (account.id, minute))
        if window is None:
            window = Window(account_id=account.id, minute=minute, requests=0)
            session.add(window)
        if window.requests >= LIMIT_PER_MINUTE:
            return 429, b"{}"
        window.requests += 1
        kept = session.get(Answer, document)
        if kept is None:
            return 404, b"{}"
        if account.balance < 1:
            return 402, b"{}"
        account.balance -= 1
        request_id = str(uuid.uuid4())
        session.add(Entry(id=request_id, account_id=account.id, credits=-1, at=time.time()))
        body = f'{{"request_id":"{request_id}","response":{kept.body}}}'
    return 200, body.encode()


def prepare(engine: Engine, key: str, documents: list[str], body: str) -> None:
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        session.add(Account(id=1, balance=10**9))
        session.flush()
        session.add(ApiKey(hash=hashlib.sha256(key.encode()).hexdigest(), account_id=1))
        session.add_all(Answer(document=document, body=body) for document in documents)


def entries(engine: Engine) -> int:
    with Session(engine) as session:
        return session.scalar(select(func.count()).select_from(Entry)) or 0


async def serve(path: Path, port: int) -> None:
    engine = open_engine(path)

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        key = next((v for n, v in scope["headers"] if n == b"x-api-key"), b"").decode()
        document = scope["path"].rpartition("/")[2]
        status, body = await asyncio.to_thread(answer, engine, key, document)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    await Server(
        app,
        port=port,
        interface=Interfaces.ASGI,
        websockets=False,
        log_level=LogLevels.error,
    ).serve()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2])))
