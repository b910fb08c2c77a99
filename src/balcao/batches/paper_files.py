"""Files of a portfolio's certificates: receipts as a ZIP, and a spreadsheet (contract 20.7)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import IO, Final

from balcao.batches.receipts_zip import ReceiptOfRow, write_receipts
from balcao.batches.results import ResultFile, Results, SheetPlace, receipt_reader
from balcao.core.calendar import from_ms
from balcao.core.next_expiries import NextExpiries
from balcao.core.paper_words import STATES, title_of
from balcao.core.papers import BOUGHT_BY, PaperState, days_left
from balcao.core.receipts import Receipt
from balcao.core.writing import document
from balcao.lookup.context import Parts
from balcao.storage.batches import StoredRow
from balcao.storage.desk.wallet.paper_list import (
    PAPERS_AT_ONCE,
    ListedPaper,
    PaperFilter,
    Standing,
    standing_of,
)
from balcao.storage.desk.wallet.rows import pieces
from balcao.storage.spreadsheet import Sheet, Value, write_xlsx

RECEIPTS_NAME: Final = "certidoes-comprovantes"
SHEET_NAME: Final = "certidoes"
_SHEET: Final = "Certidões"
_SUMMARY: Final = "Resumo"
_COLUMNS: Final = (
    ("Empresa", 44), ("Documento", 20), ("Certidão", 26), ("Situação", 30), ("Vale até", 12),
    ("Dias", 8), ("Emitida em", 12), ("Prorrogada até", 14), ("Ato", 24), ("Próxima renovação", 20),
    ("Cliente", 16), ("Referência", 16), ("Etiquetas", 20), ("Comprovante", 44),
    ("Na carteira", 44),
)  # fmt: skip
_WITHOUT: Final = frozenset[PaperState]({"sem_certidao", "nao_verificada", "nao_emitida"})


@dataclass(frozen=True, slots=True)
class PaperFiles:
    """Writes the files. Methods raise `FileRunning`, `NoFileSpace`, `StorageFailed`."""

    parts: Parts
    results: Results

    async def receipts(self, account_id: int, chosen: PaperFilter) -> ResultFile:
        """Write a ZIP of the receipts of certificates, each once, with readable names."""
        content = receipt_reader(self.results.blobs)

        def write(file: IO[bytes], place: SheetPlace) -> None:
            write_receipts(file, self._receipts(account_id, chosen, content))

        return await self.results.other(account_id, write)

    def _receipts(
        self,
        account_id: int,
        chosen: PaperFilter,
        content: Callable[[Receipt], Iterator[bytes]],
    ) -> Iterator[ReceiptOfRow]:
        desk = self.parts.desk
        papers = [each for each in self._each(account_id, chosen) if each.paper.receipt_id]
        for at, some in enumerate(pieces(papers, PAPERS_AT_ONCE)):
            found = {
                receipt.receipt_id: receipt
                for receipt in desk.receipts(each.paper.receipt_id or "" for each in some)
                if receipt.account_id in {None, account_id}
            }
            for number, each in enumerate(some, at * PAPERS_AT_ONCE + 1):
                receipt = found.get(each.paper.receipt_id or "")
                if receipt is None:
                    continue
                subject = BOUGHT_BY.get(each.paper.kind)
                row = StoredRow(
                    number, "concluida", ref=each.item.reference, document=each.item.document,
                    request_id=each.paper.request_id,
                )  # fmt: skip
                operation = None if subject is None else self.parts.operations[subject]
                yield ReceiptOfRow(operation, row, receipt, content(receipt), title_of(each.paper))

    async def spreadsheet(self, account_id: int, chosen: PaperFilter) -> ResultFile:
        """Write a spreadsheet of certificates, with a summary first."""
        base = self.parts.receipt_numbers.base_url

        def write(file: IO[bytes], place: SheetPlace) -> None:
            today = self._standing(account_id).today
            summary = _Summary(today)
            papers = summary.counting(self._each(account_id, chosen))
            rows = (_row(each, today, base) for each in papers)
            names, widths = zip(*_COLUMNS, strict=True)
            sheet = Sheet(_SHEET, widths, rows, names)
            first = Sheet(_SUMMARY, (44, 16, 20), summary.rows())
            write_xlsx(
                file, [sheet], summary=first, folder=place.folder, check_room=place.check_room
            )

        return await self.results.other(account_id, write)

    def _each(self, account_id: int, chosen: PaperFilter) -> Iterator[ListedPaper]:
        return self.parts.desk.paper_list.each(account_id, chosen, self._standing(account_id))

    def _standing(self, account_id: int) -> Standing:
        settings = self.parts.desk.wallets.settings(account_id)
        return standing_of(settings, self.parts.now_ms())


class _Summary:
    """Counts the certificates of a spreadsheet while they are written."""

    def __init__(self, today: date) -> None:
        self.today = today
        self._states: Counter[PaperState] = Counter()
        self._expiries = NextExpiries(today)

    def counting(self, papers: Iterable[ListedPaper]) -> Iterator[ListedPaper]:
        """Yield the certificates, counted."""
        for number, each in enumerate(papers):
            self._states[each.state] += 1
            if each.paper.last_day is not None and each.state not in _WITHOUT:
                last = date.fromisoformat(each.paper.last_day)
                self._expiries.add(last, number, each.item.document, _name(each))
            yield each

    def rows(self) -> Iterator[Sequence[Value]]:
        """Yield the rows of the summary, once all were counted."""
        yield ("Gerado em", self.today)
        yield ("Certidões", self._states.total())
        yield ()
        yield ("Situações",)
        yield from ((f"  {STATES[state][0]}", self._states[state]) for state in STATES)
        if expiries := list(self._expiries.rows()):
            yield ()
            yield ("Próximos vencimentos",)
            yield from expiries


def _row(each: ListedPaper, today: date, base: str) -> Sequence[Value]:
    paper, item = each.paper, each.item
    receipt = f"{base}/app/comprovantes/{paper.receipt_id}" if paper.receipt_id else None
    return (
        _name(each),
        document(item.document),
        title_of(paper),
        STATES[each.state][0],
        _day(paper.last_day),
        None if paper.last_day is None else days_left(paper.last_day, today),
        _day(paper.issued_on),
        _day(paper.extended_until),
        paper.act,
        from_ms(paper.next_ms).replace(tzinfo=None) if paper.next_ms else None,
        item.client,
        item.reference,
        ", ".join(item.tags),
        receipt,
        f"{base}/app/carteira/itens/{item.item_id}",
    )


def _name(each: ListedPaper) -> str | None:
    """Return the name of a company; of a person only the account's own reference."""
    item = each.item
    name = None if item.registry is None or item.is_person else item.registry.nome_empresarial
    return name or item.reference


def _day(text: str | None) -> date | None:
    return None if text is None else date.fromisoformat(text)
