-- What a client of ours marks its requests with: who they are for and what they belong to, in its own
-- words; and what a key may be used for (docs/decisions/0042). No mark holds a CPF.

ALTER TABLE ledger_entry
    ADD COLUMN IF NOT EXISTS client text COLLATE "C" NULL,
    ADD COLUMN IF NOT EXISTS reference text COLLATE "C" NULL;
ALTER TABLE visit
    ADD COLUMN IF NOT EXISTS client text COLLATE "C" NULL,
    ADD COLUMN IF NOT EXISTS reference text COLLATE "C" NULL;
ALTER TABLE trace
    ADD COLUMN IF NOT EXISTS client text COLLATE "C" NULL,
    ADD COLUMN IF NOT EXISTS reference text COLLATE "C" NULL;
ALTER TABLE certificate_trace
    ADD COLUMN IF NOT EXISTS client text COLLATE "C" NULL,
    ADD COLUMN IF NOT EXISTS reference text COLLATE "C" NULL;
-- Those of the hold, which its settlement says again.
ALTER TABLE open_operation
    ADD COLUMN IF NOT EXISTS client text COLLATE "C" NULL,
    ADD COLUMN IF NOT EXISTS reference text COLLATE "C" NULL;

-- Who marks nothing pays for no index.
CREATE INDEX IF NOT EXISTS ledger_entry_of_reference
ON ledger_entry (account_id, reference, request_id) WHERE reference IS NOT NULL;
CREATE INDEX IF NOT EXISTS visit_of_reference
ON visit (account_id, reference, request_id) WHERE reference IS NOT NULL;
-- A visit has no idempotency key.
CREATE INDEX IF NOT EXISTS trace_of_key
ON trace (account_id, key_digest, request_id) WHERE key_digest IS NOT NULL;
CREATE INDEX IF NOT EXISTS certificate_trace_of_key
ON certificate_trace (account_id, key_digest, request_id) WHERE key_digest IS NOT NULL;

-- The door of a key. All as it is without any of them: from anywhere, for everything.
ALTER TABLE api_key
    ADD COLUMN IF NOT EXISTS networks text COLLATE "C" NULL,    -- JSON, a list of texts; NULL: from anywhere
    ADD COLUMN IF NOT EXISTS operations text COLLATE "C" NULL,  -- JSON, a list of paths; NULL: all of them
    ADD COLUMN IF NOT EXISTS client_required smallint NOT NULL DEFAULT 0
        CHECK (client_required IN (0, 1)),
    ADD COLUMN IF NOT EXISTS administers smallint NOT NULL DEFAULT 0
        CHECK (administers IN (0, 1));

-- As it was, with the marks.
CREATE OR REPLACE FUNCTION visits_become_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    WITH moved AS (
        SELECT account_id, sum(credits)::bigint AS spent FROM gone GROUP BY account_id
    )
    UPDATE account SET balance_credits = balance_credits + moved.spent,
        month_credits = month_credits - moved.spent
    FROM moved WHERE account.account_id = moved.account_id;
    INSERT INTO ledger_entry (
        account_id, at_ms, month, kind, balance_change, held_change, request_id, key_id, operation,
        rule, origin, client, reference
    )
    SELECT account_id, opened_ms, month, 'charge', -credits, 0, request_id, key_id, operation, rule,
           origin, client, reference
    FROM gone ORDER BY account_id, request_id;
    RETURN NULL;
END $$;
