"""Keys in paths: one compatible API, from few networks, with small limits (contract 16.4)."""

import json

import pytest

from balcao.core.access import KeyRestrictions
from balcao.core.compat_apis import COMPAT_API_TITLES, compat_operation
from balcao.http.compat.route import split_key
from tests.records import CNPJ, a_company, company
from tests.service import Client, Reply, Service, call

HERE = ("127.0.0.1/32",)  # from where tests call


@pytest.fixture
def known(world: Service) -> Service:
    world.keep(a_company(), days=1)
    return world


def of_face(world: Service, face: str = "brasilapi", networks: tuple[str, ...] = HERE) -> Client:
    restrictions = KeyRestrictions(networks, (compat_operation(face),))
    return world.another_key(world.client, restrictions=restrictions)


def asked(world: Service, key: str, path: str = f"brasilapi/api/cnpj/v1/{CNPJ}") -> Reply:
    """Look up with the key in the path, and none elsewhere."""
    return world.request("GET", f"/compat/k/{key}/{path}", None)


def test_a_key_in_the_path(known: Service) -> None:
    by = of_face(known)
    answer = asked(known, by.key)
    assert (answer.status, answer.credits, answer.json["cnpj"]) == (200, 1, CNPJ)
    (entry,) = known.charges()
    assert (entry.key_id, entry.operation) == (by.key_id, "cnpj-receita-federal")


@pytest.mark.parametrize(
    ("face", "path"),
    [
        ("minhareceita", f"minhareceita/{CNPJ}"),
        ("receitaws", f"receitaws/v1/cnpj/{CNPJ}/days/30"),
        ("cnpjws", f"cnpjws/cnpj/{CNPJ}"),
    ],
)
def test_every_compatible_api(known: Service, face: str, path: str) -> None:
    assert asked(known, of_face(known, face).key, path).status == 200


def test_it_may_be_sent_in_the_header_too(known: Service) -> None:
    by = of_face(known)
    assert known.get(f"/compat/brasilapi/api/cnpj/v1/{CNPJ}", by).status == 200


@pytest.mark.parametrize(
    "path",
    [
        f"/compat/minhareceita/{CNPJ}",
        f"/compat/cnpjws/cnpj/{CNPJ}",
        f"/compat/receitaws/v1/cnpj/{CNPJ}/days/x",  # before what is asked is looked at
        company(),
        f"/cotacoes/v2/cnpj-receita-federal/{CNPJ}",
        "/conta/v1/orcamentos",
    ],
)
def test_it_permits_nothing_else(known: Service, path: str) -> None:
    answer = known.get(path, of_face(known))
    code = answer.headers.get("x-codigo-erro") or answer.code
    assert (answer.status, code) == (403, "OPERACAO_NAO_PERMITIDA")
    assert not known.charges()


def test_no_other_key_is_accepted_in_a_path(known: Service) -> None:
    for restrictions in (
        None,
        KeyRestrictions(HERE),
        KeyRestrictions(HERE, ("cnpj-receita-federal",)),
    ):
        key = known.another_key(known.client, restrictions=restrictions)
        answer = asked(known, key.key)
        assert (answer.status, answer.headers["x-codigo-erro"]) == (401, "API_KEY_INVALIDA")
    assert not known.charges()


def test_a_path_without_a_valid_key(known: Service) -> None:
    good = of_face(known).key
    for key in ("", "x", good[:-1], good + "a", good.lower(), "á", known.client.key):
        answer = asked(known, key)
        assert answer.status == 401, key
        # Not by the header either, where the address has one.
        path = f"/compat/k/{key}/brasilapi/api/cnpj/v1/{CNPJ}"
        assert known.get(path).status == 401


def test_networks_from_which_it_may_be_used(known: Service) -> None:
    elsewhere = of_face(known, networks=("203.0.113.0/24",))
    answer = asked(known, elsewhere.key)
    assert (answer.status, answer.headers["x-codigo-erro"]) == (403, "ENDERECO_NAO_PERMITIDO")
    assert "127.0.0.1" in answer.json["message"]


def test_without_networks_it_is_always_refused() -> None:
    restrictions = KeyRestrictions(operations=(compat_operation("brasilapi"),))
    assert not restrictions.allows_address("127.0.0.1")
    assert not restrictions.allows_address("")
    assert KeyRestrictions().allows_address("127.0.0.1")


@pytest.mark.parametrize("face", COMPAT_API_TITLES)
def test_operations_of_a_restricted_key(face: str) -> None:
    restrictions = KeyRestrictions(HERE, (compat_operation(face),))
    assert restrictions.compat_api == face
    assert [
        other
        for other in COMPAT_API_TITLES
        if restrictions.allows_operation("cnpj-receita-federal", other)
    ] == [face]
    assert not restrictions.allows_operation("cnpj-receita-federal")
    assert not restrictions.allows_operation(compat_operation(face))
    usual = KeyRestrictions(operations=("cnpj-receita-federal",))
    assert usual.compat_api is None
    assert all(usual.allows_operation("cnpj-receita-federal", other) for other in COMPAT_API_TITLES)
    assert not KeyRestrictions(operations=("sintegra",)).allows_operation(
        "cnpj-receita-federal", face
    )


