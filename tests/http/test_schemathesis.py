"""Schemathesis tests the running application against its OpenAPI document.

All its checks: documented statuses, media types, headers and schemas; wrong input refused and
right input accepted; keys really needed; methods refused. The seed is fixed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import schemathesis
from hypothesis import strategies as st
from schemathesis import engine
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events
from schemathesis.python import asgi
from stdnum.br import cnpj as stdnum_cnpj
from stdnum.br import cpf as stdnum_cpf

from balcao.core.errors import SourceFailed, SourceUnavailable
from balcao.core.questions import Inquiry
from balcao.sources.contract import Absent, Answer, Found
from tests.records import CNPJ, a_record
from tests.service import Service

SEED = 20_260_805
EXAMPLES = 10  # per operation, fixed by the seed; the coverage phase adds hundreds
CHARACTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _with_check_digits(base: str) -> str:
    return base + stdnum_cnpj.calc_check_digits(base.upper())


def _punctuated(text: str) -> str:
    return f"{text[:2]}.{text[2:5]}.{text[5:8]}/{text[8:12]}-{text[12:]}"


plain = (
    st.text(CHARACTERS, min_size=12, max_size=12)
    .map(_with_check_digits)
    .filter(lambda text: len(set(text)) > 1)
)
schemathesis.openapi.format("cnpj", plain | plain.map(_punctuated))
schemathesis.openapi.format(
    "cpf",
    st.text("0123456789", min_size=9, max_size=9)
    .map(lambda base: base + stdnum_cpf._calc_check_digits(base))
    .filter(lambda text: len(set(text)) > 1),
)


def run_engine(
    world: Service, *, excluded: Sequence[str] = (), below: str = "/"
) -> tuple[Counter[int], list[str]]:
    """Run all phases of Schemathesis' engine; return answers by status, and its failures."""
    world.top_up(world.client, 1_000_000)
    config = SchemathesisConfig.from_dict(
        {
            "seed": SEED,
            "generation": {"max-examples": EXAMPLES, "deterministic": True, "database": "none"},
            # Unknown headers and parameters are ignored (contract 2.6); fuzzing sends them too.
            "phases": {"coverage": {"generation": {"allow-extra-parameters": False}}},
            "checks": {name: {"enabled": False} for name in excluded},
            "output": {"sanitization": {"enabled": False}},
            "auth": {"openapi": {"chave": {"api_key": world.client.key}}},
        }
    )

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":  # the service is open, on an event loop of its own
            while (message := await receive())["type"] != "lifespan.shutdown":
                await send({"type": f"{message['type']}.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        world.clock.advance(days=5)  # no Idempotency-Key of an earlier request is in force
        await world.front(scope, receive, send)

    everything = schemathesis.openapi.from_asgi("/openapi.json", app, config=config)
    # Searches want a month and its index, batches want their jobs: `tests/http/test_searches.py`
    # and `tests/http/test_batches.py` ask them. Portfolios and webhooks have rules between members
    # that no schema can express: `tests/http/test_wallet.py`, `tests/http/test_webhooks.py`.
    # ReceitaWS answers errors with 200, and so does its shape here (contract 16).
    others = "^/(buscas|lotes|compat/receitaws|carteira|webhooks)/"
    schema = everything.exclude(path_regex=others).include(path_regex=f"^{below}")
    complaints: list[str] = []
    statuses: Counter[int] = Counter()
    for event in engine.from_schema(schema).execute():
        if isinstance(event, events.NonFatalError | events.FatalError):
            complaints.append(str(getattr(event, "value", None) or event))
        if isinstance(event, events.ScenarioFinished):
            answers = (each.response for each in event.recorder.interactions.values())
            statuses.update(answer.status_code for answer in answers if answer is not None)
            complaints.extend(_failures(event.recorder))
    asgi.shutdown_lifespans()
    return statuses, complaints


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Skip wrong headers that the query overrides (contract 2.4)."""
    if "cache" in (case.headers or {}):
        case.query.pop("cache", None)
    if "X-Creditos-Maximos" in (case.headers or {}):
        case.query.pop("creditos_maximos", None)
    if case.meta is not None and case.meta.generation.mode.is_positive:
        for sent, name in ((case.query, "creditos_maximos"), (case.headers, "X-Creditos-Maximos")):
            if name in (sent or {}):
                sent[name] = "9999"  # less than it costs is 402, as it should be
        for name in ("X-Cliente", "X-Referencia"):
            if stdnum_cpf.is_valid((case.headers or {}).get(name) or ""):
                case.headers[name] = "pedido-7"  # a CPF is none of these (contract 11.1)
        if case.path.endswith("/certidao-negativa-de-debitos-federal"):
            _of_one_document(case.query)
        if case.path.endswith("/certidao-negativa-de-debitos-trabalhistas"):
            _of_one_document(case.query)
            case.query.pop("data_nascimento", None)  # of the federal certificate alone
        if "/regularidade-fgts/" in case.path and case.query.get("cache_strategy") == "SO_CACHE":
            del case.query["cache_strategy"]  # with `atualizar_online` it is refused
        if case.path == "/conta/v1/consumo":
            _of_some_days(case.query)
        if case.path in ("/conta/v1/operacoes", "/conta/v1/orcamentos"):
            case.query.pop("cursor", None)  # as in the previous page
        if case.path == "/eventos/v1":
            for name in ("depois", "tipo", "cliente"):  # a cursor, a type, a client
                case.query.pop(name, None)
        if case.path == "/conta/v1/operacoes" and not {"referencia", "idempotency_key"} & {
            *case.query
        }:
            case.query["referencia"] = "pedido-7"  # one of the two


def _of_one_document(query: dict[str, Any]) -> None:
    """Satisfy rules that no schema can express (contract 2.8): one document, a real day."""
    if "cpf" in query and "cnpj" not in query:
        query["data_nascimento"] = "19800101"
    else:
        query.setdefault("cnpj", CNPJ)
        query.pop("cpf", None)
        query.pop("data_nascimento", None)
    if query.get("cache_strategy") == "SO_CACHE":
        del query["cache_strategy"]


def _of_some_days(query: dict[str, Any]) -> None:
    """Satisfy the greatest length of a period."""
    query.pop("de", None)
    if not 1970 < int((query.get("ate") or "2026")[:4]) < 9999:
        del query["ate"]


def _failures(recorder: Any) -> Iterator[str]:
    for checks in recorder.checks.values():
        for check in checks:
            if check.failure_info is not None:
                failure = check.failure_info.failure
                yield f"{failure.title}: {failure.message}\n{check.failure_info.code_sample}"


def test_the_document_is_correct(world: Service) -> None:
    statuses, complaints = run_engine(world)

    assert not complaints, "\n\n".join(complaints[:10])
    assert statuses.total() > 300
    assert {200, 400, 401, 405} <= set(statuses)
    assert not world.check().complaints


def test_the_document_is_correct_when_sources_fail(world: Service) -> None:
    moods = {"0": Absent("fonte", conclusive=True), "1": Absent("fonte", conclusive=False)}

    def say(inquiry: Inquiry) -> Answer:
        mood = inquiry.document.text[-1]
        if mood in "23":
            raise SourceFailed("")
        if mood in "45":
            raise SourceUnavailable("", 9)
        return moods.get(mood) or Found(a_record(inquiry), "fonte", datetime.now(UTC))

    world.source.says(say)

    # A company whose own UF cannot be found out has to name it: valid, and refused all the same.
    excluded = ["not_a_server_error", "positive_data_acceptance"]
    statuses, complaints = run_engine(world, excluded=excluded, below="/consultas/")

    assert not complaints, "\n\n".join(complaints[:10])
    assert {200, 400, 401, 404, 405, 500, 503} <= set(statuses)
    assert world.balance().held_credits == 0
    assert not world.check().complaints
