"""Simulator of SERPRO's gateway: tokens, and its own errors (`serpro-cnd.md`, section 1)."""

import base64
import binascii
import hmac
from datetime import datetime
from urllib.parse import parse_qs

from balcao.providers.simulation.messages import SimulatedReply, SimulatedRequest, json_reply

TOKEN_SECONDS = 3600

# A consumer key that is refused; every other key and secret that are not empty are valid.
INVALID_KEY = "invalid"

# Tokens are signed, not stored, so that any process of the simulator accepts them. The simulator
# has no secrets, so the key need not be one.
_SIGNING_KEY = b"simulator"


def token(request: SimulatedRequest, now: datetime) -> SimulatedReply:
    """Issue a token, for Basic credentials and a form."""
    if request.method != "POST":
        return fault(405, 900905, "Method not allowed")
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/x-www-form-urlencoded":
        return fault(415, 900415, "Unsupported Media Type")
    consumer_key = _consumer_key(request.headers.get("authorization", ""))
    if consumer_key is None or consumer_key == INVALID_KEY:
        return json_reply(
            401,
            {"error": "invalid_client", "error_description": "Client Authentication failed."},
        )
    form = parse_qs(request.body.decode("latin-1"))
    if form.get("grant_type") != ["client_credentials"]:
        return json_reply(400, {"error": "unsupported_grant_type"})
    expires = int(now.timestamp()) + TOKEN_SECONDS
    return json_reply(
        200,
        {
            "scope": "am_application_scope default",
            "token_type": "Bearer",
            "expires_in": TOKEN_SECONDS,
            "access_token": _sign(f"{expires}:{consumer_key}"),
        },
    )


def consumer_of(request: SimulatedRequest, now: datetime) -> str | None:
    """Return the consumer key of a request's token; None without a valid one."""
    claims = _verified(request.headers.get("authorization", ""))
    if claims is None:
        return None
    expires, _, consumer_key = claims.partition(":")
    return consumer_key if int(expires) > now.timestamp() else None


def invalid_credentials() -> SimulatedReply:
    """Return the reply to a request without a valid token."""
    return fault(401, 900901, "Invalid Credentials")


def forbidden() -> SimulatedReply:
    """Return the reply for a service that is not in the contract."""
    return fault(403, 900908, "Resource forbidden")


def fault(
    status: int, code: int, message: str, headers: dict[str, str] | None = None
) -> SimulatedReply:
    """Return an error of the gateway itself, not of the service behind it."""
    details = {"code": code, "message": message, "description": message}
    return json_reply(status, {"fault": details}, headers)


def _consumer_key(authorization: str) -> str | None:
    """Return the key of a Basic header that has a key and a secret, or None."""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        key, _, secret = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return key if key and secret else None


def _sign(claims: str) -> str:
    mac = hmac.digest(_SIGNING_KEY, claims.encode(), "sha256")[:12]
    return base64.urlsafe_b64encode(mac + claims.encode()).decode().rstrip("=")


def _verified(authorization: str) -> str | None:
    """Return the claims of a Bearer token, or None if the signature is wrong."""
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer":
        return None
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        claims = raw[12:].decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    return claims if hmac.compare_digest(_sign(claims), token) else None