def test_an_ordinary_key_restricted_to_other_operations(known: Service) -> None:
    by = known.another_key(known.client, restrictions=KeyRestrictions(operations=("sintegra",)))
    answer = known.get(f"/compat/minhareceita/{CNPJ}", by)
    assert (answer.status, answer.headers["x-codigo-erro"]) == (403, "OPERACAO_NAO_PERMITIDA")


@pytest.mark.parametrize(
    ("face", "header", "value"),
    [
        (f"/compat/receitaws/v1/cnpj/{CNPJ}", "authorization", "Bearer {}"),
        (f"/compat/receitaws/v1/cnpj/{CNPJ}", "authorization", "bearer  {}"),
        (f"/compat/cnpjws/cnpj/{CNPJ}", "x_api_token", "{}"),
        (f"/compat/brasilapi/api/cnpj/v1/{CNPJ}", "x-api-key", "{}"),
        (f"/compat/minhareceita/{CNPJ}", "x-api-key", "{}"),
    ],
)
def test_headers_in_which_the_originals_clients_send_a_key(
    known: Service, face: str, header: str, value: str
) -> None:
    headers = {header: value.format(known.client.key)}
    assert raw(known, face, headers).status == 200
    assert raw(known, face, {header: value.format("x")}).status == 401


def raw(world: Service, path: str, headers: dict[str, str]) -> Reply:
    """Send headers unchanged, including underscores."""
    return world.run(call(world.front, "GET", path, headers))


def test_our_own_lookups_ignore_their_headers(known: Service) -> None:
    for header in ("authorization", "x_api_token"):
        assert raw(known, company(), {header: f"Bearer {known.client.key}"}).status == 401


def test_no_key_in_a_path_is_logged_or_measured(known: Service) -> None:
    by = of_face(known)
    for path in (f"brasilapi/api/cnpj/v1/{CNPJ}", "nada", f"cnpjws/cnpj/{CNPJ}", ""):
        answer = asked(known, by.key, path)
        assert by.key.encode() not in answer.body
        assert not any(by.key in value for value in answer.headers.values())
    body = json.dumps(known.events())
    assert by.key not in body
    assert by.key[20:] not in body
    assert by.key not in known.get("/metrics").body.decode()


@pytest.mark.parametrize(
    ("path", "without", "key"),
    [
        ("/compat/k/abc/brasilapi/api/cnpj/v1/1", "/compat/brasilapi/api/cnpj/v1/1", "abc"),
        ("/compat/k/abc", "/compat/", "abc"),
        ("/compat/k/", "/compat/", ""),
        ("/compat/k//brasilapi/1", "/compat/brasilapi/1", ""),
        ("/compat/k/a/k/b/minhareceita/1", "/compat/k/b/minhareceita/1", "a"),
        ("/compat/brasilapi/api/cnpj/v1/1", "/compat/brasilapi/api/cnpj/v1/1", None),
        ("/consultas/v2/compat/k/1", "/consultas/v2/compat/k/1", None),
    ],
)
def test_the_path_without_its_key(path: str, without: str, key: str | None) -> None:
    assert split_key(path) == (without, key)


def test_its_daily_ceiling_is_enforced(known: Service) -> None:
    by = of_face(known)
    admin = known.another_key(known.client, restrictions=KeyRestrictions(administers=True))
    body = {
        "de": {"tipo": "chave", "id": str(by.key_id)},
        "periodo": "dia",
        "teto_creditos": 2,
    }
    text = json.dumps(body).encode()
    made = known.request(
        "POST",
        "/conta/v1/orcamentos",
        admin,
        body=text,
        content_type="application/json",
        content_length=str(len(text)),
    )
    assert made.status == 201, made.body
    assert [asked(known, by.key).status for _ in range(3)] == [200, 200, 402]
    refused = asked(known, by.key)
    assert refused.headers["x-codigo-erro"] == "TETO_DA_CHAVE"
    # And it stays as long as the key does.
    one = f"/conta/v1/orcamentos/{made.json['id']}"
    assert known.request("DELETE", one, admin).code == "ORCAMENTO_COM_DONO"
    narrowed = json.dumps({"operacoes": ["sintegra"]}).encode()
    kept = known.request(
        "PATCH",
        one,
        admin,
        body=narrowed,
        content_type="application/json",
        content_length=str(len(narrowed)),
    )
    assert kept.code == "ORCAMENTO_COM_DONO"
    assert asked(known, by.key).status == 402
    known.desk.revoke_key(by.key_id, known.clock())
    assert known.request("DELETE", one, admin).status == 200
