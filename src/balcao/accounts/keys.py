"""Issue API keys: generated here, shown once by the caller, stored as a hash."""

from balcao.accounts.secrets import secrets_of
from balcao.core.access import PREFIX_CHARACTERS, Account, Key, KeyRestrictions, key_hash, new_key
from balcao.core.people import AT_THE_TERMINAL, Signature
from balcao.core.request_tags import reject_cpf
from balcao.home import Home
from balcao.storage.contract import NewKey
from balcao.storage.desk.desk import Desk


def issue_key(
    desk: Desk,
    home: Home,
    account: Account,
    name: str,
    now_ms: int,
    *,
    expires_ms: int | None = None,
    per_minute: int | None = None,
    per_day: int | None = None,
    restrictions: KeyRestrictions | None = None,
    signed: Signature = AT_THE_TERMINAL,
) -> tuple[str, Key]:
    """Issue a key. Returns its text, which is not stored, and its record.

    Raises `TagWithCpf`, `FormDone`, `StorageFailed`.
    """
    reject_cpf(name, "nome")
    ring = secrets_of(home, desk).ring
    key = new_key(account.mode)
    kept = desk.create_key(
        NewKey(
            account.account_id,
            name,
            key[:PREFIX_CHARACTERS],
            key_hash(key, ring.current),
            expires_ms,
            per_minute,
            per_day,
            restrictions,
            ring.stored_id,
        ),
        now_ms,
        signed,
    )
    return key, kept
