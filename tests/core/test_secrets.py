"""The roles of secrets: by their order in the file, and the database's last rotation (ADR 0106)."""

from collections.abc import Sequence

import pytest

from balcao.accounts.seal import Seal
from balcao.core.errors import PepperDiffers
from balcao.core.secrets import SecretRing, SecretRotation, Secrets, ring_of, secret_id, single

A, B, C = (bytes([number]) * 32 for number in range(1, 4))


def _rotation(to: bytes, from_: bytes | None = None, *, finished: bool = False) -> SecretRotation:
    previous = None if from_ is None else secret_id(from_)
    return SecretRotation(secret_id(to), previous, 1, 2 if finished else None)


@pytest.mark.parametrize(
    ("secrets", "newest", "current", "previous", "pending"),
    [
        ([A], None, A, None, None),
        ([A, B], None, A, None, B),
        ([A, B], _rotation(B), B, A, None),
        ([A, B], _rotation(B, finished=True), B, None, None),
        ([A, B, C], _rotation(B, finished=True), B, None, C),
        ([A, B, C], _rotation(C, B), C, B, None),
        ([A, C], _rotation(C, B, finished=True), C, None, None),
    ],
)
def test_roles(
    secrets: Sequence[bytes],
    newest: SecretRotation | None,
    current: bytes,
    previous: bytes | None,
    pending: bytes | None,
) -> None:
    ring = ring_of(secrets, newest)
    assert ring == SecretRing(tuple(secrets), current, previous, pending)
    assert ring.first == A
    assert ring.stored_id == (None if current == A else secret_id(current))
    assert ring.by_id(ring.stored_id) == current
    assert ring.accepted == (current, *(one for one in (previous, pending) if one))


@pytest.mark.parametrize(("secrets", "newest"), [([A], _rotation(B)), ([A, C], _rotation(C, B))])
def test_a_secret_that_is_needed_is_missing(
    secrets: Sequence[bytes], newest: SecretRotation
) -> None:
    with pytest.raises(PepperDiffers):
        ring_of(secrets, newest)


def test_a_seal_opens_what_the_replaced_secret_sealed_until_it_is_finished() -> None:
    old = single(A)
    sealed, token, digest = (
        Seal(old).close(b"x", b"value"),
        Seal(old).token_for("cookie"),
        Seal(old).digest(b"x", b"value"),
    )
    rotating = Seal(Secrets(ring_of([A, B], _rotation(B))))
    finished = Seal(Secrets(ring_of([A, B], _rotation(B, finished=True))))
    assert rotating.open(b"x", sealed) == b"value"
    assert rotating.is_token_of("cookie", token)
    assert rotating.digest(b"x", b"value") == finished.digest(b"x", b"value") == digest
    assert finished.open(b"x", sealed) is None
    assert not finished.is_token_of("cookie", token)
    renewed = rotating.renew(b"x", sealed)
    assert renewed is not None
    assert finished.open(b"x", renewed) == b"value"
    assert rotating.renew(b"x", renewed) is None
    assert rotating.renew(b"another purpose", sealed) is None
