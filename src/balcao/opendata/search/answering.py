"""Answers of searches, with texts in the place of the month's codes."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from balcao.core.company import SIZE_TEXTS, STATUS_TEXTS, Coded
from balcao.core.personal import mask_cpf_in_text
from balcao.core.search import (
    COUNT_EFFORT,
    LIMIT_MAX,
    Filters,
    HitCount,
    PageEffort,
    PartnerFilters,
    read_cursor,
    resolved,
)
from balcao.core.search_answers import CompaniesPage, CompanyFound, PartnerFound, PartnersPage
from balcao.core.search_record import PartnerSearchRecord, SearchRecord
from balcao.opendata.errors import OpenDataError
from balcao.opendata.municipalities import toms_by_ibge
from balcao.opendata.search.index import SearchIndex, index_path, open_index
from balcao.opendata.search.paging import Seconds, count, find, find_partners
from balcao.opendata.snapshot import CURRENT, current_path

_CHECK_SECONDS = 1.0
_BUDGET = PageEffort()
_SECONDS_OF_COUNTS = 0.5


class CurrentIndex:
    """The index of the published month, reopened when another is published. Not thread safe."""

    def __init__(self, store: Path, now: Seconds) -> None:
        """Open nothing yet. `now`: a monotonic clock, in seconds."""
        self._store = store
        self._now = now
        self._index: SearchIndex | None = None
        self._seen: tuple[int, ...] = ()
        self._next_check_at = float("-inf")

    @property
    def index(self) -> SearchIndex | None:
        """The index; None: the month has none, or there is no month."""
        now = self._now()
        if now >= self._next_check_at:
            self._next_check_at = now + _CHECK_SECONDS
            self._refresh()
        return self._index

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index.snapshot.close()
            self._index = None

    def _refresh(self) -> None:
        try:
            path = current_path(self._store)
            files = (self._store / CURRENT).stat(), index_path(path).stat()
        except (OSError, OpenDataError):
            self.close()
            self._seen = ()
            return
        # Both are replaced, never rewritten.
        seen = tuple(part for each in files for part in (each.st_ino, each.st_mtime_ns))
        if seen != self._seen:
            self.close()
            try:
                self._index, self._seen = open_index(path), seen
            except OpenDataError:  # perhaps temporary, such as too many open files
                self._seen = ()


def companies(
    index: SearchIndex, filters: Filters, cursor: str | None, limit: int, now: Seconds
) -> CompaniesPage:
    """Return one page. Raises `InvalidParameter`, `CursorOfAnotherMonth`, `OpenDataError`."""
    filters = _resolved(index, filters)
    place = read_cursor(cursor, index.stamp, filters)
    hits = find(index, filters, place, limit, _BUDGET, now)
    following = hits.following
    return CompaniesPage(
        [_company(record, index.domains) for record in hits.records],
        hits.partial,
        None if following is None else following.cursor(index.stamp),
        index.snapshot.extraction_date.isoformat(),
    )


def counted(index: SearchIndex, filters: Filters, now: Seconds) -> HitCount:
    """Return the number of hits. Raises `InvalidParameter`, `OpenDataError`."""
    filters = _resolved(index, filters)
    return count(index, filters, COUNT_EFFORT, now)


def counts(index: SearchIndex, each: Sequence[Filters], now: Seconds) -> Sequence[HitCount]:
    """Return the numbers of hits of several filters, within one budget.

    Raises `InvalidParameter`, `OpenDataError`.
    """
    deadline, found = now() + _SECONDS_OF_COUNTS, []
    for filters in each:
        effort = PageEffort(seconds=min(COUNT_EFFORT.seconds, deadline - now()))
        known = effort.seconds > 0
        found.append(
            count(index, _resolved(index, filters), effort, now) if known else HitCount(0, False)
        )
    return found


def partners(index: SearchIndex, filters: PartnerFilters, limit: int, now: Seconds) -> PartnersPage:
    """Return the first hits. Raises `OpenDataError`."""
    found, more = find_partners(index, filters, min(limit, LIMIT_MAX), _BUDGET, now)
    return PartnersPage(
        [_partner(each, index.domains) for each in found],
        more,
        index.snapshot.extraction_date.isoformat(),
    )


def _resolved(index: SearchIndex, filters: Filters) -> Filters:
    domains = index.domains
    return resolved(filters, domains["Municipios"], toms_by_ibge(), domains["Cnaes"])


_Domains = Mapping[str, Mapping[str, str]]


def _company(record: SearchRecord, domains: _Domains) -> CompanyFound:
    return CompanyFound(
        cnpj=record.cnpj,
        nome_empresarial=mask_cpf_in_text(record.name) or None,
        nome_fantasia=mask_cpf_in_text(record.trade_name) or None,
        situacao=STATUS_TEXTS.get(record.status),
        data_situacao=record.status_day,
        uf=record.uf or None,
        municipio=domains["Municipios"].get(record.city),
        cnae_principal=_coded(record.activity, domains["Cnaes"]),
        natureza=_coded(record.nature, domains["Naturezas"]),
        porte=SIZE_TEXTS.get(record.size),
        data_de_abertura=record.opened,
        matriz=record.head,
        capital_social=record.capital,
    )


def _partner(found: PartnerSearchRecord, domains: _Domains) -> PartnerFound:
    return PartnerFound(
        nome=mask_cpf_in_text(found.name) or None,
        documento=mask_cpf_in_text(found.document) or None,
        qualificacao=domains["Qualificacoes"].get(found.qualification),
        data_de_entrada=found.entered,
        cnpj=found.cnpj,
        nome_empresarial=mask_cpf_in_text(found.company) or None,
    )


def _coded(code: str, table: Mapping[str, str]) -> Coded | None:
    return Coded(code, table.get(code)) if code else None
