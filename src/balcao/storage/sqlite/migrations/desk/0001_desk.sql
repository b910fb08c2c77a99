-- Accounts, keys, the ledger, idempotency. Times are milliseconds since 1970 (UTC).

CREATE TABLE account (
    account_id      INTEGER NOT NULL PRIMARY KEY,
    name            TEXT    NOT NULL UNIQUE,
    plan            TEXT    NOT NULL CHECK (plan IN ('gratuito', 'pre_pago', 'pos_pago')),
    mode            TEXT    NOT NULL CHECK (mode IN ('live', 'test')),
    certificates    INTEGER NOT NULL CHECK (certificates IN (0, 1)),
    partner_optin   INTEGER NOT NULL CHECK (partner_optin IN (0, 1)),
    ceiling_credits INTEGER NULL CHECK (ceiling_credits >= 0),
    created_ms      INTEGER NOT NULL,

    -- Kept by the trigger on ledger_entry below, in the statement that appends the entry.
    balance_credits INTEGER NOT NULL DEFAULT 0,
    held_credits    INTEGER NOT NULL DEFAULT 0 CHECK (held_credits >= 0),
    month           TEXT    NOT NULL DEFAULT '',
    month_credits   INTEGER NOT NULL DEFAULT 0,

    -- An account never goes below zero. A post-paid one has no balance to exceed (decisions 5.3).
    CHECK (plan = 'pos_pago' OR balance_credits >= held_credits),
    CHECK (ceiling_credits IS NULL OR plan = 'pos_pago'),
    CHECK (ceiling_credits IS NULL OR month_credits + held_credits <= ceiling_credits)
) STRICT;

CREATE TRIGGER account_mode_is_for_ever BEFORE UPDATE OF mode ON account
WHEN NEW.mode <> OLD.mode
BEGIN SELECT RAISE(ABORT, 'an account is live or test for ever'); END;

CREATE TABLE api_key (
    key_id       INTEGER NOT NULL PRIMARY KEY,
    account_id   INTEGER NOT NULL REFERENCES account (account_id),
    name         TEXT    NOT NULL,
    prefix       TEXT    NOT NULL,
    hash         BLOB    NOT NULL UNIQUE,
    created_ms   INTEGER NOT NULL,
    expires_ms   INTEGER NULL,
    revoked_ms   INTEGER NULL,
    last_used_ms INTEGER NULL,
    per_minute   INTEGER NULL CHECK (per_minute > 0),
    per_day      INTEGER NULL CHECK (per_day > 0)
) STRICT;

CREATE INDEX api_key_of_account ON api_key (account_id);

CREATE TABLE ledger_entry (
    entry_id       INTEGER NOT NULL PRIMARY KEY,
    account_id     INTEGER NOT NULL REFERENCES account (account_id),
    at_ms          INTEGER NOT NULL,
    month          TEXT    NOT NULL,  -- YYYY-MM in Brasília, for the ceiling
    kind           TEXT    NOT NULL CHECK (kind IN ('top_up', 'charge', 'hold', 'post', 'void')),
    balance_change INTEGER NOT NULL,
    held_change    INTEGER NOT NULL,
    request_id     TEXT    NULL,
    key_id         INTEGER NULL,
    operation      TEXT    NULL,
    rule           TEXT    NULL,
    origin         TEXT    NULL CHECK (origin IN ('cache', 'online')),
    reason         TEXT    NULL,

    CHECK (CASE kind
        WHEN 'top_up' THEN balance_change <> 0 AND held_change = 0 AND reason IS NOT NULL
        WHEN 'charge' THEN balance_change < 0 AND held_change = 0
        WHEN 'hold'   THEN balance_change = 0 AND held_change > 0
        WHEN 'post'   THEN balance_change < 0 AND held_change <= balance_change
        WHEN 'void'   THEN balance_change = 0 AND held_change < 0
    END),
    CHECK ((kind = 'top_up') = (request_id IS NULL)),
    CHECK (kind NOT IN ('charge', 'post') OR (rule IS NOT NULL AND operation IS NOT NULL AND origin IS NOT NULL))
) STRICT;

-- One opening per request (a charge or a hold) and one settlement: no operation is charged twice.
CREATE UNIQUE INDEX ledger_entry_of_request ON ledger_entry (request_id, (kind IN ('post', 'void')))
WHERE request_id IS NOT NULL;
CREATE INDEX ledger_entry_of_account ON ledger_entry (account_id, at_ms);

CREATE TRIGGER ledger_entry_never_changes BEFORE UPDATE ON ledger_entry
BEGIN SELECT RAISE(ABORT, 'a ledger entry never changes; append another one'); END;

CREATE TRIGGER ledger_entry_never_goes BEFORE DELETE ON ledger_entry
BEGIN SELECT RAISE(ABORT, 'a ledger entry never goes away; append another one'); END;

CREATE TRIGGER ledger_settlement_frees_its_hold BEFORE INSERT ON ledger_entry
WHEN NEW.kind IN ('post', 'void')
BEGIN
    SELECT RAISE(ABORT, 'a settlement frees exactly its own hold')
    WHERE NOT EXISTS (
        SELECT 1 FROM ledger_entry AS hold
        WHERE hold.request_id = NEW.request_id AND (hold.kind IN ('post', 'void')) = 0
          AND hold.kind = 'hold' AND hold.account_id = NEW.account_id
          AND hold.held_change = -NEW.held_change
    );
END;

CREATE TRIGGER ledger_entry_moves_the_balance AFTER INSERT ON ledger_entry
BEGIN
    UPDATE account
    SET balance_credits = balance_credits + NEW.balance_change,
        held_credits = held_credits + NEW.held_change,
        -- Months only go on: what comes late counts in the month that has begun meanwhile.
        month_credits = CASE WHEN NEW.month > month THEN 0 ELSE month_credits END
            + CASE WHEN NEW.kind IN ('charge', 'post') THEN -NEW.balance_change ELSE 0 END,
        month = max(month, NEW.month)
    WHERE account_id = NEW.account_id;
END;

-- Requests that hold credits while a source is asked. A row goes with the settlement.
CREATE TABLE open_operation (
    request_id TEXT    NOT NULL PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES account (account_id),
    operation  TEXT    NOT NULL,
    credits    INTEGER NOT NULL CHECK (credits > 0),
    opened_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
    account_id  INTEGER NOT NULL REFERENCES account (account_id),
    key_digest  TEXT    NOT NULL,
    fingerprint TEXT    NOT NULL,
    request_id  TEXT    NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('running', 'finished', 'died')),
    bound_ms    INTEGER NOT NULL,
    expires_ms  INTEGER NOT NULL,
    status      INTEGER NULL,
    body        BLOB    NULL,
    fresh_ms    INTEGER NULL,  -- from when the content's age counts
    CHECK ((state = 'finished') = (status IS NOT NULL AND body IS NOT NULL)),
    PRIMARY KEY (account_id, key_digest)
) STRICT;

CREATE INDEX idempotency_by_expiry ON idempotency (expires_ms);

-- Whether this file can be written is found out by writing: readiness probes put their time here.
CREATE TABLE heartbeat (
    only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
    at_ms    INTEGER NOT NULL
) STRICT;

-- How full the buckets are, so that a restart forgives nobody. Written behind, once a second.
CREATE TABLE rate_limit (
    bucket      TEXT NOT NULL PRIMARY KEY,
    empty_at_ms REAL NOT NULL
) STRICT, WITHOUT ROWID;
