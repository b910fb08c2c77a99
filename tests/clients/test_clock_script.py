"""The guide's script that moves the clock of a test portfolio (20.8), with curl alone."""

import json
import os
import re
import subprocess
from importlib import resources

from tests.cli.shell import Server
from tests.clients import interpreters

PRINTED = re.compile(r'"tipo":"([a-z_.]+)"')


def script(language: str) -> str:
    """Return the script of the guide in a language."""
    docs = resources.files("balcao.web.pages.docs")
    guide = docs / ("texts" if language == "pt" else "english/guides") / "carteira.md"
    (found,) = re.findall(
        r"^## (?:Testar com o relógio|Test with the clock)$.*?```sh\n(.*?)```",
        guide.read_text("utf-8"),
        re.DOTALL | re.MULTILINE,
    )
    return str(found)


def test_the_guides_have_the_same_script() -> None:
    assert script("pt") == script("en")


def test_an_integrator_sees_weeks_within_a_minute(server: Server) -> None:
    interpreters.program("curl")
    key = server.command("key create pos-pago-certidoes --admin --json")
    text = script("pt").replace("ENDERECO", server.base)
    done = subprocess.run(
        [interpreters.program("sh"), "-ec", text],
        env={**os.environ, "BALCAO_KEY": str(json.loads(key)["key"])},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert '"estado":"parado","real":true' in done.stdout
    assert {
        "certidao.a_vencer", "certidao.renovada", "certidao.positiva", "inscricao.situacao",
    } <= set(PRINTED.findall(done.stdout))  # fmt: skip
    assert '"success":false' not in done.stdout
