"""The errors ("dirt") of real files, to test an importer with.

Kinds and rates: `rfb-open-data.md`, sections 3, 4, 8, 9 and 11. A kind changes the fields of
one row, or the row as a whole; rows are chosen by the seed, not by their document.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from balcao.fiction.month.mixing import mix_one, salt

# Takes the fields of a row and a number of 64 bits; returns the lines to write instead.
Change = Callable[[list[str], int], list[str]]


@dataclass(frozen=True, slots=True)
class Dirt:
    """A kind of dirt, in `per_million` rows of the table."""

    name: str
    per_million: float
    change: Change


def add_dirt(rows: list[str], kinds: Sequence[Dirt], key: int, times: float) -> None:
    """Change, repeat or drop some of the rows of a chunk; `times` multiplies every rate."""
    if not rows:
        return
    more: list[str] = []
    for kind in kinds:
        kind_key = salt(key, kind.name)
        expected = kind.per_million * times * len(rows) / 1e6
        count = int(expected) + (mix_one(0, kind_key) < (expected % 1) * 2.0**64)
        for n in range(1, count + 1):
            draw = mix_one(n, kind_key)
            place = draw % len(rows)
            row = rows[place]
            # Only clean rows can be split safely; a row gets only one kind of dirt.
            if row.startswith('"') and row.endswith('"\n') and row.count("\n") == 1:
                changed = kind.change(row[1:-2].split('";"'), draw >> 20)
                rows[place] = changed[0] if changed else ""
                more.extend(changed[1:])
    rows[:] = [row for row in rows if row]
    rows.extend(more)


def written(fields: Sequence[str]) -> str:
    """Return a row with these fields."""
    return '"' + '";"'.join(fields) + '"\n'


def _field(column: int, write: Callable[[str, int], str]) -> Change:
    def change(fields: list[str], draw: int) -> list[str]:
        fields[column] = write(fields[column], draw)
        return [written(fields)]

    return change


def _set(values: dict[int, str]) -> Change:
    def change(fields: list[str], draw: int) -> list[str]:
        for column, value in values.items():
            fields[column] = value
        return [written(fields)]

    return change


def _twice(fields: list[str], draw: int) -> list[str]:
    return [written(fields)] * 2


def _missing(fields: list[str], draw: int) -> list[str]:
    return []


_WRONG_DATES = ("2021221", "02020315", "41000101", "20210200", "20991231", "0")


def _wrong_date(text: str, draw: int) -> str:
    return _WRONG_DATES[draw % len(_WRONG_DATES)]


def _ghost(fields: list[str], draw: int) -> list[str]:
    return [written([fields[0], "", "0000", "00", "0,00", "", ""]), written(fields)]


def _again_with_another_role(fields: list[str], draw: int) -> list[str]:
    again = list(fields)
    again[4] = "05" if fields[4] != "05" else "22"
    return [written(fields), written(again)]


def _broken_name(fields: list[str], draw: int) -> list[str]:
    fields[1] = f"{fields[1]} II'\n"
    return [written(fields)]


# Columns of Estabelecimentos, from 0.
_TRADE_NAME, _STATUS_DATE, _COUNTRY, _OPENED, _COMPLEMENT, _CEP, _EMAIL = 4, 6, 9, 10, 16, 18, 27

ESTABLISHMENT_DIRT = (
    Dirt("status date 0", 3000, _set({_STATUS_DATE: "0"})),
    Dirt("wrong opening date", 5, _field(_OPENED, _wrong_date)),
    Dirt("wrong status date", 5, _field(_STATUS_DATE, _wrong_date)),
    Dirt("CEP without its leading zero", 1000, _field(_CEP, lambda text, draw: text[1:])),
    Dirt("CEP 0", 10, _set({_CEP: "0"})),
    Dirt("CEP blank and 0", 10, _set({_CEP: "       0"})),
    Dirt("phone 0", 2000, _set({21: "0", 22: "0"})),
    Dirt("area code of three digits", 500, _field(21, lambda text, draw: f"0{text}")),
    Dirt("area code of four digits", 200, _field(21, lambda text, draw: f"00{text}")),
    Dirt("second phone of zeros", 1000, _set({23: "0000", 24: "00000000"})),
    Dirt("fax 0", 5000, _set({25: "0", 26: "0"})),
    Dirt("country without its leading zero", 5, _set({_COUNTRY: "69"})),
    Dirt("complement of one blank", 100, _set({_COMPLEMENT: " "})),
    Dirt("doubled quote", 5, _set({_COMPLEMENT: 'SALA ""A""'})),
    Dirt("line feed in complement", 0.7, _field(_COMPLEMENT, lambda text, draw: f"{text}\n")),
    Dirt("line feed in trade name", 0.3, _field(_TRADE_NAME, lambda text, draw: f"{text}\n")),
    Dirt(
        "backslash before the closing quote",
        0.5,
        _field(_COMPLEMENT, lambda text, draw: f"{text}\\"),
    ),
    Dirt("unescaped quote", 0.2, _set({_COMPLEMENT: 'LOJA "B" TERREO'})),
    Dirt("NUL", 0.1, _field(_COMPLEMENT, lambda text, draw: f"{text}\0")),
    Dirt(
        "C1 control in e-mail",
        1 / 15,
        _field(_EMAIL, lambda text, draw: f"FICTICIO\x8f{draw % 1000}@EXAMPLE.COM"),
    ),
    Dirt("whole row twice", 1, _twice),
    Dirt("company without establishment", 1, _missing),
)

COMPANY_DIRT = (
    Dirt("highest capital", 2, _set({4: "999999999999,00"})),
    Dirt("negative capital", 1, _field(4, lambda text, draw: f"-{text}")),
    Dirt("whole row twice", 1, _twice),
    Dirt("ghost", 0.2, _ghost),
    Dirt("root without company", 1, _missing),
    Dirt("name broken over two lines", 0.05, _broken_name),
)

PARTNER_DIRT = (
    Dirt("wrong date", 5, _field(5, _wrong_date)),
    Dirt("same partner in another role", 100, _again_with_another_role),
    Dirt("whole row twice", 1, _twice),
)

SIMPLES_DIRT = (Dirt("wrong date", 5, _field(2, _wrong_date)),)
