"""Callers over HTTP see no difference after a move."""

import asyncio
from contextlib import closing
from typing import Any

import httpx2
import pytest

from balcao.accounts.links import token_digest
from balcao.core.people import Signature
from balcao.service.clock import system_now_ms
from balcao.storage.people import NewUser
from tests.cli.shell import Shell, free_port, keys_in, serving

COMPANY = "/consultas/v2/cnpj-receita-federal/90010001000100"
CERTIFICATE = "/consultas/v2/certidao-negativa-de-debitos-federal?cnpj=90010001000100"
TOKEN = "uma-sessao-de-antes"


def sign_in(shell: Shell) -> None:
    """Create a session of a user of the account."""

    async def work() -> None:
        with shell.desk() as desk:
            account = next(one for one in desk.accounts() if one.name == "pre-pago")
            new = NewUser("lia@exemplo.com.br", "Lia", "manager", account.account_id)
            signed = Signature("cli")
            user = await desk.people.add_user(new, signed, system_now_ms())
            await desk.people.set_password(user.user_id, "x", signed, system_now_ms())
            await desk.people.open_session(
                user.user_id, token_digest(TOKEN), signed, system_now_ms()
            )

    asyncio.run(work())


def responses(base: str, key: str, receipt: str) -> dict[str, Any]:
    """Request everything that must not change."""
    with closing(httpx2.Client(base_url=base, headers={"x-api-key": key})) as client:
        replayed = client.get(CERTIFICATE, headers={"idempotency-key": "a-mesma-de-antes"})
        kept = client.get(receipt)
        home = client.get("/app", headers={"cookie": f"balcao={TOKEN}"})
        assert (replayed.status_code, kept.status_code, home.status_code) == (200, 200, 200)
        return {
            "replayed": replayed.content,
            "receipt": kept.content,
            "balance": account("saldo", client),
            "consumption": account("consumo", client),
            "signed in": "Lia" in home.text,
        }


def account(page: str, client: httpx2.Client) -> Any:
    """Return a page of the account API without the request's ID."""
    result = client.get(f"/conta/v1/{page}").json()
    del result["request_id"]
    return result


def test_callers_see_no_difference(
    shell: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    with serving(shell.path, port) as server:
        server.wait_until_it_answers()
        key = keys_in(server.out)["pre-pago"]
        with closing(httpx2.Client(base_url=server.base, headers={"x-api-key": key})) as client:
            first = client.get(CERTIFICATE, headers={"idempotency-key": "a-mesma-de-antes"})
            assert client.get(COMPANY).status_code == 200
        receipt = first.json()["print"]
        sign_in(shell)
        assert shell(f"storage move --to {address} --json").json["ok"]
        before = responses(server.base, key, receipt)
        assert before["replayed"] == first.content
        assert before["signed in"]
        server.terminate()
    assert shell(f"storage move --to {address} --final --json").json["ok"]

    with serving(shell.path, port) as server:
        assert server.wait_until_it_ends() == 1
        assert "foram movidos daqui" in server.err
    monkeypatch.setenv("BALCAO_DATABASE", address)
    with serving(shell.path, port) as server:
        server.wait_until_it_answers()
        assert responses(server.base, key, receipt) == before
        with closing(httpx2.Client(base_url=server.base, headers={"x-api-key": key})) as client:
            assert client.get(COMPANY).headers["X-Creditos-Cobrados"] == "1"
            later = {page: account(page, client) for page in ("saldo", "consumo")}
        server.terminate()

    assert shell("storage move --to sqlite --final --json").json["ok"]
    monkeypatch.delenv("BALCAO_DATABASE")
    with serving(shell.path, port) as server:
        server.wait_until_it_answers()
        after = responses(server.base, key, receipt)
        assert after == {**before, "balance": later["saldo"], "consumption": later["consumo"]}
        assert after["balance"] != before["balance"]
        server.terminate()
    assert "O livro-razão confere" in shell("ledger check").out
