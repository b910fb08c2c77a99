"""Decide from the zips' directories whether a month is complete and plausible by itself.

File set and shares: `rfb-open-data.md`, sections 2, 7 and 10.1; reasons: ADR 0076.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from balcao.opendata.archive import INNER_DATE, Inputs, Part
from balcao.opendata.layout import DOMAINS, PARTS_PER_TABLE, TABLES
from balcao.opendata.verify import SIZEABLE_ROWS

# Average bytes of a record (`rfb-open-data.md`, section 7), to estimate rows from sizes.
_RECORD_BYTES = {"Empresas": 79, "Estabelecimentos": 234, "Socios": 103, "Simples": 63}

# Parts 1 to 9 hold 6.5 % of a table each and part 0 the rest, so a table of this size has rows
# in every part. Generated months have the same shares.
ROWS_IN_EVERY_PART = 50

# In sizeable months: parts 1 to 9 have the same number of rows, and part 0 has more.
_PART_SHARE_MIN = 0.8
# Rows of a table for each company: 1.047, 0.405 and 0.72 in the publisher's months.
_PER_COMPANY = {"Estabelecimentos": (0.9, 1.3), "Socios": (0.2, 1.0), "Simples": (0.4, 1.2)}

# A few zips without the publisher's inner names: an extract of a month, made by hand.
_EXTRACT_BYTES_MAX = 1_000_000

PartRows = Mapping[tuple[str, int], int]  # by table and number of the part


@dataclass(frozen=True, slots=True)
class Completeness:
    """Reasons in Portuguese against importing a month."""

    missing: str | None = None  # always fatal
    sizes: tuple[str, ...] = ()  # implausible; an operator may accept them
    warnings: tuple[str, ...] = field(default=())


def zip_name(table: str, number: int) -> str:
    """Return the publisher's name of a part or a table of codes."""
    return f"{table}{number}.zip" if PARTS_PER_TABLE.get(table, 1) > 1 else f"{table}.zip"


def judge(inputs: Inputs, earlier: Collection[str]) -> Completeness:
    """Check that the ZIP files of a month are complete, before they are read.

    `earlier`: the code tables of the published month, used where this month lacks one.
    """
    found_parts = {(part.table, part.number): part for part in (*inputs.parts, *inputs.domains)}
    if is_extract(inputs):
        return _judge_extract(found_parts)
    missing = [name for name in _expected(earlier) if name not in found_parts]
    if missing:
        falta = "falta" if len(missing) == 1 else "faltam"
        return Completeness(f"{falta} {', '.join(zip_name(*name) for name in missing)}")
    rows = {name: _rows_of(part) for name, part in found_parts.items() if name[0] in TABLES}
    if empty := empty_parts(rows):
        return Completeness(empty_sentence([found_parts[name].file for name in empty]))
    return Completeness(sizes=(*_short_parts(rows), *_odd_tables(rows)))


def empty_parts(rows: PartRows) -> Sequence[tuple[str, int]]:
    """Return the parts without a row of tables that are large enough to have rows in all."""
    totals = _totals(rows)
    expected = {name: totals[name] for name, parts in PARTS_PER_TABLE.items() if parts > 1}
    # There is only one zip of Simples: the number of companies decides if it should have rows.
    expected["Simples"] = totals["Empresas"]
    return [
        name
        for name, count in sorted(rows.items())
        if not count and expected[name[0]] >= ROWS_IN_EVERY_PART
    ]


def empty_sentence(files: Sequence[str]) -> str:
    """Return a complaint about ZIP files without any record."""
    if len(files) == 1:
        return f"{files[0]} não tem nenhum registro. Baixe de novo"
    return f"{', '.join(files)} não têm nenhum registro. Baixe de novo"


def _expected(earlier: Collection[str]) -> Sequence[tuple[str, int]]:
    return [
        *((table, number) for table, parts in PARTS_PER_TABLE.items() for number in range(parts)),
        *((domain, 0) for domain in DOMAINS if domain not in earlier),
    ]


def is_extract(inputs: Inputs) -> bool:
    """Whether the files are a hand-made extract: no publisher's date inside, and very small."""
    every = (*inputs.parts, *inputs.domains)
    dated = any(INNER_DATE.search(part.entry) for part in every)
    return not dated and sum(part.bytes for part in every) <= _EXTRACT_BYTES_MAX


def _judge_extract(found_parts: Mapping[tuple[str, int], Part]) -> Completeness:
    counts = {table: sum(name[0] == table for name in found_parts) for table in TABLES}
    absent = [table for table, count in counts.items() if not count]
    if absent:
        falta = "falta o zip" if len(absent) == 1 else "faltam os zips"
        return Completeness(f"{falta} de {', '.join(absent)}")
    return Completeness(
        warnings=tuple(
            f"{table}: {counts[table]} de {parts} partes"
            for table, parts in PARTS_PER_TABLE.items()
            if counts[table] < parts
        )
    )


def _rows_of(part: Part) -> int:
    """Estimate the rows of a part; 0 where its bytes do not suffice for one."""
    shortest = 3 * TABLES[part.table].width  # quotes and separator of each field
    return 0 if part.bytes < shortest else max(part.bytes // _RECORD_BYTES[part.table], 1)


def _totals(rows: PartRows) -> Mapping[str, int]:
    return {
        table: sum(count for name, count in rows.items() if name[0] == table) for table in TABLES
    }


def _short_parts(rows: PartRows) -> Sequence[str]:
    found = []
    for table, total in _totals(rows).items():
        parts = {name: count for name, count in rows.items() if name[0] == table}
        if total < SIZEABLE_ROWS or len(parts) == 1:
            continue
        usual = max(count for (_, number), count in parts.items() if number)
        found += [
            f"{zip_name(*name)} é pequeno demais: cerca de {round(count * 100 / usual)} % das"
            " outras partes"
            for name, count in sorted(parts.items())
            if count < usual * _PART_SHARE_MIN and name[1] < PARTS_PER_TABLE[table]
        ]
    return found


def _odd_tables(rows: PartRows) -> Sequence[str]:
    totals = _totals(rows)
    companies = totals["Empresas"]
    if totals["Estabelecimentos"] < SIZEABLE_ROWS:
        return ()
    return [
        f"{table} tem registros de {'menos' if totals[table] < least * companies else 'mais'}"
        " para o número de empresas"
        for table, (least, most) in _PER_COMPANY.items()
        if not least * companies <= totals[table] <= most * companies
    ]
