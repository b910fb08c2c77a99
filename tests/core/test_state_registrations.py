"""Numbers of state registrations, by the examples that the states publish with their rules."""

import pytest

from balcao.core.federation import UFS
from balcao.core.state_registrations import completed, is_valid, length

# The examples of SINTEGRA's pages, of PE and BA also those of the states' own.
PUBLISHED = [
    ("AC", "01.004.823/001-12"),
    ("AL", "240000048"),
    ("AM", "04.293.368-4"),
    ("AP", "030123459"),
    ("BA", "123456-63"),
    ("BA", "612345-57"),
    ("BA", "1000003-06"),
    ("BA", "1234567-48"),
    ("BA", "1623456-51"),
    ("CE", "06000001-5"),
    ("DF", "073.00001.001-09"),
    ("ES", "99999999-0"),
    ("GO", "10.987.654-7"),
    ("MA", "12000038-5"),
    ("MG", "062.307.904/0081"),
    ("MS", "28000038-3"),
    ("MT", "0013000001-9"),
    ("PA", "15-999999-5"),
    ("PB", "06000001-5"),
    ("PE", "0321418-40"),
    ("PE", "18.1.001.0000004-9"),
    ("PI", "01234567-9"),
    ("PR", "123.45678-50"),
    ("RJ", "99.999.99-3"),
    ("RN", "20.040.040-1"),
    ("RN", "20.0.040.040-0"),
    ("RO", "101.62521-3"),
    ("RO", "0000000062521-3"),
    ("RR", "24006628-1"),
    ("RR", "24001755-6"),
    ("RS", "224/365879-2"),
    ("SC", "251.040.85-2"),
    ("SE", "27123456-3"),
    ("SP", "110.042.490.114"),
    ("SP", "P-01100424.3/002"),
    ("TO", "29 01 022783 6"),
    ("TO", "29 022783 6"),
]

# Where a digit proves nothing, from the left: the rule leaves it out.
UNCHECKED = {
    ("RO", "101.62521-3"): (0, 1, 2),
    ("SP", "P-01100424.3/002"): (9, 10, 11),
    ("TO", "29 01 022783 6"): (2, 3),
}


def bare(number: str) -> str:
    return "".join(each for each in number if each.isdigit())


def test_every_state_has_an_example() -> None:
    assert {uf for uf, _ in PUBLISHED} == set(UFS)


@pytest.mark.parametrize(("uf", "number"), PUBLISHED)
def test_what_the_state_publishes(uf: str, number: str) -> None:
    assert is_valid(uf, number)
    assert is_valid(uf, bare(number))


@pytest.mark.parametrize(("uf", "number"), PUBLISHED)
def test_the_last_digit_of_the_check_is_judged(uf: str, number: str) -> None:
    """Of all ten, one is right; but where that digit is none of the check's."""
    digits = bare(number)
    last = 8 if number.startswith("P") else len(digits) - 1
    right = [
        each for each in "0123456789" if is_valid(uf, digits[:last] + each + digits[last + 1 :])
    ]
    # RO's nine digits might also be its fourteen, without the zeros in front.
    assert right == (["3", "9"] if (uf, len(digits)) == ("RO", 9) else [digits[last]])


@pytest.mark.parametrize(("uf", "number"), PUBLISHED)
def test_one_changed_digit(uf: str, number: str) -> None:
    """Most single changes are seen at every place; at the unchecked ones none is."""
    digits = bare(number)
    free = UNCHECKED.get((uf, number), ())
    for place, digit in enumerate(digits):
        others = [each for each in "0123456789" if each != digit]
        passed = [
            each for each in others if is_valid(uf, digits[:place] + each + digits[place + 1 :])
        ]
        if place in free:
            assert passed == others
        elif number.startswith("P") and place == 0:
            assert len(passed) <= 1  # it is no rural producer's any more, and both are judged
        else:
            assert len(passed) <= 3, (place, passed)


@pytest.mark.parametrize(("uf", "number"), PUBLISHED)
def test_a_digit_too_many_in_front(uf: str, number: str) -> None:
    """Numbers as returned by a public service since June 2026."""
    passed = [each for each in "0123456789" if is_valid(uf, each + bare(number))]
    if uf in ("BA", "PE", "RN", "RO", "TO"):  # they have a longer form, which it may be by chance
        assert len(passed) <= 2
    else:
        assert passed == []


@pytest.mark.parametrize("uf", UFS)
def test_a_number_is_completed_and_has_no_room_for_more(uf: str) -> None:
    number = completed(uf, "1" * length(uf))
    assert is_valid(uf, number)
    last = 11 if uf == "SP" else length(uf) - 1
    wrong = str((int(number[last]) + 1) % 10)
    assert not is_valid(uf, f"{number[:last]}{wrong}{number[last + 1 :]}")


def test_what_the_numbers_begin_with_is_not_judged() -> None:
    """States go on to other ranges: these are of 2024 (PA), 2023 (GO), 2020 (DF), 2025 (RS)."""
    for uf, number in (
        ("PA", completed("PA", "750000010")),
        ("GO", "201050412"),
        ("DF", "0824761500136"),
        ("RS", completed("RS", "8000000010")),
    ):
        assert is_valid(uf, number)


def test_zeros_that_a_source_dropped() -> None:
    assert is_valid("MT", "131661388")
    assert is_valid("RO", "625213")
    assert is_valid("AM", "42933684")
    assert not is_valid("SP", "10042490114")  # none of them begins with a zero
    assert not is_valid("TO", "9022783" + "6")


def test_ranges_with_a_rule_of_their_own() -> None:
    assert is_valid("AP", "030170011")
    assert is_valid("AP", "030190231")
    assert is_valid("AP", "039999998")
    # Given out with both digits.
    assert is_valid("GO", "110944020")
    assert is_valid("GO", "110944021")
    assert not is_valid("GO", "110944022")
    assert is_valid("GO", "101111101")  # a remainder of 1, within the old range


@pytest.mark.parametrize(
    "number", ["", "0", "000000000", "ISENTO", "P", "24000004X", "2400000-", "٢٤٠٠٠٠٠٤٨", "1" * 15]
)
def test_what_is_no_number_is_none_of_any_state(number: str) -> None:
    assert not any(is_valid(uf, number) for uf in UFS)


def test_the_p_of_rural_producers_is_sao_paulos_alone() -> None:
    assert is_valid("SP", "011004243002"), "some sources leave the letter out"
    assert not is_valid("SP", "P110042490114"[:12])
    assert not is_valid("AL", "P240000048")
