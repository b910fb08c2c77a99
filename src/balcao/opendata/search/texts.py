"""Tokens of the rows of a range of roots for the index, many rows at once.

`core/search_record.py` defines a record's tokens, `records.py` its reading from rows. This module
is a faster equivalent for rows of the plain form, which nearly all have: codes of their usual
width, in digits. These are copied column by column into lines of one length, each code behind its
prefix, blanks where there is none. Rows of any other form are converted by those two modules, one
by one; a test compares both ways over rows of all kinds.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

import numpy as np

from balcao.core.search_record import (
    ACTIVITY_NOT_INFORMED,
    CAPITAL,
    CAPITAL_CLASS_MAX,
    CAPITAL_STEP,
    CODED,
    OPENED,
    PARTNER_CPF,
    PERSON,
    POSTAL,
    POSTAL_DIGITS,
    STATUS_CHANGED,
    document_token,
    domain_of,
    is_person,
    token,
    tokens_of,
)
from balcao.opendata.keys import Bytes, Numbers, Positions
from balcao.opendata.layout import EMPRESAS, ESTABELECIMENTOS, SIMPLES, SOCIOS
from balcao.opendata.scan import Flags
from balcao.opendata.search.columns import Columns, are_digits
from balcao.opendata.search.records import RowReader
from balcao.opendata.search.words import words_of_lines
from balcao.opendata.tally import are_days, latest_date

_BLANK, _ZERO, _ONE, _THREE, _NINE, _YES = map(ord, " 0139S")
_CENTS, _COMMA, _AMOUNT_WIDTH = ",00", ord(","), 16
_FIRST_LETTER, _LAST_LETTER = map(ord, "AZ")
_LOWER = 0x20  # turns capital letters into lower case
_POSTAL_WIDTH, _DATE_WIDTH, _NATURE_WIDTH = 8, 8, 4
_DOMAINS_REMEMBERED = 50_000
_PUBLISHED, _STAR = "***000000**", ord("*")
_SIX_DIGITS = np.array([mark == "0" for mark in _PUBLISHED])

_NOT_INFORMED = np.frombuffer(ACTIVITY_NOT_INFORMED.encode(), np.uint8)
_IS_PERSON = np.array([is_person(f"{nature:04d}") for nature in range(10**_NATURE_WIDTH)])
_PLACES = 10 ** np.arange(_NATURE_WIDTH)[::-1]

# The indexed tables, in the order of `texts`.
TABLES = (ESTABELECIMENTOS, EMPRESAS, SIMPLES, SOCIOS)


@dataclass(frozen=True, slots=True)
class IndexedTexts:
    """Tokens of some establishments in the order of their CNPJs, and of the companies' partners."""

    keys: Numbers  # base-36 numbers of the first 12 characters
    establishments: Sequence[str]
    firsts: Positions  # positions of the first establishments of companies that have partners
    partners: Sequence[str]  # of each of these


