-- Budgets: ceilings for what a key, a batch, a wallet or an end client spends (docs/decisions/0043).
-- Each budget has a row of use for each of its periods. Operations say which of these they count
-- against: JSON, [[budget_id, "period"], ...].

-- How many budgets live: an account without any is asked for none.
ALTER TABLE account ADD COLUMN budgets INTEGER NOT NULL DEFAULT 0 CHECK (budgets >= 0);

ALTER TABLE ledger_entry ADD COLUMN budgets TEXT NULL;
ALTER TABLE visit ADD COLUMN budgets TEXT NULL;
ALTER TABLE open_operation ADD COLUMN budgets TEXT NULL;

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

CREATE TABLE budget_use (
    budget_id      INTEGER NOT NULL REFERENCES budget (budget_id),
    period         TEXT    NOT NULL,  -- '', YYYY-MM-DD or YYYY-MM in Brasília
    spent_credits  INTEGER NOT NULL CHECK (spent_credits >= 0),
    held_credits   INTEGER NOT NULL CHECK (held_credits >= 0),
    calls          INTEGER NOT NULL CHECK (calls >= 0),
    warned_percent INTEGER NOT NULL CHECK (warned_percent BETWEEN 0 AND 100),
    PRIMARY KEY (budget_id, period)
) STRICT, WITHOUT ROWID;

-- Above its ceiling a budget gets by a lower ceiling alone, and then nothing more passes.
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

-- As before, with what the visit counted against: that goes on to be the entry's.
DROP TRIGGER visit_becomes_an_entry;
CREATE TRIGGER visit_becomes_an_entry AFTER DELETE ON visit
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
END;

-- What happened that an account may want to be told, in the commit of its cause.
CREATE TABLE event (
    event_id   INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,  -- no number is given twice
    account_id INTEGER NOT NULL REFERENCES account (account_id),
    kind       TEXT    NOT NULL,
    at_ms      INTEGER NOT NULL,
    body       TEXT    NOT NULL  -- JSON, without personal data
) STRICT;

CREATE INDEX event_of_account ON event (account_id, event_id);
CREATE INDEX event_by_age ON event (at_ms);

CREATE TRIGGER event_never_changes BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'what happened stays so; it goes when it is old'); END;

-- An account's requests about a person are found without walking all others.
CREATE INDEX trace_of_person ON trace (document_hash) WHERE document_hash IS NOT NULL;
CREATE INDEX certificate_trace_of_person ON certificate_trace (document_hash)
WHERE document_hash IS NOT NULL;

-- Deeds come by the API, too: the check is made anew, which SQLite does with a table of its own.
CREATE TABLE audit_entry_anew (
    entry_id   INTEGER NOT NULL PRIMARY KEY,
    at_ms      INTEGER NOT NULL,
    channel    TEXT    NOT NULL CHECK (channel IN ('web', 'cli', 'start', 'api')),
    user_id    INTEGER NULL,  -- no reference: the deed stays when the person is forgotten
    form_id    TEXT    NULL UNIQUE,  -- a form is carried out once
    action     TEXT    NOT NULL,
    account_id INTEGER NULL,
    target     TEXT    NOT NULL,
    detail     TEXT    NOT NULL
) STRICT;

INSERT INTO audit_entry_anew SELECT * FROM audit_entry;
DROP TABLE audit_entry;
ALTER TABLE audit_entry_anew RENAME TO audit_entry;

CREATE INDEX audit_entry_of_account ON audit_entry (account_id, entry_id);
CREATE INDEX audit_entry_of_erasure ON audit_entry (action) WHERE action = 'subject.erase';

CREATE TRIGGER audit_entry_never_changes BEFORE UPDATE ON audit_entry
BEGIN SELECT RAISE(ABORT, 'what was done stays done; do something else'); END;

CREATE TRIGGER audit_entry_never_goes BEFORE DELETE ON audit_entry
BEGIN SELECT RAISE(ABORT, 'what was done stays done; do something else'); END;
