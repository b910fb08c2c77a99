"""Files of authorities, which are nobody's to copy: kept beside the project, where at hand.

What they say is also in the tests, in our words; where they are, they judge in addition.
"""

from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[2] / "shared"

SCHEMAS = _BESIDE / "sources" / "xsd"  # of the messages of "Consulta Cadastro"
ADDRESSES = _BESIDE / "sources" / "endpoints-consulta-cadastro.csv"
STATUSES = _BESIDE / "sources" / "cstat-consulta-cadastro.csv"
SAMPLE_MONTH = _BESIDE / "data" / "rfb-sample"  # a real one, with real people in it


def needed(path: Path) -> Path:
    """The same path; skips the test where it is not at hand."""
    if not path.exists():
        pytest.skip(f"not at hand: {path.name}")
    return path
