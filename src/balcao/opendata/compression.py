"""How a block is compressed, with a dictionary trained on rows of the same month.

A block has some 3 kB, too little for a compressor to learn from; the dictionary brings what
all blocks share (separators, cities, streets, activities, first names).
"""

from collections.abc import Callable, Sequence

import zstandard

# Level 3 makes blocks 5 % smaller and takes a quarter longer, on the slowest step of all.
_LEVEL = 1
DICTIONARY_BYTES = 64 * 1024
SAMPLES_BYTES = 100 * DICTIONARY_BYTES  # what the makers of zstd recommend
_SAMPLES_BYTES_MIN = 4 * DICTIONARY_BYTES


class Packer:
    """Compresses blocks, each with a checksum: a damaged disk must not make a wrong answer."""

    def __init__(self, dictionary: bytes) -> None:
        self.pack: Callable[[bytes | memoryview], bytes] = zstandard.ZstdCompressor(
            level=_LEVEL,
            dict_data=_load(dictionary, precompute=True),
            write_dict_id=False,
            write_checksum=True,
        ).compress


class Unpacker:
    """Decompresses blocks. Raises `zstandard.ZstdError` for what is not one."""

    def __init__(self, dictionary: bytes) -> None:
        self.unpack: Callable[[bytes], bytes] = zstandard.ZstdDecompressor(
            dict_data=_load(dictionary, precompute=False)
        ).decompress


def _load(dictionary: bytes, *, precompute: bool) -> zstandard.ZstdCompressionDict:
    # An empty one is allowed, and does nothing.
    loaded = zstandard.ZstdCompressionDict(dictionary)
    if precompute and dictionary:
        loaded.precompute_compress(level=_LEVEL)
    return loaded


def train(samples: Sequence[bytes]) -> bytes:
    """A dictionary for blocks like these; empty when they are too few to learn from."""
    if sum(map(len, samples)) < _SAMPLES_BYTES_MIN:
        return b""
    try:
        trained = zstandard.train_dictionary(DICTIONARY_BYTES, list(samples), level=_LEVEL)
    except zstandard.ZstdError:  # nothing to learn: all samples are the same
        return b""
    return trained.as_bytes()
