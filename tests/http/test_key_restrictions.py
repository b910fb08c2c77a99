"""Restrictions of a key: networks, operations, clients (contract 11.3)."""

from ipaddress import ip_network

import pytest

from balcao.core.access import KeyRestrictions
from balcao.core.addresses import TrustedProxies
from tests.records import a_company, company, federal, suframa
from tests.service import Client, Service

HERE = "127.0.0.1"  # from where tests call
QUOTE = "/cotacoes/v2/cnpj-receita-federal/90010001000100"


@pytest.fixture
def known(world: Service) -> Service:
    world.keep(a_company(), days=1)
    return world


def behind(world: Service, **restrictions: object) -> Client:
    return world.another_key(world.client, restrictions=KeyRestrictions(**restrictions))  # type: ignore[arg-type]


def by_proxies(world: Service) -> None:
    world.front.proxies = TrustedProxies((ip_network("127.0.0.0/8"),))


@pytest.mark.parametrize(
    ("networks", "address", "allowed"),
    [
        (("203.0.113.0/24",), "203.0.113.255", True),
        (("203.0.113.0/24",), "203.0.114.0", False),
        (("203.0.113.7/32", "2001:db8::/32"), "2001:db8:1::1", True),
        (("2001:db8::/32",), "2001:db9::1", False),
        (("203.0.113.0/24",), "::ffff:203.0.113.9", True),
        (("0.0.0.0/0",), "2001:db8::1", False),
        (("203.0.113.0/24",), "6.6.6.6, 203.0.113.9", True),  # the last one is the proxy's word
        (("203.0.113.0/24",), "203.0.113.9, 6.6.6.6", False),
    ],
)
def test_networks(known: Service, networks: tuple[str, ...], address: str, allowed: bool) -> None:
    by_proxies(known)
    key = behind(known, networks=networks)
    answer = known.get(company(), key, x_forwarded_for=address)
    assert answer.status == (200 if allowed else 403)
    if not allowed:
        assert answer.code == "ENDERECO_NAO_PERMITIDO"
        assert address.rpartition(",")[2].strip() in answer.json["message"]
        assert not any(network in answer.body.decode() for network in networks)
        assert "ratelimit" not in answer.headers, "it used up nothing"


def test_forwarded_addresses_of_untrusted_peers_are_ignored(known: Service) -> None:
    there, here = (
        behind(known, networks=("203.0.113.0/24",)),
        behind(known, networks=(HERE + "/32",)),
    )
    assert known.get(company(), there, x_forwarded_for="203.0.113.9").status == 403
    assert known.get(company(), here, x_forwarded_for="203.0.113.9").status == 200


@pytest.mark.parametrize("said", ["", "desconhecido", "203.0.113.9:443", "<script>"])
def test_an_invalid_address(known: Service, said: str) -> None:
    by_proxies(known)
    answer = known.get(company(), behind(known, networks=("0.0.0.0/0",)), x_forwarded_for=said)
    assert (answer.status, answer.code) == (403, "ENDERECO_NAO_PERMITIDO")
    assert said not in answer.json["message"] or not said


def test_a_proxy_that_is_not_configured(known: Service) -> None:
    """Its own address is not the client's: any client may be behind it."""
    known.front.proxies = TrustedProxies((), behind_proxy=True)
    assert known.get(company(), behind(known, networks=(HERE + "/32",))).status == 403


def test_networks_restrict_everything_that_a_key_may_do(house: Service, who: Client) -> None:
    restrictions = KeyRestrictions(networks=("203.0.113.0/24",))
    assert house.desk.change_restrictions(who.key_id, restrictions, 1)
    paths = ("/conta/v1/saldo", "/conta/v1/consumo", "/conta/v1/operacoes/x", QUOTE)
    receipt = "/consultas/v2/certidao-negativa-de-debitos-federal/print/x"
    for path in (*paths, receipt, company("90010001000100")):
        answer = house.get(path, who)
        assert (answer.status, answer.code) == (403, "ENDERECO_NAO_PERMITIDO"), path
        assert house.event(answer.json["request_id"])["status"] == 403
    assert b"127.0.0.1" not in bytes(house.logged)


def test_operations(known: Service) -> None:
    key = behind(known, operations=("suframa", "certidao-negativa-de-debitos-federal"))
    for path in (company(), company("1"), QUOTE):
        answer = known.get(path, key)
        assert (answer.status, answer.code) == (403, "OPERACAO_NAO_PERMITIDA"), path
        assert "ratelimit" in answer.headers
    assert known.get(suframa("1"), key).code == "CNPJ_INVALIDO"
    assert known.get(federal("cnpj=1"), key).code == "CNPJ_INVALIDO"
    assert known.charges() == []


def test_required_client(known: Service) -> None:
    key = behind(known, client_required=True)
    refused = known.get(company(), key, x_referencia="p-1", idempotency_key="chave-0001")
    assert (refused.status, refused.code) == (400, "CLIENTE_OBRIGATORIO")
    assert refused.headers["x-referencia"] == "p-1"
    answer = known.get(company(), key, x_cliente="a", idempotency_key="chave-0001")
    assert answer.status == 200, "the key was left free"
    quoted = known.get(QUOTE, key)
    assert (quoted.status, quoted.json["recusa"]) == (200, "CLIENTE_OBRIGATORIO")
    assert known.get(QUOTE, key, x_cliente="a").json["recusa"] is None


def test_administering_restricts_nothing(known: Service) -> None:
    assert known.get(company(), behind(known, administers=True)).status == 200


def test_a_change_is_in_force_within_a_second(known: Service) -> None:
    key = behind(known)
    assert known.get(company(), key).status == 200
    assert known.desk.change_restrictions(
        key.key_id, KeyRestrictions(operations=("suframa",)), known.clock()
    )
    assert known.get(company(), key).status == 403
    # Another process has changed it: what is remembered here is half a second old at the most.
    known.desk.engine.connection.execute("UPDATE api_key SET operations = NULL")
    known.clock.advance(seconds=0.6)
    assert known.get(company(), key).status == 200
