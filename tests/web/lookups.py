"""Helpers for tests of lookups: documents, forms, and following a form to its result."""

import re
from collections.abc import Mapping
from typing import Any

from balcao.core.ledger import Trace
from tests.service import Service
from tests.web.browser import Browser, PageResponse

GOOD = "90010001000100"  # CND; SP negative; SP active
ZONE = "90010002000154"  # CPEND; with Suframa
CLOSED = "90010003000107"  # CPD
NO_STATE = "90010004000143"  # nothing can be issued
DOWN = "90020001000190"
BROKEN = "90020003000180"
SLOW = "90020006000113"  # answers after 3 s
SOME_UFS = "90020008000102"  # BA, MG and RS fail
FARMER = "90010000100"

FEDERAL = "/app/consultas/certidao-federal"
STATE = "/app/consultas/certidao-estadual"
COMPANY = "/app/consultas/empresa"
SINTEGRA = "/app/consultas/inscricoes-estaduais"
RURAL = "/app/consultas/produtor-rural"
LABOUR = "/app/consultas/certidao-trabalhista"
FGTS = "/app/consultas/regularidade-fgts"
ZONE_FORM = "/app/consultas/suframa"

FRAGMENT = {"hx_request": "true"}


def a_trace(**fields: Any) -> Trace:
    """Return a trace: by default a program's request that the source answered."""
    usual: dict[str, Any] = {
        "request_id": "0197-0",
        "account_id": 1,
        "key_id": 1,
        "user_id": None,
        "operation": "sintegra",
        "document": GOOD,
        "document_hash": None,
        "uf": "SP",
        "strategy": "ONLINE_PREFERENCIAL",
        "refresh": False,
        "key_digest": None,
        "status": 200,
        "code": None,
        "origin": "online",
        "source": "sefaz",
        "asked_ms": 0,
        "credits": 1,
        "rule": "state_registration/uf",
        "opened_ms": 0,
        "settled_ms": 0,
    }
    return Trace(**(usual | fields))


def by_cnpj(cnpj: str, **more: str) -> dict[str, str]:
    return {"quem": "cnpj", "cnpj": cnpj, **more}


def by_cpf(cpf: str, birth: str = "01/01/1980", **more: str) -> dict[str, str]:
    return {"quem": "cpf", "cpf": cpf, "nascimento": birth, **more}


def asked(browser: Browser, path: str, fields: Mapping[str, str]) -> PageResponse:
    """Open the form, send it, and follow it to the result."""
    form_id = browser.get(path).field("form_id")
    answer = browser.post(path, {**fields, "form_id": form_id})
    assert answer.status == 303, answer.text
    assert re.fullmatch(r"/app/consultas/resultado/[0-9a-f-]{36}", answer.location)
    result = browser.get(answer.location)
    assert result.status == 200
    assert len(result.content) < 100_000
    return result


def price(browser: Browser, path: str, fields: Mapping[str, str]) -> str:
    answer = browser.post(f"{path}/preco", fields, **FRAGMENT)
    assert answer.status == 200
    assert "<html" not in answer.text
    return answer.words


def balance(house: Service) -> int:
    credits, held = house.money()
    assert held == 0
    return credits


def error_at(answer: PageResponse, field: str) -> str:
    text: str = answer.tree.get_element_by_id(f"{field}-error").text_content().strip()
    invalid = answer.tree.xpath(f"//*[@id='{field}']/@aria-invalid")
    assert invalid == (["true"] if text else [])
    return text


def verdict(answer: PageResponse) -> str:
    return " ".join(answer.tree.xpath("//p[contains(@class, 'verdict')]")[0].text_content().split())


def pressed(form: Any, button: int = 0) -> dict[str, str]:
    """Return the fields that a form sends when one of its buttons is pressed."""
    fields = {each.get("name"): each.get("value") or "" for each in form.xpath(".//input")}
    chosen = form.xpath(".//button")[button]
    if chosen.get("name"):
        fields[chosen.get("name")] = chosen.get("value")
    return fields
