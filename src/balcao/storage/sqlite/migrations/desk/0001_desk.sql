-- Schema of the desk. Times are milliseconds since 1970 (UTC).

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

    suspended_ms    INTEGER NULL,
    budgets         INTEGER NOT NULL DEFAULT 0 CHECK (budgets >= 0),  -- in force; if 0 they are not read
    -- All charges before this instant are in `daily_total`; a charge that comes later for an
    -- earlier instant sets it back, in its own commit.
    folded_ms       INTEGER NOT NULL DEFAULT 0,

    -- An account never goes below zero. A post-paid one has no balance to exceed (contract 5.3).
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
    per_day      INTEGER NULL CHECK (per_day > 0),

    -- Restrictions (docs/adr/0042).
    networks        TEXT    NULL,  -- JSON, a list of texts; NULL: from anywhere
    operations      TEXT    NULL,  -- JSON, a list of paths; NULL: all of them
    client_required INTEGER NOT NULL DEFAULT 0 CHECK (client_required IN (0, 1)),
    administers     INTEGER NOT NULL DEFAULT 0 CHECK (administers IN (0, 1)),

    secret_id       TEXT    NULL  -- that hashed it; NULL: the installation's first (docs/adr/0106)
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
    client         TEXT    NULL,  -- the account's own words (docs/adr/0042); no CPF
    reference      TEXT    NULL,  -- as well
    budgets        TEXT    NULL,  -- counted against: JSON, [[budget_id, "period"], ...]

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
CREATE INDEX ledger_entry_of_reference ON ledger_entry (account_id, reference, request_id)
WHERE reference IS NOT NULL;
-- Top-ups are listed without reading the charges.
CREATE INDEX ledger_entry_top_up ON ledger_entry (account_id, at_ms) WHERE kind = 'top_up';

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
        -- Months only advance: a late entry counts in the month that has begun meanwhile.
        month_credits = CASE WHEN NEW.month > month THEN 0 ELSE month_credits END
            + CASE WHEN NEW.kind IN ('charge', 'post') THEN -NEW.balance_change ELSE 0 END,
        month = max(month, NEW.month)
    WHERE account_id = NEW.account_id;
END;

