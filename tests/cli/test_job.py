"""`balcao job`, and findings of `balcao doctor` about jobs."""

import asyncio

from balcao.core.ledger import Enqueue
from balcao.service.clock import system_now_ms
from tests.cli.shell import Shell


def test_failed_jobs_are_listed_and_retried(shell: Shell) -> None:
    def doctor() -> tuple[str, str]:
        checks = shell("doctor --json").json["checks"]
        (found,) = [check for check in checks if check["name"] == "tarefas"]
        return found["status"], found["text"]

    shell("account create acme --plan pre_pago")
    assert doctor() == ("ok", "nenhuma na fila")
    now = system_now_ms()
    with shell.desk() as desk:
        desk.commit_now([Enqueue("it", "a", now), Enqueue("it", "b", now)])

        async def fail() -> None:
            (job,) = await desk.jobs.claim("it", "me", now, now + 1, 1, 1)
            await desk.jobs.fail(job, "me", "OSError", now, None)

        asyncio.run(fail())
    status, text = doctor()
    assert status == "warn"
    assert text.startswith("it: 1 com falha; it: 1 na fila; ")
    assert "job retry" in text
    assert shell("job list --json").json[0] == {
        "kind": "it", "state": "failed", "count": 1, "error": "OSError",
    }  # fmt: skip
    assert "OSError" in shell("job list").out
    assert shell("job retry").out == "Recomeçadas: 1.\n"
    assert doctor() == ("ok", "it: 2 na fila")
