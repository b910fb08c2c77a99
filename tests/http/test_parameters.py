"""Parsing of query strings, of which nothing is remembered."""

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balcao.core.errors import InvalidParameter
from balcao.operations.parameters import split

PIECES = st.sampled_from(
    ["uf", "cpf", "=", "&", "+", "%20", "%", "%C3%A3", ";", "7", "ã", "%26", " "]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_it_agrees_with_other_parsers(query: str) -> None:
    assert [*split(query.encode())] == parse_qsl(
        query.encode().decode("latin-1"), keep_blank_values=True
    )


@pytest.mark.parametrize("separator", [b"&", b"&a=%20&"])
def test_an_endless_query_is_refused(separator: bytes) -> None:
    assert len(split(b"&".join([b"a=1"] * 100))) == 100
    with pytest.raises(InvalidParameter, match="parâmetros demais"):
        split(separator.join([b"a=1"] * 101))


@pytest.mark.parametrize("query", [b"cpf=90010000100", b"cpf=900.100.001-00&uf=S%50"])
def test_nothing_is_remembered(query: bytes) -> None:
    """Data about a person is in memory only as long as the request."""
    assert split(query) == split(query)
    assert split(query) is not split(query)
