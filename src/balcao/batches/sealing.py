"""Encryption of files and answers at rest: AES-GCM by a key per batch (ADR 0044).

The key is derived from the installation's secret. The kind and number of each value are
authenticated: a row's cells cannot be decrypted as those of another row.
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
# Fast: an answer of 2 kB becomes 700 bytes within 40 µs.
_LEVEL = 1
# Shorter rows rarely compress.
_COMPRESSED_FROM_BYTES = 100
_ZLIB = b"\x78"  # first byte of zlib's output, never of a MessagePack list

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(tuple[str, ...]).decode


class BatchSeal:
    """Encrypts and decrypts one batch's data. `open_…` raise `InvalidTag` for foreign data."""

    def __init__(self, pepper: bytes, batch_id: str) -> None:
        key = hashlib.blake2b(
            batch_id.encode(), key=pepper, digest_size=32, person=b"balcao-batch"
        ).digest()
        self._aead = AESGCM(key)
        # For digests that find equal questions without revealing them.
        self.question_key = hashlib.blake2b(
            batch_id.encode(), key=pepper, digest_size=32, person=b"balcao-batch-ask"
        ).digest()

    def piece(self, number: int, content: bytes) -> bytes:
        """Encrypt a piece of the file."""
        return self._encrypt(b"p%d" % number, content)

    def open_piece(self, number: int, sealed: bytes) -> bytes:
        """Decrypt a piece of the file."""
        return self._decrypt(b"p%d" % number, sealed)

    def cells(self, line: int, cells: tuple[str, ...]) -> bytes:
        """Encrypt the cells of a row, compressed if that is shorter; line 0 is the header."""
        packed = _pack(cells)
        if len(packed) > _COMPRESSED_FROM_BYTES:
            packed = min(zlib.compress(packed, _LEVEL), packed, key=len)
        return self._encrypt(b"c%d" % line, packed)

    def open_cells(self, line: int, sealed: bytes) -> tuple[str, ...]:
        """Decrypt the cells of a row; line 0 is the header."""
        packed = self._decrypt(b"c%d" % line, sealed)
        return _unpack(zlib.decompress(packed) if packed[:1] == _ZLIB else packed)

    def answer(self, line: int, body: bytes) -> bytes:
        """Encrypt the answer of a row, compressed."""
        return self._encrypt(b"a%d" % line, zlib.compress(body, _LEVEL))

    def open_answer(self, line: int, sealed: bytes) -> bytes:
        """Decrypt the answer of a row, byte for byte."""
        return zlib.decompress(self._decrypt(b"a%d" % line, sealed))

    def _encrypt(self, place: bytes, value: bytes) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._aead.encrypt(nonce, value, place)

    def _decrypt(self, place: bytes, sealed: bytes) -> bytes:
        return self._aead.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place)


@lru_cache(maxsize=64)
def seal_of(pepper: bytes, batch_id: str) -> BatchSeal:
    """Return the encryption of a batch's data, by a key derived from the secret."""
    return BatchSeal(pepper, batch_id)


def write_decrypted(folder: Path, seal: BatchSeal, pieces: Iterable[bytes]) -> Path:
    """Decrypt a batch's file to disk, for our user only. Blocking; the caller removes the file."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    number, name = tempfile.mkstemp(dir=folder)
    with os.fdopen(number, "wb") as file:
        for piece, content in enumerate(pieces):
            file.write(seal.open_piece(piece, content))
    return Path(name)
