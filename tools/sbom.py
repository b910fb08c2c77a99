"""Write the bill of materials of a release: CycloneDX, with the licence of each library.

    python -m tools.sbom dist/balcao-1.0.0.cdx.json

Lists the libraries that `requirements.lock` installs on this platform, and the script that the
pages include. Equal input makes equal bytes.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from balcao import __version__

ROOT = Path(__file__).parent.parent
HTMX = ROOT / "src" / "balcao" / "web" / "static" / "htmx.js"


def main() -> None:
    """Write it to the file that the command line names."""
    Path(sys.argv[1]).write_text(json.dumps(materials(), indent=2) + "\n", "utf-8")


def materials() -> dict[str, Any]:
    """Return the document. Installs the locked libraries in a temporary environment."""
    with tempfile.TemporaryDirectory() as folder:
        uv = [sys.executable, "-m", "uv"]
        lock = ROOT / "requirements.lock"
        _run(*uv, "venv", "--quiet", "--python", sys.executable, folder)
        _run(
            *(*uv, "pip", "install", "--quiet", "--python", folder),
            *("--require-hashes", "--requirement", lock),
        )
        found: dict[str, Any] = json.loads(
            _run(
                *(sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible"),
                *("--pyproject", ROOT / "pyproject.toml", folder),
            )
        )
    found["metadata"]["component"]["version"] = __version__
    found["components"].append(_htmx())
    return found


def _htmx() -> dict[str, Any]:
    version = re.findall(r'version="([\d.]+)"', HTMX.read_text("utf-8"))[0]
    return {
        "bom-ref": f"htmx.org=={version}",
        "licenses": [{"license": {"acknowledgement": "declared", "id": "0BSD"}}],
        "name": "htmx.org",
        "purl": f"pkg:npm/htmx.org@{version}",
        "type": "library",
        "version": version,
    }


def _run(*line: str | Path) -> str:
    done = subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


if __name__ == "__main__":
    main()
