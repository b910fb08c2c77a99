"""Addresses to return to after signing in: only pages of this application.

Only paths of our own form are kept, so that no link leads elsewhere, and no query fields that may
be about a person, since addresses stay in histories and logs (ADR 0028).
"""

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

from balcao.core.recognition import recognise

HOME = "/app"
_SIGNING = ("/app/entrar", "/app/sair", "/app/convite")

# Letters, digits and few signs, as our own paths have them: nothing encoded, no `//`, no
# backslash, no host.
_PATH = re.compile(r"/(?:app|docs)(?:/[0-9A-Za-z_~-][0-9A-Za-z._~-]*)*", re.ASCII)
_CHARACTERS_MAX = 1_000
_FIELDS_MAX = 20
_CPF = re.compile(r"(?<![0-9A-Za-z])[0-9](?:[./ -]?[0-9]){10}(?![0-9A-Za-z])", re.ASCII)


def local_address(to: str) -> str:
    """Return an address of ours without fields that may name a person; for others, `HOME`."""
    path, _, query = to.partition("?")
    if not _PATH.fullmatch(path) or path.startswith(_SIGNING):
        return HOME
    if len(to) > _CHARACTERS_MAX:
        return path
    try:
        asked = parse_qsl(query, max_num_fields=_FIELDS_MAX)
    except ValueError:
        return path
    kept = {name: value for name, value in asked if not _personal(name + " " + value)}
    return address(path, kept)


def address(path: str, query: Mapping[str, str]) -> str:
    """Return a path with these parameters."""
    return f"{path}?{urlencode(query)}" if query else path


def _personal(text: str) -> bool:
    """Return whether a text may be an e-mail address or contain a CPF."""
    return "@" in text or _CPF.search(text) is not None or recognise(text).kind == "several"
