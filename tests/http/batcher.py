"""A client of `/lotes/v1`, and files for it."""

import asyncio
import json
from typing import Any

from balcao.core.check_digits import cnpj_check_digits
from tests.service import Client, Reply, Service, call

COMPANIES = ("90010001000100", "90010002000154", "90010003000107")
FEDERAL = "certidao-negativa-de-debitos-federal"


class Batcher:
    """A client with batches."""

    def __init__(self, house: Service, client: Client) -> None:
        self.house, self.client = house, client
        self._keys = 0

    async def acall(self, method: str, path: str, body: object = None, **headers: str) -> Reply:
        named = {"x-api-key": self.client.key}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if isinstance(body, bytes) else b""
        if body is not None and not isinstance(body, bytes):
            content = json.dumps(body).encode()
            named.setdefault("content-type", "application/json")
        if content:
            named["content-length"] = str(len(content))
        return await call(self.house.application.app, method, f"/lotes/v1{path}", named, content)

    def call(self, method: str, path: str, body: object = None, **headers: str) -> Reply:
        return self.house.run(self.acall(method, path, body, **headers))

    def create(
        self, file: str, query: str = "operacao=cnpj-receita-federal", **headers: str
    ) -> str:
        self._keys += 1
        answer = self.call(
            "POST",
            f"?{query}",
            file.encode(),
            content_type="text/csv",
            idempotency_key=f"lote-{self.client.account_id}-{self._keys}",
            **headers,
        )
        assert answer.status == 201, answer.body
        assert answer.headers["location"] == f"/lotes/v1/{answer.json['id']}"
        number: str = answer.json["id"]
        return number

    def show(self, number: str) -> Any:
        return self.call("GET", f"/{number}").json

    def until(self, number: str, *states: str) -> Any:
        async def wait() -> Any:
            async with asyncio.timeout(60):
                while True:
                    body = (await self.acall("GET", f"/{number}")).json
                    if body["estado"] in states:
                        return body
                    await asyncio.sleep(0.01)

        return self.house.run(wait())

    def confirm(self, number: str, ceiling: int | None = None) -> Any:
        body = self.until(number, "cotado")
        most = body["cotacao"]["creditos_max"] if ceiling is None else ceiling
        answer = self.call(
            "POST",
            f"/{number}/confirmar",
            {"digest": body["cotacao"]["digest"], "teto_creditos": most},
        )
        assert answer.status == 200, answer.body
        return answer.json

    def rows(self, number: str, query: str = "") -> Any:
        return self.call("GET", f"/{number}/linhas{query}").json["itens"]


def certificates(*cnpjs: str) -> str:
    return "cnpj\n" + "".join(f"{each}\n" for each in cnpjs)


def some_cnpjs(count: int, root: int = 90_040_001) -> list[str]:
    """Companies of the sandbox, each with a certificate."""
    stems = [f"{number:08}0001" for number in range(root, root + count)]
    return [stem + cnpj_check_digits(stem) for stem in stems]
