"""API keys are unguessable, checked for typing errors without a read, and stored as a hash."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balcao.core.access import (
    PREFIX_CHARACTERS,
    Account,
    find_account,
    is_well_formed,
    key_hash,
    new_key,
)
from balcao.core.questions import Mode

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
KEY = new_key("live")


@pytest.mark.parametrize("mode", ["live", "test"])
def test_a_key_has_its_documented_form(mode: Mode) -> None:
    key = new_key(mode)
    assert key.startswith(f"balcao_{mode}_")
    rest = key.removeprefix(f"balcao_{mode}_")
    assert len(rest) == 43 + 6
    assert set(rest) <= set(BASE62)
    assert is_well_formed(key)
    assert math.log2(62) * 43 >= 256


def test_no_two_keys_are_alike() -> None:
    keys = {new_key("live") for _ in range(200)}
    assert len(keys) == 200
    assert len({key[:PREFIX_CHARACTERS] for key in keys}) > 190, "told apart by sight"


@given(st.integers(0, len(KEY) - 1), st.sampled_from(BASE62 + "_- ç"))
def test_one_wrong_character_is_noticed(place: int, character: str) -> None:
    wrong = KEY[:place] + character + KEY[place + 1 :]
    assert is_well_formed(wrong) == (wrong == KEY)


@given(st.integers(0, len(KEY) - 2))
def test_two_characters_in_the_wrong_order_are_noticed(place: int) -> None:
    wrong = KEY[:place] + KEY[place + 1] + KEY[place] + KEY[place + 2 :]
    assert is_well_formed(wrong) == (wrong == KEY)


@pytest.mark.parametrize(
    "text",
    ["", "x", KEY[:-1], KEY + "0", KEY.upper(), KEY.replace("live", "test"), "\N{BANK}" * 61],
    ids=["empty", "x", "shorter", "longer", "upper case", "other mode", "not ASCII"],
)
def test_nothing_else_is_a_key(text: str) -> None:
    assert not is_well_formed(text)


def test_a_hash_depends_on_key_and_pepper_and_shows_neither() -> None:
    pepper = b"p" * 32
    stored = key_hash(KEY, pepper)
    assert stored == key_hash(KEY, pepper)
    assert stored != key_hash(KEY, b"q" * 32)
    assert stored != key_hash(new_key("live"), pepper)
    assert len(stored) == 32
    assert KEY.encode() not in stored


def test_an_account_is_found_by_name_or_number() -> None:
    accounts = [
        Account(number, name, "pre_pago", "live", False, False, None, 0, 0, 0, 0)
        for number, name in ((1, "ana"), (2, "bruno"))
    ]
    assert find_account(accounts, "bruno") == accounts[1]
    assert find_account(accounts, "1") == accounts[0]
    assert find_account(accounts, "3") is None
