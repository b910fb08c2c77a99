"""`balcao routes`: every address with its handler."""

from tests.cli.shell import Shell


def test_addresses_are_listed_for_people_and_for_programs(fresh: Shell) -> None:
    listed = fresh("routes --json").json
    (enter,) = [one for one in listed if one["path"] == "/app/entrar" and "POST" in one["methods"]]
    assert enter == {
        "methods": ["POST"],
        "path": "/app/entrar",
        "handler": "balcao.web.pages.signing.pages:enter",
        "body_bytes_max": 32_768,
    }
    rows = [row.split() for row in fresh("routes").out.splitlines()]
    assert ["POST", "/app/entrar", "balcao.web.pages.signing.pages:enter", "32.768"] in rows
    assert ["GET,", "HEAD", "/livez", "balcao.http.health:Probes.alive", "—"] in rows
    assert not fresh.path.exists(), "nothing is made"
