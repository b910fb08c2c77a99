"""`docs/security/licences.md` lists the locked libraries, all with compatible licences."""

import re
from importlib.metadata import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "security" / "licences.md"

# Any program under the MIT licence may use libraries under these.
PERMISSIVE = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0"),
    *("MIT-CMU", "PSF-2.0", "Zlib", "BSD License", "Apache Software License", "MIT License"),
    "any-OSI",  # the choice is the user's
    "Dual License",  # of python-dateutil: Apache-2.0 or BSD-3-Clause
}
# Also these, whose conditions apply to changed copies of the library itself. We use it unchanged.
OF_THE_LIBRARY_ALONE = {"LGPL-3.0-only", "MPL-2.0", "Mozilla Public License 2.0 (MPL 2.0)"}
SHORT_CHARACTERS_MAX = 40  # longer ones are whole texts


def declared_licence(name: str) -> str:
    """Return the licence by the package's metadata; an expression of SPDX where it has one."""
    declared = metadata(name).json
    if expression := declared.get("license_expression"):
        return str(expression)
    short = str(declared.get("license", ""))
    if short and len(short) <= SHORT_CHARACTERS_MAX:
        return "ISC" if short == "ISC License" else short
    [classifier] = [
        each for each in declared.get("classifier", ()) if each.startswith("License :: ")
    ]
    return classifier.rpartition(" :: ")[2]


def locked() -> set[str]:
    """Return the libraries that the lock file installs on this platform."""
    lines = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
    found = [Requirement(line.rstrip("\\ ")) for line in lines if re.match(r"[\w.-]+==", line)]
    assert len(found) > 50
    return {
        canonicalize_name(each.name) for each in found if not each.marker or each.marker.evaluate()
    }


def listed() -> dict[str, str]:
    """Return name and licence of each row."""
    rows = re.findall(
        r"^\| ([a-z0-9][a-z0-9-]*) \| ([^|]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    assert len(dict(rows)) == len(rows)
    return dict(rows)


def test_the_page_lists_the_locked_libraries_with_their_licences() -> None:
    assert listed() == {name: declared_licence(name) for name in locked()}


def test_every_licence_is_compatible_with_ours() -> None:
    for name, licence in listed().items():
        alone = licence in PERMISSIVE | OF_THE_LIBRARY_ALONE
        parts = re.split(r" (?:AND|OR) ", licence)
        assert alone or all(part in PERMISSIVE for part in parts), f"{name}: {licence}"
