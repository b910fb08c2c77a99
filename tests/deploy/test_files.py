"""Static checks of the files of `deploy/`."""

import fnmatch
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from balcao.batches.tables.contract import BOUNDS
from balcao.core.file_limits import READERS_BYTES
from balcao.core.month_switch import ComparisonFigures, MonthSwitch
from balcao.home import SECRET_BYTES
from balcao.http.routes import PREFIX
from balcao.observability.metrics import Metrics
from balcao.operations import OPERATIONS
from balcao.service.server import CLOSE_SECONDS, SETTLE_SECONDS
from balcao.service.supervisor import _MARGIN_SECONDS, Supervisor
from balcao.settings import Settings
from balcao.settings.in_force import unknown_variables
from tests.deploy.files import DEPLOY, ROOT, assignments, directives, parsed, text, unit

# Of other programs.
OTHERS = {
    "up",
    "probe_success",
    "probe_ssl_earliest_cert_expiry",
    "node_filesystem_avail_bytes",
    "node_filesystem_size_bytes",
}

ENVIRONMENTS = ("balcao.env.example", "systemd/balcao.env.example")


def is_setting(name: str) -> bool:
    """Check nested names too, which `unknown_variables` leaves to pydantic."""
    if unknown_variables({name: ""}):
        return False
    model: Any = Settings
    for part in name.removeprefix("BALCAO_").lower().split("__"):
        if model is None or part not in model.model_fields:
            return False
        kind = model.model_fields[part].annotation
        inside = [kind, *getattr(kind, "__args__", ())]
        model = next((one for one in inside if hasattr(one, "model_fields")), None)
    return True


def compose_environments() -> dict[str, str]:
    found: dict[str, str] = {}
    for service in parsed("compose.yaml")["services"].values():
        found |= service.get("environment", {})
    return found


def test_only_settings_that_exist_are_named() -> None:
    assert not is_setting("BALCAO_CNPJA__KEI")
    assert not is_setting("BALCAO_HOME__X")
    named = {"compose": set(compose_environments())}
    named |= {name: set(assignments(name)) for name in ENVIRONMENTS}
    for where in ("Dockerfile", "compose.yaml", "systemd/balcao.service", *ENVIRONMENTS):
        named[f"{where}, anywhere"] = set(re.findall(r"\bBALCAO_[A-Z_]*[A-Z]\b", text(where)))
    for where, names in named.items():
        unknown = {name for name in names if name.startswith("BALCAO_") and not is_setting(name)}
        assert not unknown, where
        assert any(name.startswith("BALCAO_") for name in names), where
    # Compose's own file must not look like settings: they would be ignored.
    assert not any(name.startswith("BALCAO_") for name in assignments(".env.example"))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_examples_values_are_accepted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in assignments(name, commented=False).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("BALCAO_CONFIG", "")
    assert Settings().log_format == "json"


def test_compose_values_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in compose_environments().items():
        monkeypatch.setenv(variable, re.sub(r"\$\{(\w+)[^}]*\}", r"\1.example", value))
    settings = Settings()
    assert settings.public_url == "https://domain.example"
    proxy = parsed("compose.yaml")["services"]["proxy"]["networks"]["front"]["ipv4_address"]
    assert [str(network) for network in settings.trusted_proxies] == [f"{proxy}/32"]


def test_compose_uses_only_variables_of_its_example() -> None:
    used_names = set(re.findall(r"\$\{(\w+)", directives("compose.yaml")))
    assert used_names == set(assignments(".env.example"))


