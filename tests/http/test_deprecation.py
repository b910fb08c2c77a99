"""Deprecated features: the registry, headers, counts and lists (contract 18)."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from balcao.core.calendar import civil_day_text
from balcao.core.deprecations import FEATURES, KEPT_DAYS, MONTHS_MIN
from balcao.core.errors import StorageFailed
from balcao.storage.desk.deprecated_uses import DeprecatedUses
from tests.records import company, suframa
from tests.service import Service

USES = "/conta/v1/obsoletos"


def uses(world: Service) -> Any:
    return world.get(USES).json["itens"]


def write(world: Service) -> None:
    """Write the counts, as a process does when it ends."""

    async def stop() -> None:
        await world.front.stop()

    world.run(stop())


def test_every_feature_works_for_two_years_after_its_deprecation() -> None:
    for code, feature in FEATURES.items():
        assert code == feature.code
        months = 12 * (feature.sunset.year - feature.since.year)
        assert months + feature.sunset.month - feature.since.month >= MONTHS_MIN


def test_answers_and_quotes_announce_the_end_of_a_feature(world: Service) -> None:
    feature = FEATURES["cabecalho-cache"]
    quote = company().replace("/consultas/", "/cotacoes/")
    world.source.fails()
    for path in (quote, company(query="cache_strategy=SO_ONLINE")):
        headers = world.get(path, cache="7").headers
        since = datetime.fromtimestamp(int(headers["deprecation"].removeprefix("@")), UTC)
        assert since.date() == feature.since
        assert parsedate_to_datetime(headers["sunset"]).date() == feature.sunset
        assert '</docs/guias/versoes>; rel="deprecation"; type="text/html"' in headers["link"]
        usual = world.get(path).headers
        assert not {"deprecation", "sunset"} & usual.keys()
        assert "deprecation" not in usual.get("link", "")


def test_uses_are_listed_by_key(world: Service) -> None:
    assert uses(world) == []
    for _ in range(2):
        world.get(company(), cache="7")
    # Neither a refused request, nor a form that is not deprecated.
    world.get(company(), cache="sete")
    world.get(company(), None, cache="7")
    world.get(company(query="cache=7"))
    world.get(suframa(), cache="7")
    write(world)
    (found,) = uses(world)
    assert found == {
        "recurso": "cabecalho-cache",
        "titulo": "Cabeçalho cache",
        "chave": "teste",
        "ultimo_uso": civil_day_text(world.clock.now_ms()),
        "requisicoes": 2,
        "aceito_ate": "2028-12-31",
        "substituicao": FEATURES["cabecalho-cache"].replacement,
    }
    last = found["ultimo_uso"]

    world.clock.advance(days=30)
    world.get(company(), cache="7")
    write(world)
    (found,) = uses(world)
    assert found["requisicoes"] == 1
    assert found["ultimo_uso"] > last

    world.clock.advance(days=KEPT_DAYS + 1)
    while world.run(world.application.retention.purge_some()):
        pass
    assert uses(world) == []


def test_counts_outlive_a_failure_of_the_storage(world: Service, monkeypatch: Any) -> None:
    async def fail(*_: object) -> None:
        raise StorageFailed

    world.get(company(), cache="7")
    with monkeypatch.context() as patched:
        patched.setattr(DeprecatedUses, "add", fail)
        write(world)
        world.get(company(), cache="7")
    assert uses(world) == []
    write(world)
    assert [each["requisicoes"] for each in uses(world)] == [2]


def test_the_metric_counts_by_feature(world: Service) -> None:
    world.get(company(), cache="7")
    page = world.get("/metrics").body.decode()
    assert 'balcao_deprecated_requests_total{feature="cabecalho-cache"} 1.0' in page