class TextMaker:
    """Makes the tokens of the rows of one month."""

    def __init__(self, extraction: date) -> None:
        self._reader = RowReader(extraction)
        self._latest = latest_date(extraction)
        self._domain_tokens: dict[str, str] = {}

    def texts(self, *rows_of_tables: bytes) -> IndexedTexts:
        """Make the tokens of a range's rows, each followed by a line feed, by table as in `TABLES`.

        Establishments are in the order of their CNPJs. Fastest when all columns fit into a
        processor's cache.
        """
        rows, company_rows, simples, partners = map(Columns.of, rows_of_tables, TABLES)
        # Row numbers of the companies, plus 1; 0 is an empty row for those that have none.
        company, simple = (1 + each.places_of(rows.roots) for each in (company_rows, simples))
        company_rows, simples = company_rows.after_nothing(), simples.after_nothing()
        company_codes = _company_codes(company_rows)[company]
        simples_codes = _simples_codes(simples)[simple]
        codes, odd = _joined(self._codes(rows), company_codes, simples_codes)
        odd |= simples_codes.marked & ~company_codes.marked  # `MEI_WITHOUT_PERSON`
        names = words_of_lines(company_rows.lines("razao_social"))
        texts = [
            f"{code}{others}{domain} {names[of]} {trade_name}"
            for code, others, domain, of, trade_name in zip(
                codes,
                _activities(rows.lines("cnae_fiscal_secundaria"), odd),
                self._domains(rows.lines("correio_eletronico")),
                company.tolist(),
                words_of_lines(rows.lines("nome_fantasia")),
                strict=True,
            )
        ]
        for at in np.flatnonzero(odd).tolist():
            company_row = company_rows.row(company[at]) if company[at] else None
            simples_row = simples.row(simple[at]) if simple[at] else None
            record = self._reader.establishment(rows.row(at), company_row, simples_row)
            texts[at] = tokens_of(record)
        return IndexedTexts(rows.keys, texts, *_partners(partners, rows.roots))

    def _codes(self, rows: Columns) -> "_Lines":
        lines = _Lines(len(rows))
        lines.put_flag(
            CODED["matriz"].prefix, lines.flag(rows, "identificador_matriz_filial", _ONE)
        )
        for name, column in (
            ("situacao", "situacao_cadastral"),
            ("motivo", "motivo_situacao_cadastral"),
        ):
            lines.put(CODED[name].prefix, *lines.code(rows, column, 2))
        activity, known = lines.code(rows, "cnae_fiscal_principal", 7)
        for name in ("cnae", "cnae_principal"):
            lines.put(CODED[name].prefix, activity, known)
        informed = (activity != _NOT_INFORMED).any(axis=1)
        lines.put(CODED["divisao"].prefix, activity[:, :2], known & informed)
        lines.put(POSTAL, *lines.postal_code(rows, "cep"))
        lines.put(CODED["uf"].prefix, *lines.uf(rows, "uf"))
        lines.put(CODED["municipio"].prefix, *lines.code(rows, "municipio", 4))
        for column in ("ddd_1", "ddd_2"):
            area, known = lines.code(rows, column, 2)
            lines.put(CODED["ddd"].prefix, area, known & (area[:, 0] != _ZERO))
        for prefix, column in (
            (OPENED, "data_inicio_atividade"),
            (STATUS_CHANGED, "data_situacao_cadastral"),
        ):
            day, known = lines.day(rows, column, self._latest)
            for digits in (3, 4, 6):  # its decade, its year, its month
                lines.put(prefix, day[:, :digits], known)
            lines.put_absence(prefix, known)
        return lines

    def _domains(self, emails: bytes) -> Sequence[str]:
        known = self._domain_tokens
        if len(known) > _DOMAINS_REMEMBERED:
            known.clear()
        # The text before the last @ makes no difference.
        written = emails.decode("latin-1").split("\n")[:-1]
        ends = [email and email[email.rfind("@") + 1 :] for email in written]
        for end in {*ends} - known.keys():
            domain = domain_of(end)
            known[end] = f" {token(CODED['dominio'].prefix, domain)}" if domain else ""
        return [known[end] for end in ends]


