"""One request of each operation, for tests that apply to all operations.

@every
def test_it_costs_its_price(world: World, of: Sample) -> None:
    assert world.get(of.path).credits == of.price
"""

from typing import NamedTuple

import pytest

from balcao.core.documents import Cnpj, Cpf
from balcao.core.questions import Inquiry
from tests.records import (
    CNPJ,
    CPF,
    OTHER_CNPJ,
    a_record,
    company,
    federal,
    fgts,
    labour,
    producer,
    sintegra,
    state,
    suframa,
)
from tests.service import Service

OTHER_CPF = "90010000291"
ANY_AGE = "cache_strategy=CACHE_SE_EXISTIR"


class Sample(NamedTuple):
    """A request of one operation, with its price and status by the specification."""

    inquiry: Inquiry
    path: str
    other: str  # of another document
    cached: str  # takes what is kept, however old
    price: int = 1  # from the source; from the cache it is 1 everywhere
    failed: int = 500  # the status when a source that was asked failed (contract 3)

    def asking(self, query: str) -> str:
        """Return the request with further parameters."""
        return f"{self.path}{'&' if '?' in self.path else '?'}{query}"

    def keep(self, world: Service, *, days: float = 0) -> None:
        """Put an entry of this age into the cache."""
        world.keep(a_record(self.inquiry), days=days)


SAMPLES = {
    "cnpj-receita-federal": Sample(
        Inquiry("company", Cnpj.parse(CNPJ)),
        company(),
        company(OTHER_CNPJ),
        company(query=ANY_AGE),
    ),
    "sintegra": Sample(
        Inquiry("state_registration", Cnpj.parse(CNPJ), "SP"),
        sintegra(),
        sintegra(OTHER_CNPJ),
        sintegra(query=f"uf=SP&{ANY_AGE}"),
    ),
    "produtor-rural": Sample(
        Inquiry("rural_producer", Cpf.parse(CPF), "SP"),
        producer(),
        producer(OTHER_CPF),
        producer(query=f"uf=SP&{ANY_AGE}"),
    ),
    "suframa": Sample(
        Inquiry("suframa", Cnpj.parse(CNPJ)), suframa(), suframa(OTHER_CNPJ), suframa()
    ),
    "certidao-federal": Sample(
        Inquiry("federal_certificate", Cnpj.parse(CNPJ)),
        federal(),
        federal(f"cnpj={OTHER_CNPJ}"),
        federal(f"cnpj={CNPJ}&{ANY_AGE}"),
        2,
        400,
    ),
    "certidao-estadual": Sample(
        Inquiry("state_certificate", Cnpj.parse(CNPJ), "SP"),
        state(),
        state(OTHER_CNPJ),
        state(),
        2,
        400,
    ),
    "certidao-trabalhista": Sample(
        Inquiry("labour_certificate", Cnpj.parse(CNPJ), of_company=True),
        labour(),
        labour(f"cnpj={OTHER_CNPJ}"),
        labour(f"cnpj={CNPJ}&{ANY_AGE}"),
        2,
        400,
    ),
    "regularidade-fgts": Sample(
        Inquiry("fgts_regularity", Cnpj.parse(CNPJ)),
        fgts(),
        fgts(OTHER_CNPJ),
        fgts(query=ANY_AGE),
        2,
        400,
    ),
}
every = pytest.mark.parametrize("of", SAMPLES.values(), ids=SAMPLES)
