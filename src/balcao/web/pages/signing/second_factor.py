"""The second factor: six-digit codes by time (RFC 6238), from authenticator applications."""

import base64
import secrets

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from markupsafe import Markup

STEP_SECONDS = 30
SECRET_BYTES = 20
DIGITS = 6

# Phone clocks may be half a minute off.
_STEPS_AROUND = (0, -1, 1)


def new_secret() -> bytes:
    """Return 160 random bits."""
    return secrets.token_bytes(SECRET_BYTES)


def looks_like_code(text: str) -> bool:
    """Return whether a text may be a code of the phone, rather than a recovery code."""
    digits = "".join(text.split())
    return len(digits) <= DIGITS + 1 and digits.isascii() and digits.isdecimal()


def step_of(secret: bytes, code: str, now_ms: int) -> int | None:
    """Return the time step of a valid code, within one step of now; None: it is invalid."""
    digits = "".join(code.split())
    if len(digits) != DIGITS or not digits.isascii() or not digits.isdecimal():
        return None
    now = now_ms // 1000 // STEP_SECONDS
    for around in _STEPS_AROUND:
        step = now + around
        if secrets.compare_digest(code_of(secret, step).encode(), digits.encode()):
            return step
    return None


def code_of(secret: bytes, step: int) -> str:
    """Return the code of a time step."""
    return _totp(secret).generate(step * STEP_SECONDS).decode()


def address(secret: bytes, email: str) -> str:
    """Return the address in the QR code, for authenticator applications."""
    return _totp(secret).get_provisioning_uri(email, "Balcão")


def as_text(secret: bytes) -> str:
    """Return the secret for typing: base 32, in groups of four."""
    text = base64.b32encode(secret).decode().rstrip("=")
    return " ".join(text[at : at + 4] for at in range(0, len(text), 4))


def picture(text: str) -> Markup:
    """Return a QR code as SVG, coloured by the style sheet."""
    import segno  # noqa: PLC0415 - slow to import

    code = segno.make(text, error="m")
    # Without a size of its own it has a viewBox, by which the style sheet scales it.
    svg = code.svg_inline(border=3, svgclass="qr", lineclass="qr-line", omitsize=True)
    return Markup(svg)  # noqa: S704 - drawn by the library from squares only


def _totp(secret: bytes) -> TOTP:
    # All applications support SHA-1; it is not a weakness here (RFC 6238, appendix B).
    return TOTP(secret, DIGITS, SHA1(), STEP_SECONDS, enforce_key_length=False)  # noqa: S303