class _Lines:
    """Tokens of codes, a line of one length for each row; and which rows are odd."""

    def __init__(self, rows: int) -> None:
        self.pieces: list[Bytes] = []
        self.odd: Flags = np.zeros(rows, np.bool_)
        self.marked: Flags = np.zeros(rows, np.bool_)  # people, MEIs

    def put(self, prefix: str, codes: Bytes, known: Flags) -> None:
        """Add a token to each row whose code is known."""
        before = token(prefix, "").encode()
        piece = np.full((len(codes), len(before) + codes.shape[1] + 1), _BLANK, np.uint8)
        piece[:, : len(before)] = np.frombuffer(before, np.uint8)
        piece[:, len(before) : -1] = codes
        piece[~known] = _BLANK
        self.pieces.append(piece)

    def put_absence(self, prefix: str, known: Flags) -> None:
        """Add the token of no code to each row whose code is not known."""
        self.put(prefix, np.zeros((len(known), 0), np.uint8), ~known)

    def put_flag(self, prefix: str, flag: Flags) -> None:
        """Add a token `1` or `0` to every row."""
        self.put(prefix, (flag + np.uint8(_ZERO))[:, np.newaxis], np.ones(len(flag), np.bool_))

    def flag(self, rows: Columns, column: str, yes: int) -> Flags:
        """Return which rows have exactly the character `yes`."""
        lengths = rows.lengths(column)
        self.odd |= lengths > 1
        return np.asarray((lengths == 1) & (rows.characters(column, 1)[:, 0] == yes))

    def code(self, rows: Columns, column: str, width: int) -> tuple[Bytes, Flags]:
        """Return codes of `width` digits, and which rows have one."""
        lengths, codes = rows.lengths(column), rows.characters(column, width)
        known = (lengths == width) & are_digits(codes)
        self.odd |= ~known & (lengths > 0)
        return codes, known

    def uf(self, rows: Columns, column: str) -> tuple[Bytes, Flags]:
        """Return two letters in lower case, and which rows have them."""
        lengths, codes = rows.lengths(column), rows.characters(column, 2)
        letters = ((codes >= _FIRST_LETTER) & (codes <= _LAST_LETTER)).all(axis=1)
        known = (lengths == 2) & letters
        self.odd |= ~known & (lengths > 0)
        return codes | np.uint8(_LOWER), known

    def postal_code(self, rows: Columns, column: str) -> tuple[Bytes, Flags]:
        """Return the first digits, a lost leading zero restored, and which rows have them."""
        lengths, codes = rows.lengths(column), rows.characters(column, _POSTAL_WIDTH)
        short = lengths == _POSTAL_WIDTH - 1
        codes[short, 1:] = codes[short, :-1]
        codes[short, 0] = _ZERO
        whole = (short | (lengths == _POSTAL_WIDTH)) & are_digits(codes)
        self.odd |= ~whole & (lengths > 0)
        return codes[:, :POSTAL_DIGITS], whole & (codes != _ZERO).any(axis=1)

    def day(self, rows: Columns, column: str, latest: date) -> tuple[Bytes, Flags]:
        """Return YYYYMMDD, and which rows have one that is a day."""
        lengths, codes = rows.lengths(column), rows.characters(column, _DATE_WIDTH)
        whole = lengths == _DATE_WIDTH
        known = whole & are_days(codes.view("<u8").ravel(), latest)
        self.odd |= (whole & ~known & ~are_digits(codes)) | (lengths > _DATE_WIDTH)
        return codes, known

    def capital(self, rows: Columns, column: str) -> tuple[Bytes, Bytes, Flags]:
        """Return the classes and steps of amounts like `1000,00`, and which rows have one."""
        lengths, text = rows.lengths(column), rows.characters(column, _AMOUNT_WIDTH)
        place = np.arange(_AMOUNT_WIDTH) - lengths[:, np.newaxis] + len(_CENTS)
        digits = (text >= _ZERO) & (text <= _NINE)
        fits = np.where(place == 0, text == _COMMA, digits) | (place >= len(_CENTS))
        reais = lengths - len(_CENTS)
        known = fits.all(axis=1) & (reais > 0) & (lengths <= _AMOUNT_WIDTH)
        nothing = known & (reais == 1) & (text[:, 0] == _ZERO)
        known &= nothing | (text[:, 0] != _ZERO)
        self.odd |= ~known & (lengths > 0)
        number = np.where(nothing, 0, 2 * reais - 1 + (text[:, 0] >= _THREE))
        number = np.clip(number, 0, CAPITAL_CLASS_MAX)
        second = np.where(reais > 1, text[:, 1], _ZERO)
        after = (place != 0) & (place < len(_CENTS)) & (np.arange(_AMOUNT_WIDTH) > 0)
        after[:, 1] &= reais == 1
        more = ((text != _ZERO) & after).any(axis=1)
        classes = np.stack((number // 10, number % 10), axis=1)
        firsts = (text[:, 0] - np.uint8(_ZERO), second - np.uint8(_ZERO))
        steps = np.stack((reais // 10, reais % 10, *firsts, more), axis=1)
        zero = np.uint8(_ZERO)
        return classes.astype(np.uint8) + zero, steps.astype(np.uint8) + zero, known

    def __getitem__(self, rows: Positions) -> "_Lines":
        chosen = _Lines(0)
        chosen.pieces = [np.concatenate(self.pieces, axis=1)[rows]]
        chosen.odd, chosen.marked = self.odd[rows], self.marked[rows]
        return chosen


def _company_codes(rows: Columns) -> _Lines:
    lines = _Lines(len(rows))
    nature, known = lines.code(rows, "natureza_juridica", _NATURE_WIDTH)
    lines.put(CODED["natureza"].prefix, nature, known)
    numbers = np.where(known[:, np.newaxis], nature - np.uint8(_ZERO), 0) @ _PLACES
    zeros = np.full((len(rows), 1), _ZERO, np.uint8)
    lines.marked = known & _IS_PERSON[numbers]
    lines.put(PERSON, zeros, ~lines.marked)
    lines.put(CODED["porte"].prefix, *lines.code(rows, "porte", 2))
    classes, steps, known = lines.capital(rows, "capital_social")
    lines.put(CAPITAL, classes, known)
    lines.put(CAPITAL_STEP, steps, known)
    lines.put_absence(CAPITAL, known)
    return lines


def _simples_codes(rows: Columns) -> _Lines:
    lines = _Lines(len(rows))
    for name, column in (("simples", "opcao_simples"), ("mei", "opcao_mei")):
        lines.marked = lines.flag(rows, column, _YES)
        lines.put_flag(CODED[name].prefix, lines.marked)
    return lines


def _joined(*some: _Lines) -> tuple[list[str], Flags]:
    """Return the tokens of each row, and which rows are odd."""
    written = np.concatenate([piece for lines in some for piece in lines.pieces], axis=1)
    text, width = written.tobytes().decode("latin-1"), written.shape[1]
    codes = [text[at : at + width] for at in range(0, len(text), width)]
    return codes, np.logical_or.reduce([lines.odd for lines in some])


# The usual form of secondary activities, which may be empty.
_ACTIVITIES = re.compile("(?:[0-9]+(?:,[0-9]+)*)?", re.ASCII)


def _activities(lines: bytes, odd: Flags) -> Sequence[str]:
    """Return tokens of the secondary activities; marks unusual texts as odd."""
    text = "\n" + lines.decode("latin-1")
    others = lines.translate(None, b"0123456789,\n")
    if others or any(gap in text for gap in (",,", "\n,", ",\n")):
        for at, activities in enumerate(text.split("\n")[1:-1]):
            odd[at] |= not _ACTIVITIES.fullmatch(activities)
    before = f" {token(CODED['cnae'].prefix, '')}"
    codes = text.replace(",", before).split("\n")[1:-1]
    return [line and before + line for line in codes]


def _partners(rows: Columns, roots: Numbers) -> tuple[Positions, Sequence[str]]:
    """Return the first establishments of companies with partners, and those partners' tokens.

    `roots` are those of the establishments, in their order.
    """
    if not len(roots) or not len(rows):
        return np.zeros(0, np.int64), []
    at = np.searchsorted(roots, rows.roots)
    known = np.flatnonzero(roots[np.minimum(at, len(roots) - 1)] == rows.roots)
    at = at[known]
    order = np.argsort(at, kind="stable")
    names, documents = words_of_lines(rows.lines("nome_socio")), _documents(rows)
    tokens = [f"{names[row]} {documents[row]}" for row in known[order].tolist()]
    begins = np.flatnonzero(np.diff(at[order], prepend=-1))
    bounds = [*begins.tolist(), len(tokens)]
    return at[order][begins], [" ".join(tokens[begin:end]) for begin, end in pairwise(bounds)]


def _documents(rows: Columns) -> Sequence[str]:
    """Return tokens of partners' documents, most of which are published, masked CPFs."""
    lines, lengths = _Lines(len(rows)), rows.lengths("cnpj_cpf_socio")
    written = rows.characters("cnpj_cpf_socio", len(_PUBLISHED))
    known = (lengths == len(_PUBLISHED)) & are_digits(written[:, _SIX_DIGITS])
    known &= (written[:, ~_SIX_DIGITS] == _STAR).all(axis=1)
    lines.put(PARTNER_CPF, written[:, _SIX_DIGITS], known)
    tokens = _joined(lines)[0]
    for at in np.flatnonzero(~known & (lengths > 0)).tolist():
        tokens[at] = document_token(rows.value("cnpj_cpf_socio", at).strip()) or ""
    return tokens
