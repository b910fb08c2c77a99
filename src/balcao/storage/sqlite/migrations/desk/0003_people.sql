-- The web application: people, their sessions and one-time links, the log of what was done in the
-- office, and what is remembered of requests besides money.

ALTER TABLE account ADD COLUMN suspended_ms INTEGER NULL;

CREATE TABLE person (
    user_id       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,  -- a number is never given twice
    account_id    INTEGER NULL REFERENCES account (account_id),
    email         TEXT    NOT NULL,
    email_key     TEXT    NOT NULL UNIQUE,  -- case does not count
    name          TEXT    NOT NULL,
    role          TEXT    NOT NULL CHECK (role IN ('consultant', 'manager', 'operator')),
    password_hash TEXT    NULL,
    totp_secret   BLOB    NULL,  -- sealed with the installation's secret
    totp_step     INTEGER NOT NULL DEFAULT 0,
    created_ms    INTEGER NOT NULL,
    seen_ms       INTEGER NULL,
    suspended_ms  INTEGER NULL,
    CHECK ((role = 'operator') = (account_id IS NULL))
) STRICT;

CREATE INDEX person_of_account ON person (account_id);

CREATE TRIGGER person_stays_on_their_side BEFORE UPDATE OF account_id ON person
WHEN NEW.account_id IS NOT OLD.account_id
BEGIN SELECT RAISE(ABORT, 'a person belongs to one account, or to none, for ever'); END;

-- Tokens are known by their digests only.
CREATE TABLE web_session (
    session_id   INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,  -- nor this one: a late use is nobody else's
    token_digest BLOB    NOT NULL UNIQUE,
    user_id      INTEGER NOT NULL REFERENCES person (user_id),
    opened_ms    INTEGER NOT NULL,
    seen_ms      INTEGER NOT NULL
) STRICT;

CREATE INDEX web_session_of_person ON web_session (user_id);
CREATE INDEX web_session_by_use ON web_session (seen_ms);

CREATE TABLE one_time_link (
    token_digest BLOB    NOT NULL PRIMARY KEY,
    purpose      TEXT    NOT NULL CHECK (purpose IN ('set_password', 'first_operator')),
    user_id      INTEGER NULL REFERENCES person (user_id),
    made_ms      INTEGER NOT NULL,
    expires_ms   INTEGER NOT NULL,
    CHECK ((purpose = 'first_operator') = (user_id IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_entry (
    entry_id   INTEGER NOT NULL PRIMARY KEY,
    at_ms      INTEGER NOT NULL,
    channel    TEXT    NOT NULL CHECK (channel IN ('web', 'cli', 'start')),
    user_id    INTEGER NULL,  -- no reference: the deed stays when the person is forgotten
    form_id    TEXT    NULL UNIQUE,  -- a form is carried out once
    action     TEXT    NOT NULL,
    account_id INTEGER NULL,
    target     TEXT    NOT NULL,
    detail     TEXT    NOT NULL
) STRICT;

CREATE INDEX audit_entry_of_account ON audit_entry (account_id, entry_id);

CREATE TRIGGER audit_entry_never_changes BEFORE UPDATE ON audit_entry
BEGIN SELECT RAISE(ABORT, 'what was done stays done; do something else'); END;

CREATE TRIGGER audit_entry_never_goes BEFORE DELETE ON audit_entry
BEGIN SELECT RAISE(ABORT, 'what was done stays done; do something else'); END;

-- Numbers of requests grow with time: a page of an account's newest requests is one short walk.
CREATE TABLE trace (
    request_id    TEXT    NOT NULL,
    account_id    INTEGER NOT NULL REFERENCES account (account_id),
    key_id        INTEGER NULL,
    user_id       INTEGER NULL,
    operation     TEXT    NOT NULL,
    document      TEXT    NOT NULL,  -- a CNPJ, or a masked CPF
    document_hash BLOB    NULL,      -- keyed, of a CPF
    uf            TEXT    NULL,
    strategy      TEXT    NOT NULL,
    refresh       INTEGER NOT NULL CHECK (refresh IN (0, 1)),
    key_digest    TEXT    NULL,
    status        INTEGER NOT NULL,
    code          TEXT    NULL,
    origin        TEXT    NULL,
    source        TEXT    NULL,
    asked_ms      INTEGER NULL,
    credits       INTEGER NOT NULL,
    rule          TEXT    NOT NULL,
    opened_ms     INTEGER NOT NULL,
    settled_ms    INTEGER NOT NULL,
    PRIMARY KEY (account_id, request_id)
) STRICT, WITHOUT ROWID;

