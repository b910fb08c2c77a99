"""Files of authorities, which must not be copied into the repository, if available.

Their content is also in the tests; if present, they are compared in addition.
"""

from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[2] / "shared"

SCHEMAS = _BESIDE / "sources" / "xsd"  # of the messages of "Consulta Cadastro"
ADDRESSES = _BESIDE / "sources" / "endpoints-consulta-cadastro.csv"
STATUSES = _BESIDE / "sources" / "cstat-consulta-cadastro.csv"
SAMPLE_MONTH = _BESIDE / "data" / "rfb-sample"  # a real one, with real people in it


def needed(path: Path) -> Path:
    """Return the path; skip the test if the file is not available."""
    if not path.exists():
        pytest.skip(f"not available: {path.name}")
    return path