-- Requests that hold credits while a source is asked. The settlement deletes the row.
CREATE TABLE open_operation (
    request_id TEXT    NOT NULL PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES account (account_id),
    operation  TEXT    NOT NULL,
    credits    INTEGER NOT NULL CHECK (credits > 0),
    opened_ms  INTEGER NOT NULL,
    client     TEXT    NULL,  -- of the hold, repeated by its settlement
    reference  TEXT    NULL,
    budgets    TEXT    NULL
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

-- Readiness probes write their time here: the only proof that the file can be written.
CREATE TABLE heartbeat (
    only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
    at_ms    INTEGER NOT NULL
) STRICT;

-- Fill of the rate-limit buckets, so that they outlive a restart. Written behind, once a second.
CREATE TABLE rate_limit (
    bucket      TEXT NOT NULL PRIMARY KEY,
    empty_at_ms REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- A fixed text hashed with the installation's first secret: with another `secret.key` no key would
-- be recognised.
CREATE TABLE pepper (
    only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
    mark     BLOB    NOT NULL
) STRICT;

-- Replacements of the installation's secret (docs/adr/0106). The newest row names the secret in use;
-- without a row it is the first one, which `pepper` marks.
CREATE TABLE secret_rotation (
    secret_id    TEXT    NOT NULL PRIMARY KEY,  -- a digest
    activated_ms INTEGER NOT NULL UNIQUE,
    finished_ms  INTEGER NULL CHECK (finished_ms >= activated_ms)  -- its predecessor is void since
) STRICT, WITHOUT ROWID;

-- Records of receipts. Their bytes are stored elsewhere, once by content, and were made durable
-- before a row here names them.
CREATE TABLE receipt (
    receipt_id TEXT    NOT NULL PRIMARY KEY,
    account_id INTEGER NULL REFERENCES account (account_id),  -- NULL: public
    operation  TEXT    NOT NULL,
    digest     TEXT    NOT NULL CHECK (length(digest) = 64 AND digest NOT GLOB '*[^0-9a-f]*'),
    media_type TEXT    NOT NULL CHECK (media_type IN ('application/pdf', 'text/html')),
    size_bytes INTEGER NOT NULL CHECK (size_bytes BETWEEN 1 AND 10000000),
    created_ms INTEGER NOT NULL,
    document_hash BLOB NULL,  -- keyed, of a CPF
    cnpj       TEXT    NULL   -- named by a federal certificate (docs/adr/0085)
) STRICT, WITHOUT ROWID;
CREATE INDEX receipt_by_age ON receipt (created_ms);
CREATE INDEX receipt_of_digest ON receipt (digest);
CREATE INDEX receipt_of_person ON receipt (document_hash) WHERE document_hash IS NOT NULL;

CREATE TRIGGER receipt_never_changes BEFORE UPDATE ON receipt
BEGIN SELECT RAISE(ABORT, 'a receipt never changes; it goes when it is purged'); END;

CREATE TABLE person (
    user_id       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,  -- a number is never reused
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

-- An operator's role in an account (docs/adr/0018).
CREATE TABLE seat (
    seat_id    INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,  -- as well: a session keeps the number
    user_id    INTEGER NOT NULL REFERENCES person (user_id),
    account_id INTEGER NOT NULL REFERENCES account (account_id),
    role       TEXT    NOT NULL CHECK (role IN ('consultant', 'manager')),
    given_ms   INTEGER NOT NULL,
    UNIQUE (user_id, account_id)
) STRICT;
CREATE INDEX seat_of_account ON seat (account_id);

CREATE TRIGGER seat_is_of_an_operator BEFORE INSERT ON seat
WHEN (SELECT role FROM person WHERE user_id = NEW.user_id) <> 'operator'
BEGIN SELECT RAISE(ABORT, 'only operators hold seats; others belong to one account'); END;

CREATE TRIGGER seat_keeps_its_place BEFORE UPDATE OF user_id, account_id ON seat
BEGIN SELECT RAISE(ABORT, 'a seat is of one person in one account for ever; give another one'); END;

-- Tokens are stored as digests only.
CREATE TABLE web_session (
    session_id   INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,  -- never reused, so a late use is detected
    token_digest BLOB    NOT NULL UNIQUE,
    user_id      INTEGER NOT NULL REFERENCES person (user_id),
    opened_ms    INTEGER NOT NULL,
    seen_ms      INTEGER NOT NULL,
    seat_id      INTEGER NULL REFERENCES seat (seat_id) ON DELETE SET NULL,  -- NULL: in no seat
    browser      TEXT    NULL  -- in words: "Firefox em Linux"
) STRICT;
CREATE INDEX web_session_of_person ON web_session (user_id);
CREATE INDEX web_session_by_use ON web_session (seen_ms);

CREATE TABLE one_time_link (
    token_digest BLOB    NOT NULL PRIMARY KEY,
    purpose      TEXT    NOT NULL CHECK (purpose IN ('set_password', 'reset_password', 'first_operator')),
    user_id      INTEGER NULL REFERENCES person (user_id),
    made_ms      INTEGER NOT NULL,
    expires_ms   INTEGER NOT NULL,
    CHECK ((purpose = 'first_operator') = (user_id IS NULL))
) STRICT, WITHOUT ROWID;

-- Codes in place of the second factor, each valid once.
CREATE TABLE recovery_code (
    user_id     INTEGER NOT NULL REFERENCES person (user_id),
    code_digest BLOB    NOT NULL,  -- keyed
    used_ms     INTEGER NULL,
    PRIMARY KEY (user_id, code_digest)
) STRICT, WITHOUT ROWID;

-- Messages by e-mail (docs/adr/0101), stored in the commit of their cause, deleted once sent.
CREATE TABLE mail (
    mail_id    TEXT    NOT NULL PRIMARY KEY,  -- random; in its Message-ID
    kind       TEXT    NOT NULL,
    content    BLOB    NULL,  -- sealed: recipient and text
    queued_ms  INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,  -- not sent later
    attempts   INTEGER NOT NULL DEFAULT 0,
    refusal    INTEGER NULL,  -- the server's code; then it is not sent
    CHECK ((content IS NULL) = (refusal IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX mail_by_expiry ON mail (expires_ms);

-- Notices that an account's managers receive by e-mail.
CREATE TABLE account_notice (
    account_id INTEGER NOT NULL REFERENCES account (account_id),
    kind       TEXT    NOT NULL CHECK (kind IN ('low_balance')),
    threshold  INTEGER NOT NULL CHECK (threshold > 0),  -- in credits
    noticed_ms INTEGER NULL,  -- NULL: the threshold has not been crossed since
    PRIMARY KEY (account_id, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_entry (
    entry_id   INTEGER NOT NULL PRIMARY KEY,
    at_ms      INTEGER NOT NULL,
    channel    TEXT    NOT NULL CHECK (channel IN ('web', 'cli', 'start', 'api')),
    user_id    INTEGER NULL,  -- no reference: the entry outlives the person
    form_id    TEXT    NULL UNIQUE,  -- a form takes effect once
    action     TEXT    NOT NULL,
    account_id INTEGER NULL,
    target     TEXT    NOT NULL,
    detail     TEXT    NOT NULL
) STRICT;
CREATE INDEX audit_entry_of_account ON audit_entry (account_id, entry_id);
-- Every process counts these now and then, to forget what another one erased.
CREATE INDEX audit_entry_of_erasure ON audit_entry (action) WHERE action = 'subject.erase';

-- At most a few of these a day and person are kept.
CREATE INDEX audit_entry_of_failed_sign_in ON audit_entry (target, entry_id)
WHERE action = 'user.sign_in_failed';

CREATE TRIGGER audit_entry_never_changes BEFORE UPDATE ON audit_entry
BEGIN SELECT RAISE(ABORT, 'what was done stays done; do something else'); END;

CREATE TRIGGER audit_entry_never_goes BEFORE DELETE ON audit_entry
BEGIN SELECT RAISE(ABORT, 'what was done stays done; do something else'); END;

-- Request numbers grow with time, so a page of an account's newest requests is a short range of the
-- key.
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
    client        TEXT    NULL,
    reference     TEXT    NULL,
    name          TEXT    NULL,  -- the company's, without a CPF (docs/adr/0028)
    result        TEXT    NULL,  -- a code of what the answer said; of persons nothing
    PRIMARY KEY (account_id, request_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX trace_of_key ON trace (account_id, key_digest, request_id)
WHERE key_digest IS NOT NULL;
CREATE INDEX trace_of_person ON trace (document_hash) WHERE document_hash IS NOT NULL;

-- Traces of requests that brought a certificate, kept as long as its receipt; `trace` is purged
-- after some months. A request is in one of the two tables. The columns are those of `trace`, then
-- the certificate's.
CREATE TABLE certificate_trace (
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
    verdict       TEXT    NOT NULL,
    validity      TEXT    NULL,      -- YYYY-MM-DD, the last day on which it proves anything
    name          TEXT    NULL,      -- a company's, without a CPF; never a person's
    receipt_id    TEXT    NULL,      -- no reference: the receipt may be purged first
    client        TEXT    NULL,
    reference     TEXT    NULL,
    issued_on     TEXT    NULL,      -- YYYY-MM-DD (docs/adr/0051)
    PRIMARY KEY (account_id, request_id)
) STRICT, WITHOUT ROWID;
-- A receipt is described when it is fetched.
CREATE INDEX certificate_trace_of_receipt ON certificate_trace (receipt_id, request_id)
WHERE receipt_id IS NOT NULL;
CREATE INDEX certificate_trace_of_key ON certificate_trace (account_id, key_digest, request_id)
WHERE key_digest IS NOT NULL;
CREATE INDEX certificate_trace_of_person ON certificate_trace (document_hash)
WHERE document_hash IS NOT NULL;

-- Work that a commit leaves to be done, repeated until it is (docs/adr/0035).
CREATE TABLE job (
    job_id     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind       TEXT    NOT NULL,
    about      TEXT    NOT NULL,  -- an identifier or a digest, never a document
    state      TEXT    NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'failed')),
    due_ms     INTEGER NOT NULL,  -- not taken before; of a running one: end of its lease
    attempts   INTEGER NOT NULL,  -- begun since it was requested
    causes     INTEGER NOT NULL,  -- requests for it while it was open
    owner      TEXT    NULL CHECK ((owner IS NULL) = (state <> 'running')),
    error      TEXT    NULL,      -- class of the last failure
    changed_ms INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX job_open ON job (kind, about) WHERE state <> 'done';
CREATE INDEX job_due ON job (kind, due_ms) WHERE state IN ('waiting', 'running');
CREATE INDEX job_closed ON job (changed_ms) WHERE state IN ('done', 'failed');

-- The charge for an answer that is available at once and the details of its request in one row,
-- since these are most of all writes (docs/adr/0038, 0064). Request numbers grow with time, so rows are
-- appended at the end of their account's.
--
-- Deleting a charged lookup, when its details have been kept long enough, makes it a ledger entry
-- in the same statement: the charge stays permanently.
CREATE TABLE charged_lookup (
    account_id INTEGER NOT NULL REFERENCES account (account_id),
    request_id TEXT    NOT NULL,
    opened_ms  INTEGER NOT NULL,  -- when it was charged, too
    month      TEXT    NOT NULL,  -- YYYY-MM in Brasília, for the ceiling
    key_id     INTEGER NULL,
    user_id    INTEGER NULL,
    operation  TEXT    NOT NULL,
    document   TEXT    NOT NULL,  -- a CNPJ, or a masked CPF
    uf         TEXT    NULL,
    strategy   TEXT    NOT NULL,
    refresh    INTEGER NOT NULL CHECK (refresh IN (0, 1)),
    key_digest TEXT    NULL,
    status     INTEGER NOT NULL,
    code       TEXT    NULL,
    origin     TEXT    NOT NULL CHECK (origin IN ('cache', 'online')),
    source     TEXT    NULL,
    asked_ms   INTEGER NULL,
    credits    INTEGER NOT NULL CHECK (credits > 0),
    rule       TEXT    NOT NULL,
    settled_ms INTEGER NOT NULL,
    client     TEXT    NULL,
    reference  TEXT    NULL,
    budgets    TEXT    NULL,
    person_hash BLOB   NULL,  -- keyed, of a CPF
    verdict    TEXT    NULL,  -- NULL: it brought no certificate
    validity   TEXT    NULL,  -- YYYY-MM-DD, the last day on which it proves anything
    name       TEXT    NULL,  -- a company's, without a CPF; never a person's
    receipt_id TEXT    NULL,  -- no reference: the receipt may be purged first
    issued_on  TEXT    NULL,  -- YYYY-MM-DD

    -- The number is within an hour of the charge, so a period is a range of the key. A
    -- charge with another number is stored as an entry and a trace.
    CONSTRAINT charged_lookup_is_numbered_by_its_time CHECK (
        request_id >= printf('%08x-%04x', (opened_ms - 3600000) >> 16, (opened_ms - 3600000) & 65535)
        AND request_id < printf('%08x-%04x', (opened_ms + 3600000) >> 16, (opened_ms + 3600000) & 65535)
    ),
    PRIMARY KEY (account_id, request_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX charged_lookup_of_reference ON charged_lookup (account_id, reference, request_id)
WHERE reference IS NOT NULL;
-- In key order, so that it is written at its end: an index by person or receipt would write a page
-- per row. A search for a person walks it.
CREATE INDEX charged_lookup_of_person_or_certificate
ON charged_lookup (account_id, request_id, person_hash, verdict)
WHERE person_hash IS NOT NULL OR verdict IS NOT NULL;

CREATE TRIGGER charged_lookup_never_changes BEFORE UPDATE OF
    account_id, request_id, opened_ms, month, key_id, user_id, operation, uf, strategy, refresh,
    key_digest, status, code, origin, source, asked_ms, credits, rule, settled_ms, client, reference,
    budgets, verdict, validity, name, issued_on
ON charged_lookup
BEGIN SELECT RAISE(ABORT, 'a charged lookup never changes; it becomes an entry when it is deleted'); END;

CREATE TRIGGER charged_lookup_forgets_whom_it_was_about
BEFORE UPDATE OF document, person_hash, receipt_id ON charged_lookup
WHEN OLD.person_hash IS NULL OR NEW.person_hash IS NOT NULL
    OR NEW.document <> 'apagado' OR NEW.receipt_id IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a charged lookup never changes; it becomes an entry when it is deleted'); END;

CREATE TRIGGER charged_lookup_moves_the_balance AFTER INSERT ON charged_lookup
BEGIN
    UPDATE account
    SET balance_credits = balance_credits - NEW.credits,
        month_credits = CASE WHEN NEW.month > month THEN 0 ELSE month_credits END + NEW.credits,
        month = max(month, NEW.month)
    WHERE account_id = NEW.account_id;
END;

-- One opening per request in both tables: no operation is charged twice. Checked after the insert,
-- when a charged lookup that INSERT OR REPLACE replaced has become an entry.
CREATE TRIGGER charged_lookup_opens_its_request AFTER INSERT ON charged_lookup
WHEN EXISTS (
    SELECT 1 FROM ledger_entry AS e
    WHERE e.request_id = NEW.request_id AND (e.kind IN ('post', 'void')) = 0
)
BEGIN SELECT RAISE(ABORT, 'the request has an entry'); END;

CREATE TRIGGER ledger_entry_opens_its_request AFTER INSERT ON ledger_entry
WHEN NEW.kind IN ('charge', 'hold') AND EXISTS (
    SELECT 1 FROM charged_lookup AS v WHERE v.account_id = NEW.account_id AND v.request_id = NEW.request_id
)
BEGIN SELECT RAISE(ABORT, 'the request has a charged lookup'); END;

-- The entry moves the balance as every entry does, so what the charged lookup moved is given back
-- first. A charged lookup that brought a certificate becomes a trace too.
CREATE TRIGGER charged_lookup_becomes_an_entry AFTER DELETE ON charged_lookup
BEGIN
    UPDATE account
    SET balance_credits = balance_credits + OLD.credits, month_credits = month_credits - OLD.credits
    WHERE account_id = OLD.account_id;
    INSERT INTO ledger_entry (
        account_id, at_ms, month, kind, balance_change, held_change, request_id, key_id, operation,
        rule, origin, client, reference, budgets
    ) VALUES (
        OLD.account_id, OLD.opened_ms, OLD.month, 'charge', -OLD.credits, 0, OLD.request_id,
        OLD.key_id, OLD.operation, OLD.rule, OLD.origin, OLD.client, OLD.reference, OLD.budgets
    );
    INSERT INTO certificate_trace (
        request_id, account_id, key_id, user_id, operation, document, document_hash, uf, strategy,
        refresh, key_digest, status, code, origin, source, asked_ms, credits, rule, opened_ms,
        settled_ms, client, reference, verdict, validity, name, receipt_id, issued_on
    )
    SELECT
        OLD.request_id, OLD.account_id, OLD.key_id, OLD.user_id, OLD.operation, OLD.document,
        OLD.person_hash, OLD.uf, OLD.strategy, OLD.refresh, OLD.key_digest, OLD.status, OLD.code,
        OLD.origin, OLD.source, OLD.asked_ms, OLD.credits, OLD.rule, OLD.opened_ms, OLD.settled_ms,
        OLD.client, OLD.reference, OLD.verdict, OLD.validity, OLD.name, OLD.receipt_id, OLD.issued_on
    WHERE OLD.verdict IS NOT NULL;
END;

-- Ceilings for what a key, a batch, a wallet or an end client spends (docs/adr/0043).
CREATE TABLE budget (
    budget_id    INTEGER NOT NULL PRIMARY KEY,
    account_id   INTEGER NOT NULL REFERENCES account (account_id),
    number       TEXT    NOT NULL UNIQUE,
    name         TEXT    NOT NULL,
    owner_kind   TEXT    NOT NULL CHECK (owner_kind IN ('chave', 'lote', 'carteira', 'cliente')),
    owner        TEXT    NOT NULL,
    period       TEXT    NOT NULL CHECK (period IN ('uma_vez', 'dia', 'mes')),
    credits_max  INTEGER NULL CHECK (credits_max >= 0),
    calls_max    INTEGER NULL CHECK (calls_max >= 0),
    operations   TEXT    NULL,  -- JSON; NULL: all
    warn_percent INTEGER NOT NULL CHECK (warn_percent BETWEEN 1 AND 100),
    created_ms   INTEGER NOT NULL,
    ended_ms     INTEGER NULL,
    CHECK (credits_max IS NOT NULL OR calls_max IS NOT NULL)
) STRICT;
CREATE INDEX budget_of_owner ON budget (account_id, owner_kind, owner) WHERE ended_ms IS NULL;

CREATE TRIGGER budget_begins AFTER INSERT ON budget WHEN NEW.ended_ms IS NULL
BEGIN UPDATE account SET budgets = budgets + 1 WHERE account_id = NEW.account_id; END;

CREATE TRIGGER budget_ends AFTER UPDATE OF ended_ms ON budget
WHEN OLD.ended_ms IS NULL AND NEW.ended_ms IS NOT NULL
BEGIN UPDATE account SET budgets = budgets - 1 WHERE account_id = NEW.account_id; END;

CREATE TRIGGER budget_ends_for_ever BEFORE UPDATE ON budget WHEN OLD.ended_ms IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a budget that ended stays as it was; make another one'); END;

CREATE TRIGGER budget_keeps_its_owner
BEFORE UPDATE OF account_id, number, owner_kind, owner, period ON budget
BEGIN SELECT RAISE(ABORT, 'a budget is of one owner and period for ever; make another one'); END;

CREATE TRIGGER budget_never_goes BEFORE DELETE ON budget
BEGIN SELECT RAISE(ABORT, 'a budget ends; entries refer to it for ever'); END;

-- A budget has a row for each of its periods.
CREATE TABLE budget_use (
    budget_id      INTEGER NOT NULL REFERENCES budget (budget_id),
    period         TEXT    NOT NULL,  -- '', YYYY-MM-DD or YYYY-MM in Brasília
    spent_credits  INTEGER NOT NULL CHECK (spent_credits >= 0),
    held_credits   INTEGER NOT NULL CHECK (held_credits >= 0),
    calls          INTEGER NOT NULL CHECK (calls >= 0),
    warned_percent INTEGER NOT NULL CHECK (warned_percent BETWEEN 0 AND 100),
    PRIMARY KEY (budget_id, period)
) STRICT, WITHOUT ROWID;

-- Only lowering the ceiling puts a budget above it, and then nothing more is admitted.
CREATE TRIGGER budget_use_begins_below_its_ceiling AFTER INSERT ON budget_use
WHEN EXISTS (
    SELECT 1 FROM budget AS b WHERE b.budget_id = NEW.budget_id
    AND (NEW.spent_credits + NEW.held_credits > b.credits_max OR NEW.calls > b.calls_max)
)
BEGIN SELECT RAISE(ABORT, 'a budget keeps to its ceiling'); END;

CREATE TRIGGER budget_use_keeps_to_its_ceiling AFTER UPDATE ON budget_use
WHEN EXISTS (
    SELECT 1 FROM budget AS b WHERE b.budget_id = NEW.budget_id
    AND (NEW.spent_credits + NEW.held_credits > b.credits_max
         AND NEW.spent_credits + NEW.held_credits > OLD.spent_credits + OLD.held_credits
         OR NEW.calls > b.calls_max AND NEW.calls > OLD.calls)
)
BEGIN SELECT RAISE(ABORT, 'a budget keeps to its ceiling'); END;

-- Events for an account's webhooks, in the commit of their cause.
CREATE TABLE event (
    event_id   INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,  -- never reused
    account_id INTEGER NOT NULL REFERENCES account (account_id),
    kind       TEXT    NOT NULL,
    at_ms      INTEGER NOT NULL,
    body       TEXT    NOT NULL  -- JSON, without personal data
) STRICT;
CREATE INDEX event_of_account ON event (account_id, event_id);
CREATE INDEX event_by_age ON event (at_ms);

CREATE TRIGGER event_never_changes BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'what happened stays so; it goes when it is old'); END;

-- Batches of lookups, their files and their rows (docs/adr/0044). The content of files and
-- answers is sealed: a copy of this database does not show it without the installation's secret.
CREATE TABLE batch (
    batch_id    TEXT    NOT NULL PRIMARY KEY,  -- a UUID of version 7
    account_id  INTEGER NOT NULL REFERENCES account (account_id),
    key_id      INTEGER NULL,  -- its limits apply to the rows; NULL: made in the web application
    user_id     INTEGER NULL,  -- its creator there
    name        TEXT    NOT NULL,
    client      TEXT    NULL,  -- for rows without one of their own
    operation   TEXT    NOT NULL,
    parameters  TEXT    NOT NULL,  -- for all rows, as a query
    columns     TEXT    NOT NULL,  -- roles of columns chosen by the user: JSON
    media_type  TEXT    NOT NULL,
    repeats     TEXT    NULL,  -- the batch whose failed rows are looked up again, instead of a file
    create_key  TEXT    NULL,  -- Idempotency-Key of the request that created it
    create_fingerprint TEXT NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN (
        'recebido', 'validando', 'cotado', 'executando', 'pausado', 'concluido', 'encerrando',
        'encerrado', 'expirado', 'recusado')),
    reason      TEXT    NULL CHECK (reason IN (
        'teto', 'saldo', 'usuario', 'fonte', 'limite_da_chave')),
    code        TEXT    NULL,  -- reason of a refusal or pause
    message     TEXT    NULL,  -- what is wrong with the file
    told        TEXT    NULL,  -- how the file was understood: JSON
    header      BLOB    NULL,  -- of the file; sealed
    digest      TEXT    NULL,  -- of the quote
    least       INTEGER NULL,
    greatest    INTEGER NULL,
    valid       INTEGER NULL,
    at_hand     INTEGER NULL,
    quoted_ms   INTEGER NULL,
    until_ms    INTEGER NULL,
    ceiling     INTEGER NULL CHECK (ceiling >= 0),
    created_ms  INTEGER NOT NULL,
    confirmed_ms INTEGER NULL,
    ended_ms    INTEGER NULL,
    erased_ms   INTEGER NULL,
    -- Space it takes, against the account's bound (docs/adr/0078).
    file_bytes  INTEGER NOT NULL DEFAULT 0,  -- of the file, until it is read
    row_bytes   INTEGER NOT NULL DEFAULT 0,  -- of its rows
    secret_id   TEXT    NULL,  -- that its data is sealed with; NULL: the installation's first

    CONSTRAINT a_pause_has_a_reason CHECK ((state = 'pausado') = (reason IS NOT NULL)),
    UNIQUE (account_id, create_key)
) STRICT;
CREATE INDEX batch_of_account ON batch (account_id, batch_id);
CREATE INDEX batch_with_data ON batch (created_ms) WHERE erased_ms IS NULL;

CREATE TRIGGER batch_ends_once BEFORE UPDATE OF state ON batch
WHEN OLD.state IN ('concluido', 'encerrado', 'expirado', 'recusado') AND NEW.state <> OLD.state
BEGIN SELECT RAISE(ABORT, 'the batch is over'); END;

-- The file as it came, until its rows are stored.
CREATE TABLE batch_piece (
    batch_id   TEXT    NOT NULL,
    piece      INTEGER NOT NULL,
    stored_ms  INTEGER NOT NULL,
    content    BLOB    NOT NULL,  -- sealed
    PRIMARY KEY (batch_id, piece)
) STRICT;

CREATE TABLE batch_row (
    batch_id    TEXT    NOT NULL REFERENCES batch (batch_id),
    line        INTEGER NOT NULL,  -- in the file
    state       TEXT    NOT NULL CHECK (state IN (
        'invalida', 'repetida', 'pendente', 'em_andamento', 'concluida', 'falha', 'recusada',
        'cancelada')),
    ref         TEXT    NULL,  -- the client's reference of the row
    client      TEXT    NULL,
    document    TEXT    NULL,  -- a CNPJ, or a masked CPF
    document_hash BLOB  NULL,  -- of a CPF
    same        BLOB    NULL,  -- keyed digest of the inquiry, to find repeated rows
    repeated_of INTEGER NULL CHECK ((repeated_of IS NOT NULL) = (state = 'repetida')),
    least       INTEGER NOT NULL,  -- lowest price in credits, at the quote
    greatest    INTEGER NOT NULL,
    at_hand     INTEGER NOT NULL CHECK (at_hand IN (0, 1)),
    request_id  TEXT    NULL,
    credits     INTEGER NOT NULL,  -- held for it, or charged
    code        TEXT    NULL,
    settled_ms  INTEGER NULL,
    tries       INTEGER NOT NULL,
    cells       BLOB    NULL,  -- of the file; sealed
    answer      BLOB    NULL,  -- sealed

    CONSTRAINT only_what_was_asked_costs CHECK (
        credits = 0 OR (credits > 0 AND state IN ('em_andamento', 'concluida'))
    ),
    CONSTRAINT who_has_a_row_is_known CHECK (state <> 'em_andamento' OR request_id IS NOT NULL),
    PRIMARY KEY (batch_id, line)
) STRICT;
CREATE INDEX batch_row_by_state ON batch_row (batch_id, state, line);
CREATE INDEX batch_row_of_person ON batch_row (document_hash) WHERE document_hash IS NOT NULL;

CREATE TRIGGER batch_row_ends_once BEFORE UPDATE OF state, credits ON batch_row
WHEN OLD.state IN ('concluida', 'falha', 'recusada', 'cancelada')
    AND (NEW.state <> OLD.state OR NEW.credits <> OLD.credits)
BEGIN SELECT RAISE(ABORT, 'the row is over'); END;

CREATE TABLE batch_count (
    batch_id TEXT    NOT NULL REFERENCES batch (batch_id),
    state    TEXT    NOT NULL,
    rows     INTEGER NOT NULL CHECK (rows >= 0),
    credits  INTEGER NOT NULL CHECK (credits >= 0),
    PRIMARY KEY (batch_id, state)
) STRICT, WITHOUT ROWID;

-- Charges of each account by day, so that no page adds up the ledger (docs/adr/0050). A job
-- folds charges in, in order of time, up to `account.folded_ms`; readers add the younger ones up.
--
-- Each charge counts once in each part: in all, by UF, by client, and by UF or client alone,
-- without operation, key, person and rule. By UF and client at once there would be nearly a row per
-- charge.
CREATE TABLE daily_total (
    account_id INTEGER NOT NULL REFERENCES account (account_id),
    part       TEXT    NOT NULL CHECK (part IN ('all', 'uf', 'client', 'uf_alone', 'client_alone')),
    day        TEXT    NOT NULL,  -- YYYY-MM-DD in Brasília
    operation  TEXT    NOT NULL,
    key_id     INTEGER NOT NULL,  -- 0: asked in the web application
    user_id    INTEGER NOT NULL,  -- 0: through a key, or the request's details are gone
    origin     TEXT    NOT NULL,
    rule       TEXT    NOT NULL,
    value      TEXT    NOT NULL,  -- the UF or the client; empty: none
    requests   INTEGER NOT NULL CHECK (requests > 0),
    credits    INTEGER NOT NULL CHECK (credits > 0),
    PRIMARY KEY (account_id, part, day, value, operation, key_id, user_id, origin, rule)
) STRICT, WITHOUT ROWID;
-- Days that still have users and UFs, which are removed with the requests' details.
CREATE INDEX daily_total_detailed ON daily_total (day)
    WHERE user_id > 0 OR (part IN ('uf', 'uf_alone') AND value <> '');

-- Digest of a month that is over (contract 15.5), kept so that it is computed once. Valid as long
-- as the month has as many entries.
CREATE TABLE month_seal (
    account_id INTEGER NOT NULL REFERENCES account (account_id),
    month      TEXT    NOT NULL,  -- YYYY-MM in Brasília
    entries    INTEGER NOT NULL,
    digest     TEXT    NOT NULL,
    PRIMARY KEY (account_id, month)
) STRICT, WITHOUT ROWID;

-- Requests by day that used something deprecated (docs/adr/0104).
CREATE TABLE deprecated_use (
    account_id INTEGER NOT NULL REFERENCES account (account_id),
    feature    TEXT    NOT NULL,
    key_id     INTEGER NOT NULL,
    day        TEXT    NOT NULL,  -- YYYY-MM-DD in Brasília
    requests   INTEGER NOT NULL CHECK (requests > 0),
    PRIMARY KEY (account_id, feature, key_id, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX deprecated_use_by_day ON deprecated_use (day);

-- Files that take long to write: one per person, made by a job, kept for some days. The content is
-- here so that any node can serve it.
CREATE TABLE export (
    export_id  TEXT    NOT NULL PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES account (account_id),
    user_id    INTEGER NOT NULL,
    form       TEXT    NOT NULL CHECK (form IN ('csv', 'xlsx')),
    name       TEXT    NOT NULL,  -- content and days, no person
    wanted     TEXT    NOT NULL,  -- JSON: which requests; no CPF
    rows       INTEGER NOT NULL,  -- written so far
    size_bytes INTEGER NULL,      -- NULL: it is not ready
    attempt    TEXT    NULL,      -- with the pieces of the content
    created_ms INTEGER NOT NULL,
    UNIQUE (account_id, user_id)
) STRICT;

CREATE TABLE export_piece (
    export_id TEXT    NOT NULL,
    attempt   TEXT    NOT NULL,  -- of the job: pieces of one that died do not count
    number    INTEGER NOT NULL,
    content   BLOB    NOT NULL,
    PRIMARY KEY (export_id, attempt, number)
) STRICT;

-- Legal acts that extended the validity of certificates (docs/adr/0051).
CREATE TABLE certificate_extension (
    extension_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    subject      TEXT    NOT NULL,
    uf           TEXT    NULL,
    issued_from  TEXT    NOT NULL,  -- days, YYYY-MM-DD, both included
    issued_to    TEXT    NOT NULL CHECK (issued_to >= issued_from),
    until_day    TEXT    NULL,      -- valid until then,
    days         INTEGER NULL CHECK (days > 0),  -- or for so many days more
    act          TEXT    NOT NULL,
    added_ms     INTEGER NOT NULL,
    CHECK ((until_day IS NULL) <> (days IS NULL))
) STRICT;

CREATE TRIGGER certificate_extension_never_changes BEFORE UPDATE ON certificate_extension
BEGIN SELECT RAISE(ABORT, 'an act says what it says; remove it and add another one'); END;

-- How sources have served, for the status page (docs/adr/0058): requests per minute, hour and
-- civil day, and the failures that incidents are made of. Nothing about who asked.
CREATE TABLE availability_count (
    mode        TEXT    NOT NULL CHECK (mode IN ('live', 'test')),
    span        TEXT    NOT NULL CHECK (span IN ('minute', 'hour', 'day')),
    begins_ms   INTEGER NOT NULL,
    subject     TEXT    NOT NULL,
    uf          TEXT    NOT NULL,  -- empty: none; BR: all in one call
    source      TEXT    NOT NULL,
    asked       INTEGER NOT NULL CHECK (asked >= 0),
    answered    INTEGER NOT NULL CHECK (answered BETWEEN 0 AND asked),
    turned_away INTEGER NOT NULL CHECK (turned_away >= 0),  -- not sent: open circuit, or no free connection
    PRIMARY KEY (mode, span, begins_ms, subject, uf, source)
) STRICT, WITHOUT ROWID;

-- Consecutive failures of a subject (and UF). An episode without an end is under way.
CREATE TABLE availability_episode (
    mode      TEXT    NOT NULL CHECK (mode IN ('live', 'test')),
    subject   TEXT    NOT NULL,
    uf        TEXT    NOT NULL,
    began_ms  INTEGER NOT NULL,
    failed_ms INTEGER NOT NULL,  -- the last minute with failures
    well_ms   INTEGER NULL,      -- the first minute after it with an answer
    wanted    INTEGER NOT NULL,
    answered  INTEGER NOT NULL,
    ended_ms  INTEGER NULL,
    PRIMARY KEY (mode, subject, uf, began_ms)
) STRICT, WITHOUT ROWID;

-- The minute up to which episodes are made.
CREATE TABLE availability_mark (
    mode        TEXT    NOT NULL PRIMARY KEY CHECK (mode IN ('live', 'test')),
    followed_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Marks shared with the store of receipts (docs/adr/0074): a desk without the store's mark
-- was restored to an older point, or the store is another installation's.
CREATE TABLE receipt_mark (
    mark         TEXT    NOT NULL PRIMARY KEY,
    installation TEXT    NOT NULL,
    at_ms        INTEGER NOT NULL
) STRICT;

-- The least number to issue next in a table whose numbers are counted from its greatest one:
-- numbers lost in a restore are not issued again.
CREATE TABLE number_floor (
    numbered TEXT    NOT NULL PRIMARY KEY,
    least    INTEGER NOT NULL
) STRICT;
