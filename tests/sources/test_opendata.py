"""The local copy of the registry as a source."""

import datetime
import time
from pathlib import Path

import pytest

from balcao.core.calendar import from_ms
from balcao.core.company import Company, Partner
from balcao.core.documents import Cnpj, Cpf
from balcao.core.questions import Inquiry
from balcao.opendata.current import CurrentSnapshot
from balcao.providers.opendata.adapter import ImportedRegistry, SnapshotSource
from balcao.sources.contract import Absent, Found, LocalSource
from tests.records import CNPJ as OTHER_CNPJ
from tests.sources.adapters import CNPJ, a_company, an_inquiry, record_of

OPEN = Partner(nome="OUTRA SA", cpf_cnpj_socio=OTHER_CNPJ)
MASKED = Partner(nome="FULANA", cpf_cnpj_socio="***222333**")


class FakeRegistry:
    def __init__(self, *companies: Company, extracted: datetime.date | None) -> None:
        self.companies = {company.cnpj: company for company in companies}
        self.extraction_date = extracted
        self.edition = 1
        self.ready: dict[str, bytes] = {}

    def find(self, cnpj: Cnpj) -> Company | None:
        assert self.extraction_date is not None
        return self.companies.get(cnpj.text)

    def answer(self, cnpj: Cnpj) -> tuple[datetime.date, bytes] | None:
        if self.extraction_date is None or cnpj.text not in self.ready:
            return None
        return self.extraction_date, self.ready[cnpj.text]


DAY = datetime.date(2026, 7, 11)


def test_found_as_of_the_first_instant_of_its_day_in_brasilia() -> None:
    source: LocalSource = SnapshotSource(FakeRegistry(a_company(), extracted=DAY))
    answer = source.find(an_inquiry())
    assert isinstance(answer, Found)
    assert answer.source == "snapshot"
    assert answer.record == a_company()
    assert answer.as_of.isoformat() == "2026-07-11T00:00:00-03:00"


def test_finished_answer_is_not_for_the_partner_opt_in() -> None:
    registry = FakeRegistry(a_company(), extracted=DAY)
    source = SnapshotSource(registry)
    assert source.finished(an_inquiry()) is None
    registry.ready[CNPJ] = b"{}"
    finished = source.finished(an_inquiry())
    assert finished is not None
    assert (finished.body, finished.source) == (b"{}", "snapshot")
    assert from_ms(finished.as_of_ms).isoformat() == "2026-07-11T00:00:00-03:00"
    assert source.finished(an_inquiry(full_partners=True)) is None
    assert source.finished(Inquiry("suframa", Cnpj(CNPJ))) is None
    assert source.finished(Inquiry("company", Cpf.parse("90010000100"))) is None
    registry.extraction_date = None
    assert source.finished(an_inquiry()) is None


def test_absence_is_not_conclusive() -> None:
    source = SnapshotSource(FakeRegistry(extracted=DAY))
    assert source.find(an_inquiry()) == Absent("snapshot", conclusive=False)
    assert source.find(an_inquiry(full_partners=True)) == Absent("snapshot", conclusive=False)


def test_nothing_imported_answers_nothing() -> None:
    assert SnapshotSource(FakeRegistry(extracted=None)).find(an_inquiry()) is None


def test_imported_month_is_read(tmp_path: Path) -> None:
    registry: ImportedRegistry = CurrentSnapshot(tmp_path, time.monotonic)
    assert SnapshotSource(registry).find(an_inquiry()) is None


def test_cpf_is_not_served() -> None:
    inquiry = Inquiry("company", Cpf.parse("90010000100"))
    assert SnapshotSource(FakeRegistry(extracted=DAY)).find(inquiry) is None


@pytest.mark.parametrize(("partners", "answers"), [((OPEN,), True), ((OPEN, MASKED), False)])
def test_full_partners_only_where_none_is_masked(
    partners: tuple[Partner, ...], answers: bool
) -> None:
    source = SnapshotSource(FakeRegistry(a_company(socios=partners), extracted=DAY))
    assert isinstance(source.find(an_inquiry(full_partners=True)), Found) is answers
    assert isinstance(source.find(an_inquiry()), Found)


def test_a_cpf_in_a_name_is_masked_unless_full_partners_are_asked_for() -> None:
    company = a_company(nome_empresarial="FULANA DE TAL 11122233344")
    source = SnapshotSource(FakeRegistry(company, extracted=DAY))
    answer = source.find(an_inquiry(CNPJ))
    assert answer is not None
    assert record_of(answer, Company).nome_empresarial == "FULANA DE TAL ***222333**"
    answer = source.find(an_inquiry(CNPJ, full_partners=True))
    assert isinstance(answer, Found)
    assert answer.record == company
