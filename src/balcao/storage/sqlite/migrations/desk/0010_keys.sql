-- What a client of ours marks its requests with: who they are for and what they belong to, in its own
-- words; and what a key may be used for (docs/decisions/0042). No mark holds a CPF.

ALTER TABLE ledger_entry ADD COLUMN client TEXT NULL;
ALTER TABLE ledger_entry ADD COLUMN reference TEXT NULL;
ALTER TABLE visit ADD COLUMN client TEXT NULL;
ALTER TABLE visit ADD COLUMN reference TEXT NULL;
ALTER TABLE trace ADD COLUMN client TEXT NULL;
ALTER TABLE trace ADD COLUMN reference TEXT NULL;
ALTER TABLE certificate_trace ADD COLUMN client TEXT NULL;
ALTER TABLE certificate_trace ADD COLUMN reference TEXT NULL;
-- Those of the hold, which its settlement says again.
ALTER TABLE open_operation ADD COLUMN client TEXT NULL;
ALTER TABLE open_operation ADD COLUMN reference TEXT NULL;

-- Who marks nothing pays for no index.
CREATE INDEX ledger_entry_of_reference ON ledger_entry (account_id, reference, request_id)
WHERE reference IS NOT NULL;
CREATE INDEX visit_of_reference ON visit (account_id, reference, request_id)
WHERE reference IS NOT NULL;
-- A visit has no idempotency key.
CREATE INDEX trace_of_key ON trace (account_id, key_digest, request_id)
WHERE key_digest IS NOT NULL;
CREATE INDEX certificate_trace_of_key ON certificate_trace (account_id, key_digest, request_id)
WHERE key_digest IS NOT NULL;

-- The door of a key. All as it is without any of them: from anywhere, for everything.
ALTER TABLE api_key ADD COLUMN networks TEXT NULL;    -- JSON, a list of texts; NULL: from anywhere
ALTER TABLE api_key ADD COLUMN operations TEXT NULL;  -- JSON, a list of paths; NULL: all of them
ALTER TABLE api_key ADD COLUMN client_required INTEGER NOT NULL DEFAULT 0
    CHECK (client_required IN (0, 1));
ALTER TABLE api_key ADD COLUMN administers INTEGER NOT NULL DEFAULT 0
    CHECK (administers IN (0, 1));

-- As it was, with the marks.
DROP TRIGGER visit_becomes_an_entry;
CREATE TRIGGER visit_becomes_an_entry AFTER DELETE ON visit
BEGIN
    UPDATE account
    SET balance_credits = balance_credits + OLD.credits, month_credits = month_credits - OLD.credits
    WHERE account_id = OLD.account_id;
    INSERT INTO ledger_entry (
        account_id, at_ms, month, kind, balance_change, held_change, request_id, key_id, operation,
        rule, origin, client, reference
    ) VALUES (
        OLD.account_id, OLD.opened_ms, OLD.month, 'charge', -OLD.credits, 0, OLD.request_id,
        OLD.key_id, OLD.operation, OLD.rule, OLD.origin, OLD.client, OLD.reference
    );
END;
