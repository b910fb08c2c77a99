"""`balcao webhook`: the whole life of a webhook, as text and as JSON."""

import pytest

from balcao.accounts.webhooks import resolving
from tests.cli.shell import Shell

URL = "https://erp.test/balcao"


def test_lifecycle_of_a_webhook(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        resolving, "_addresses", lambda host, port: {"erp.test": ["8.8.8.8"]}.get(host, [])
    )
    shell("account create acme --plan pre_pago")
    made = shell(f"webhook create acme {URL} --type certidao.* --json").json
    assert made["secret"].startswith("whsec_")
    assert made["kinds"] == ["certidao.*"]
    number = made["webhook_id"]
    (listed,) = shell("webhook list acme --json").json
    assert "secret" not in listed
    assert listed["state"] == "ativo"
    assert number in shell("webhook list acme").out
    event = shell(f"webhook test acme {number} --json").json["event"]
    (delivery,) = shell(f"webhook deliveries acme {number} --json").json
    assert (delivery["event"], delivery["kind"]) == (event, "balcao.ping")
    assert event in shell(f"webhook deliveries acme {number} --state esperando").out
    assert shell(f"webhook resend acme {number} --days 3 --json").json == {"resending": 0}
    assert "whsec_" in shell(f"webhook rotate acme {number} --hours 0").out
    off = shell(f"webhook change acme {number} --off --all-types --json").json
    assert (off["state"], off["reason"], off["kinds"]) == ("desligado", "usuario", None)
    assert "desativado" in shell(f"webhook resend acme {number} --days 3", code=1).err
    assert "não tem endereço" in shell("webhook create acme https://nada.test/", code=1).err
    assert "removido" in shell(f"webhook delete acme {number}").out
    assert "não tem um webhook" in shell(f"webhook test acme {number}", code=1).err