def test_compose_hardens_every_container() -> None:
    compose = parsed("compose.yaml")
    for name, service in compose["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["restart"] == "unless-stopped", name
        assert service["mem_limit"], name
        assert any(place.startswith("/tmp") for place in service["tmpfs"]), name
        assert not service.get("privileged"), name
        assert not {place.partition(":")[0] for place in service.get("volumes", ())} & {"/", "/var"}
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert source.startswith("./") or source in compose["volumes"], volume
        for network in service["networks"]:
            assert network in compose["networks"], network
    assert [name for name, service in compose["services"].items() if "ports" in service] == [
        "proxy"
    ]
    database = compose["services"]["database"]
    assert database["networks"] == ["back"]
    assert compose["networks"]["back"]["internal"]
    assert database["healthcheck"]["test"][0] == "CMD"


def test_nodes_share_only_the_secret() -> None:
    services = parsed("compose.yaml")["services"]
    nodes = services["node1"], services["node2"]
    assert nodes[0]["secrets"] == nodes[1]["secrets"]
    assert nodes[0]["secrets"][0]["target"] == "/data/secret.key"
    assert nodes[0]["volumes"] != nodes[1]["volumes"]
    assert services["proxy"]["environment"]["NODES"].split() == ["node1:8000", "node2:8000"]
    # On another network the proxy would connect from an address that they do not trust.
    assert set(services["proxy"]["networks"]) & set(nodes[0]["networks"]) == {"front"}
    documented = re.findall(
        r"openssl rand (\d+) > secret.key",
        text("compose.yaml") + (ROOT / "docs/deploying.md").read_text("utf-8"),
    )
    assert documented
    assert {int(size) for size in documented} == {SECRET_BYTES}


def _seconds(wait: str) -> int:
    return int(wait.rstrip("sm")) * {"s": 1, "m": 60}.get(wait[-1], 1)


def test_nodes_are_not_killed_before_their_batches_have_stopped() -> None:
    settings = Settings.model_construct()
    lookups = settings.source_deadline_seconds + settings.longest_lookup_seconds
    assert settings.longest_lookup_seconds == 90
    compose = parsed("compose.yaml")["services"]
    waits = [compose[name]["stop_grace_period"] for name in ("node1", "node2")]
    waits += [value for _, name, value in unit() if name == "TimeoutStopSec"]
    patience = Supervisor(settings)._patience_seconds
    assert patience > lookups + CLOSE_SECONDS + SETTLE_SECONDS
    assert len(waits) == 3
    for wait in waits:
        assert _seconds(wait) > patience + _MARGIN_SECONDS, wait


def test_every_stop_waits_for_running_requests() -> None:
    deadline = Settings.model_fields["source_deadline_seconds"].default
    compose = parsed("compose.yaml")["services"]
    waits = [compose["proxy"]["stop_grace_period"]]
    waits += re.findall(r"proxy_read_timeout (\w+);", text("nginx.conf"))
    waits += re.findall(
        r"^\s*(?:response_header_timeout|write|grace_period) (\w+)",
        text("Caddyfile"),
        re.MULTILINE,
    )
    assert len(waits) == 5
    for wait in waits:
        assert _seconds(wait) > deadline, wait


# The image.


def test_the_dockerfile_refers_to_existing_files() -> None:
    dockerfile = re.sub(r"\\\n", " ", directives("Dockerfile"))
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    kept = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    copied: set[str] = set()
    for line in dockerfile.splitlines():
        words = line.split()
        if words[:1] == ["COPY"] and not words[1].startswith("--from"):
            copied |= {word.removeprefix("./") for word in words[1:-1]}
    assert copied == kept
    for name in copied:
        assert (ROOT / name).exists(), name
    # Parts of the project that pyproject.toml needs to be built.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["readme"] in kept
    for instruction in ("ENTRYPOINT", "CMD"):
        given = re.findall(rf"^\s*{instruction} (.*)$", dockerfile, re.MULTILINE)
        assert given
        for words in given:
            assert isinstance(json.loads(words), list)
    assert re.search(r"^USER 10001:10001$", dockerfile, re.MULTILINE)
    assert re.search(r"^STOPSIGNAL SIGTERM$", dockerfile, re.MULTILINE)
    assert "--require-hashes" in dockerfile
    assert dockerfile.index("USER 10001") > dockerfile.index("useradd")


def test_secrets_do_not_reach_the_builder() -> None:
    """Below `src`, only files tracked by git are copied."""
    patterns = [
        line.removeprefix("**/")
        for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines()
        if line.startswith("**/")
    ]
    for name in ("secret.key", "empresa.pfx", "privkey.pem", ".env", ".balcao"):
        assert any(fnmatch.fnmatch(name, pattern) for pattern in patterns), name
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert {"/deploy/.env", "/deploy/balcao.env", "/deploy/secret.key"} <= set(ignored)


# systemd.


def test_the_unit_is_complete() -> None:
    values = {(section, name): value for section, name, value in unit()}
    service = {name: value for (section, name), value in values.items() if section == "Service"}
    assert service["ProtectSystem"] == "strict"
    assert service["UMask"] == "0077"
    assert service["Restart"] == "on-failure"
    assert f"BALCAO_HOME=/var/lib/{service['StateDirectory']}" in service["Environment"]
    assert service["EnvironmentFile"].lstrip("-") == "/etc/balcao/balcao.env"
    # The first start writes keys and a one-time link to standard output.
    assert service["StandardOutput"] == "null"
    assert service["StandardError"] == "journal"


def test_readers_of_files_have_less_memory_than_the_service() -> None:
    """A reader that needs too much is killed alone, without the service."""
    values = {name: value for section, name, value in unit() if section == "Service"}
    assert values["OOMPolicy"] == "continue"
    assert values["MemoryMax"] == "2G"
    assert parsed("compose.yaml")["services"]["node1"]["mem_limit"] == "2g"
    assert BOUNDS.child_bytes < READERS_BYTES < 0.6 * (2 << 30)


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze here")
    python = shutil.which("true")
    unit_file = tmp_path / "balcao.service"
    unit_file.write_text(
        text("systemd/balcao.service").replace("/opt/balcao/bin/python", str(python)), "utf-8"
    )
    result = subprocess.run(
        [analyze, "verify", str(unit_file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")


# Proxies; test_proxies.py runs them.


def test_no_log_format_holds_an_address() -> None:
    nginx = directives("nginx.conf")
    for forbidden in (
        r"\$request\b(?!_)",
        r"\$request_uri",
        r"\$request_body",
        r"\$args?\b",
        r"\$arg_",
        r"\$query_string",
        r"\$is_args",
        r"\$http_",
        r"\$document_uri",
        r"\$cookie_",
        r"\$remote_user",
    ):
        assert not re.search(forbidden, nginx), forbidden
    formats = re.findall(r"log_format (\w+) (.*?);\n", nginx, re.DOTALL)
    assert [name for name, _ in formats] == ["balcao"]
    assert set(re.findall(r"\$(\w+)", formats[0][1])) == {
        "time_iso8601",
        "request_method",
        "balcao_operation",
        "status",
        "body_bytes_sent",
        "request_time",
        "upstream_status",
        "upstream_response_time",
        "server_protocol",
    }
    assert set(re.findall(r"access_log (.*);", nginx)) == {
        "off",
        "/var/log/nginx/balcao.log balcao",
    }
    # The error log quotes the request, which cannot be disabled.
    assert set(re.findall(r"error_log (.*);", nginx)) == {"/dev/null emerg"}
    assert nginx.count("server {") == nginx.count("error_log") == nginx.count("access_log")


def test_proxies_have_every_operation() -> None:
    for operation in OPERATIONS.values():
        for name in ("nginx.conf", "Caddyfile"):
            assert re.search(rf"[|>:]{operation.path}[)|]", text(name)), (name, operation.path)
    assert PREFIX == "/consultas/v2/"


# Measurements.


def exposed() -> tuple[set[str], dict[str, set[str]]]:
    """Return the names of an exposition with one sample of everything, and the labels of each."""
    metrics = Metrics()
    metrics.request("sintegra", 200, "cache", 0.01, 1)
    metrics.source_calls("cnpja", "state_registration", "SP", "found", (0.2,))
    metrics.batch(3)
    metrics.backup(1_000)
    metrics.over_budget("chave")
    metrics.event("teto.aviso", 1)
    metrics.deprecated_use("cabecalho-cache")
    metrics.recheck("respondida")
    metrics.renewal("respondida")
    metrics.purchases = lambda: (1_000, 1_000)
    metrics.circuits = lambda: {("cnpja", "state_registration", "SP"): "open"}
    metrics.database = True, 0
    metrics.work = lambda: {"holds": (1_000, 1_000, 1)}
    metrics.month = lambda: (40, ("baixando", 1, 2))
    metrics.webhooks = lambda: ([("ativo", 1)], 1, 1_000, {"http_2xx": 1})
    metrics.comparison = lambda: (
        ComparisonFigures(MonthSwitch(1, "2026-07", "2026-08", "2026-08-08", 1), 3, 2, 1),
        9.0,
    )
    metrics.files = lambda: ([("disk", 1)], (1, 2), (3, 4))
    metrics.jobs = lambda: [("delete_receipt_bytes", "waiting", 1, 1_000)]
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(metrics.exposition().decode()):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    return set(labels), labels


def expressions() -> list[str]:
    rules = [
        rule["expr"]
        for group in parsed("prometheus/alerts.yml")["groups"]
        for rule in group["rules"]
    ]
    dashboard = json.loads(text("grafana/balcao.json"))
    shown = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    variables = [
        variable["definition"].replace("label_values(", "").split(",")[0]
        for variable in dashboard["templating"]["list"]
        if "definition" in variable
    ]
    assert len(rules) > 8
    assert len(shown) > 10
    assert variables
    return [*rules, *shown, *variables]


WORDS = {
    *("sum", "by", "rate", "increase", "max", "histogram_quantile", "time", "and", "unless", "le"),
    *("label_values", "or", "on", "ignoring"),
}


def names_in(expression: str) -> set[str]:
    """Return an expression's metrics: what remains without strings, labels, ranges and words."""
    bare = re.sub(r'"[^"]*"', "", expression)
    bare = re.sub(r"\bby \([^)]*\)", "", bare)
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", bare)
    return set(re.findall(r"\b[a-z_][a-z0-9_:]*", bare)) - WORDS


def test_only_existing_metrics_are_queried() -> None:
    names, labels = exposed()
    rules = [rule for group in parsed("prometheus/alerts.yml")["groups"] for rule in group["rules"]]
    recorded = {rule["record"] for rule in rules if "record" in rule}
    assert names_in('sum by (le) (rate(balcao_x{a="b c"}[5m])) > 5') == {"balcao_x"}
    used_names = set().union(*(names_in(expression) for expression in expressions()))
    assert used_names - names - recorded - OTHERS == set()
    assert recorded <= used_names
    for expression in expressions():
        for name, matched in re.findall(r"\b(balcao_\w+)\{([^}]*)\}", expression):
            used = set(re.findall(r'(\w+)\s*[!=]~?"', matched))
            assert used, matched
            assert used <= labels[name], (name, used - labels[name])


def test_every_metric_is_shown() -> None:
    names, _ = exposed()
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in names}
    shown = " ".join(expressions())
    assert {family for family in families if family not in shown} == set()


def test_alerts_count_the_lookups_and_all_of_them() -> None:
    record = parsed("prometheus/alerts.yml")["groups"][0]["rules"][0]["expr"]
    pattern = re.search(r'operation=~"([^"]*)"', record)
    assert pattern
    for operation in OPERATIONS.values():
        assert re.fullmatch(pattern[1], operation.path)
    assert not re.fullmatch(pattern[1], "/readyz")


def test_prometheus_accepts_the_alerts() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no promtool here")
    file = str(DEPLOY / "prometheus/alerts.yml")
    subprocess.run([promtool, "check", "rules", file], check=True, timeout=60)


def test_the_dashboard_lays_out_its_panels() -> None:
    panels = json.loads(text("grafana/balcao.json"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (place["x"] + right, place["y"] + down)
            for right in range(place["w"])
            for down in range(place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
