"""An error is worded in two places: its class, and its section in `errors.toml`."""

import ast
import json
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

from balcao.core import errors
from balcao.core.errors import BalcaoError

SOURCE = Path(__file__).parents[2] / "src" / "balcao"
CARDS = SOURCE / "core" / "errors"
# Programs that are shown to people, who run them without the service's source.
SHOWN = SOURCE / "web" / "kit" / "snippets" / "programs"

OWN = [kind for kind in errors.all_errors() if kind.__module__.startswith("balcao.core.errors.")]
PUBLIC = [kind for kind in OWN if errors.is_public(kind)]


@pytest.mark.parametrize("kind", PUBLIC, ids=lambda kind: kind.__name__)
def test_the_card_of_a_public_error_is_complete(kind: type[BalcaoError]) -> None:
    assert re.fullmatch(r"[A-Z][A-Z0-9_]+", kind.code)
    assert 400 <= kind.status < 600
    assert (kind.short == BalcaoError.short) == (kind.code == BalcaoError.code)
    assert (kind.field is None) == (kind.hint == "")
    assert kind.samples()


def test_an_error_is_for_callers_or_for_operators_or_a_branch() -> None:
    for kind in OWN:
        assert errors.is_public(kind) or kind.operator_hint or kind.__subclasses__(), kind.__name__


def test_errors_that_share_a_code_are_named_alike() -> None:
    for code, those in groupby(sorted(PUBLIC, key=lambda kind: kind.code), lambda kind: kind.code):
        assert len({(kind.short, kind.tone) for kind in those}) == 1, code


@pytest.mark.parametrize(
    "kind",
    [
        errors.SourceFailed,
        errors.SourceUnavailable,
        errors.ResultUnavailable,
        errors.OptInNotEnabled,
    ],
)
def test_the_first_of_those_that_share_a_code_stands_for_it(kind: type[BalcaoError]) -> None:
    assert errors.errors_by_code()[kind.code] is kind


def test_an_error_is_worded_nowhere_else() -> None:
    """Other modules refer to `InvalidCnpj.code`, `.message`, …"""
    texts = {*errors.errors_by_code()}
    for kind in OWN:
        texts |= {kind.message, kind.hint, kind.operator_hint}
        if kind.notice is not None:
            texts |= {kind.notice.text, kind.notice.advice}
    texts -= {"", errors.ProviderUnusable.operator_hint}  # nothing but the detail
    for file in sorted(SOURCE.rglob("*.py")):
        if file.is_relative_to(CARDS) or file.is_relative_to(SHOWN):
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and node.value in texts:
                pytest.fail(f"{file}:{node.lineno} repeats {node.value!r} of an error's class")


# An error that is not in `core/errors/`, and its section of `errors.toml`.
ADDED = """
import json

from typer.testing import CliRunner

from balcao.core.errors import CallerError
from balcao.core.notices import Notice


class TideTooLow(CallerError):
    status = 409
    code = "MARE_BAIXA"
    message = "A maré está baixa. Nada foi cobrado."
    short = "Maré baixa"
    notice = Notice("info", "A maré está baixa", "O porto não opera.", "Espere a maré subir.")
    field = "dias"
    hint = "Informe um dia de maré alta."


from balcao.batches import pauses
from balcao.cli.app import app
from balcao.core.problems import problem_of
from balcao.http.openapi import errors as openapi_errors
from balcao.web.kit.lookups import outcomes
from balcao.web.kit.lookups.forms import FORMS
from balcao.web.kit.words.vocabulary import CODES
from balcao.web.pages.docs import codes

section = codes.CodeWords("Na baixa-mar.", "Espere a maré subir.", unseen="É o mar.")
sections = {**codes.words(), "MARE_BAIXA": section}
codes.words = lambda: sections
problem = problem_of(TideTooLow())
responses = openapi_errors.responses([TideTooLow], openapi_errors.PLAIN, {409: {}, 500: {}})
page = codes.pages({})["MARE_BAIXA"]
complaint = outcomes.field_error(problem, FORMS["empresa"], {})
print(json.dumps({
    "answer": [problem.status, problem.code, problem.message],
    "openapi": list(responses[409]["content"]["application/json"]["examples"]),
    "batches": pauses.messages()["MARE_BAIXA"],
    "word": [CODES["MARE_BAIXA"].text, CODES["MARE_BAIXA"].tone],
    "notice": outcomes.notice_for_code("MARE_BAIXA").title,
    "complaint": [complaint.field, complaint.text],
    "page": [page.title, page.words.when, list(page.statuses), list(page.messages)],
    "command": CliRunner().invoke(app, ["errors"]).output.count("── TideTooLow"),
}))
"""


def test_a_class_and_a_section_are_all_that_an_error_needs() -> None:
    done = subprocess.run([sys.executable, "-c", ADDED], capture_output=True, text=True, check=True)
    message = "A maré está baixa. Nada foi cobrado."
    assert json.loads(done.stdout) == {
        "answer": [409, "MARE_BAIXA", message],
        "openapi": ["MARE_BAIXA"],
        "batches": message,
        "word": ["Maré baixa", "warn"],
        "notice": "A maré está baixa",
        "complaint": ["dias", "Informe um dia de maré alta."],
        "page": ["Maré baixa", "Na baixa-mar.", [409], [message]],
        "command": 1,
    }
