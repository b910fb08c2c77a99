"""An answer that lacks parts of a failed source does not replace a complete cache entry."""

from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
import pytest

from balcao.core.documents import Cnpj
from balcao.core.questions import Inquiry
from balcao.core.registration import Registrations
from balcao.sources.contract import Answer, Found
from tests.records import CNPJ, a_registration, registrations, sintegra
from tests.service import FakeSource, Service, open_with_source


def a_state(fake: FakeSource) -> FakeSource:
    """A state's own service, without types."""
    state = FakeSource(fake.now_ms, "estado")
    state.parts = frozenset({"addresses"})

    def say(inquiry: Inquiry) -> Answer:
        plain = a_registration(tipo_ie=None, situacao_pj=None)
        record = registrations(inquiry.document.text, inquiry.uf or "", plain, com_endereco=True)
        return Found(record, "estado", state.now())

    state.says(say)
    return state


def a_world(tmp_path: Path) -> AbstractContextManager[Service]:
    return open_with_source(tmp_path, sources=lambda fake: [fake, a_state(fake)])


def kept(world: Service) -> Registrations | None:
    entry = world.kept(Inquiry("state_registration", Cnpj.parse(CNPJ), "SP"))
    return None if entry is None else msgspec.json.decode(entry.body, type=Registrations)


def test_an_incomplete_answer_is_better_than_none(
    tmp_path: Path,
) -> None:
    with a_world(tmp_path) as world:
        world.source.parts = frozenset({"types"})
        world.source.is_down()
        answer = world.get(sintegra())
        assert (answer.status, answer.credits) == (200, 1)
        assert "tipo_ie" not in answer.json["inscricoes_estaduais"][0]
        assert kept(world) is not None


def test_without_a_source_of_types_an_answer_without_them_is_complete(tmp_path: Path) -> None:
    with a_world(tmp_path) as world:
        world.source.parts = frozenset({"addresses"})
        world.source.is_down()
        assert world.get(sintegra()).status == 200
        assert kept(world) is not None


@pytest.mark.parametrize("broken", ["is_down", "fails"])
def test_an_incomplete_answer_does_not_replace_a_complete_entry(
    tmp_path: Path, broken: str
) -> None:
    with a_world(tmp_path) as world:
        world.source.parts = frozenset({"types"})
        assert world.get(sintegra()).status == 200
        getattr(world.source, broken)()
        assert world.get(sintegra()).status == 200
        later = world.get(sintegra(query="uf=SP&cache_strategy=CACHE_SE_EXISTIR"))
        assert later.json["is_cache"] is True
        assert later.json["inscricoes_estaduais"][0]["tipo_ie"] == "IE Normal"
