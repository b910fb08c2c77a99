"""Encryption of files and answers at rest: AES-GCM by a key per batch (ADR 0044).

The key is drawn from the installation's secret. What is sealed belongs to its place: a row's cells
open as the cells of that row and as nothing else.
"""

import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES = 12
# Quick: an answer of 2 kB becomes 700 bytes within 40 µs.
_LEVEL = 1
# Shorter rows seldom get any shorter.
_COMPRESSED_FROM_BYTES = 100
_ZLIB = b"\x78"  # the first byte of what zlib writes, and never of a list in MessagePack

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(tuple[str, ...]).decode


class BatchSeal:
    """Seals and opens what belongs to one batch. `open_…` raise `InvalidTag` of what is not it."""

    def __init__(self, pepper: bytes, batch_id: str) -> None:
        key = hashlib.blake2b(
            batch_id.encode(), key=pepper, digest_size=32, person=b"balcao-batch"
        ).digest()
        self._aead = AESGCM(key)
        # By which rows that ask the same are found, and nothing is found out.
        self.asking = hashlib.blake2b(
            batch_id.encode(), key=pepper, digest_size=32, person=b"balcao-batch-ask"
        ).digest()

    def piece(self, number: int, content: bytes) -> bytes:
        """Seal a piece of the file."""
        return self._close(b"p%d" % number, content)

    def open_piece(self, number: int, sealed: bytes) -> bytes:
        """Open a piece of the file."""
        return self._open(b"p%d" % number, sealed)

    def cells(self, line: int, cells: tuple[str, ...]) -> bytes:
        """Seal the cells of a row, compressed where that is shorter; line 0: the header."""
        packed = _pack(cells)
        if len(packed) > _COMPRESSED_FROM_BYTES:
            packed = min(zlib.compress(packed, _LEVEL), packed, key=len)
        return self._close(b"c%d" % line, packed)

    def open_cells(self, line: int, sealed: bytes) -> tuple[str, ...]:
        """Open the cells of a row; line 0: the header."""
        packed = self._open(b"c%d" % line, sealed)
        return _unpack(zlib.decompress(packed) if packed[:1] == _ZLIB else packed)

    def answer(self, line: int, body: bytes) -> bytes:
        """Seal the answer of a row, compressed."""
        return self._close(b"a%d" % line, zlib.compress(body, _LEVEL))

    def open_answer(self, line: int, sealed: bytes) -> bytes:
        """Open the answer of a row, byte for byte."""
        return zlib.decompress(self._open(b"a%d" % line, sealed))

    def _close(self, place: bytes, value: bytes) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._aead.encrypt(nonce, value, place)

    def _open(self, place: bytes, sealed: bytes) -> bytes:
        return self._aead.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place)


@lru_cache(maxsize=64)
def seal_of(pepper: bytes, batch_id: str) -> BatchSeal:
    """Return the seal of a batch."""
    return BatchSeal(pepper, batch_id)


def unsealed(folder: Path, seal: BatchSeal, pieces: Iterable[bytes]) -> Path:
    """Write a batch's file to disk, readable by our user alone. Blocking; the caller removes it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    number, name = tempfile.mkstemp(dir=folder)
    with os.fdopen(number, "wb") as file:
        for piece, content in enumerate(pieces):
            file.write(seal.open_piece(piece, content))
    return Path(name)
