-- A charge for an answer that was at hand and what is remembered of its request, in one row: most of
-- what is ever written (docs/decisions/0038). Numbers of requests grow with time, so rows go to the
-- end of their account's, and there is no other index to keep.
--
-- When its details have been kept long enough a visit is deleted, and becomes an entry of the ledger
-- in that very statement: what was charged stays for ever, who asked for what does not.

CREATE TABLE visit (
    account_id INTEGER NOT NULL REFERENCES account (account_id),
    request_id TEXT    NOT NULL,
    opened_ms  INTEGER NOT NULL,  -- when it was charged, too
    month      TEXT    NOT NULL,  -- YYYY-MM in Brasília, for the ceiling
    key_id     INTEGER NULL,
    user_id    INTEGER NULL,
    operation  TEXT    NOT NULL,
    document   TEXT    NOT NULL,  -- a CNPJ: who asks about a person leaves a trace apart
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

    -- The number says within an hour when it was charged: so a period is a range of the key, and
    -- nothing of it can lie elsewhere. What is not so is an entry and a trace.
    CONSTRAINT visit_is_numbered_by_its_time CHECK (
        request_id >= printf('%08x-%04x', (opened_ms - 3600000) >> 16, (opened_ms - 3600000) & 65535)
        AND request_id < printf('%08x-%04x', (opened_ms + 3600000) >> 16, (opened_ms + 3600000) & 65535)
    ),
    PRIMARY KEY (account_id, request_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER visit_never_changes BEFORE UPDATE ON visit
BEGIN SELECT RAISE(ABORT, 'a visit never changes; it becomes an entry when it is deleted'); END;

CREATE TRIGGER visit_moves_the_balance AFTER INSERT ON visit
BEGIN
    UPDATE account
    SET balance_credits = balance_credits - NEW.credits,
        month_credits = CASE WHEN NEW.month > month THEN 0 ELSE month_credits END + NEW.credits,
        month = max(month, NEW.month)
    WHERE account_id = NEW.account_id;
END;

-- One opening per request, in whichever table: no operation is charged twice. Asked afterwards, when
-- also what INSERT OR REPLACE put in the place of a visit has become an entry.
CREATE TRIGGER visit_opens_its_request AFTER INSERT ON visit
WHEN EXISTS (
    SELECT 1 FROM ledger_entry AS e
    WHERE e.request_id = NEW.request_id AND (e.kind IN ('post', 'void')) = 0
)
BEGIN SELECT RAISE(ABORT, 'the request has an entry'); END;

CREATE TRIGGER ledger_entry_opens_its_request AFTER INSERT ON ledger_entry
WHEN NEW.kind IN ('charge', 'hold') AND EXISTS (
    SELECT 1 FROM visit AS v WHERE v.account_id = NEW.account_id AND v.request_id = NEW.request_id
)
BEGIN SELECT RAISE(ABORT, 'the request has a visit'); END;

-- The entry moves the balance as every entry does; so the visit gives back first what it moved.
CREATE TRIGGER visit_becomes_an_entry AFTER DELETE ON visit
BEGIN
    UPDATE account
    SET balance_credits = balance_credits + OLD.credits, month_credits = month_credits - OLD.credits
    WHERE account_id = OLD.account_id;
    INSERT INTO ledger_entry (
        account_id, at_ms, month, kind, balance_change, held_change, request_id, key_id, operation,
        rule, origin
    ) VALUES (
        OLD.account_id, OLD.opened_ms, OLD.month, 'charge', -OLD.credits, 0, OLD.request_id,
        OLD.key_id, OLD.operation, OLD.rule, OLD.origin
    );
END;
