-- A visit may be of a person, and may have brought a certificate (docs/decisions/0064): what was at hand
-- is one row, whatever it was. Only what is the first to bring a receipt is still told apart, where the
-- receipt is found (`certificate_trace_of_receipt`).
--
-- Nodes of the version before may run on: `person_hash` has a name of its own for them, who read visits
-- as if none were a person's.

-- Whoever charges locks an account first and visits after it: so do we, or one would wait for the other.
LOCK TABLE account IN ACCESS EXCLUSIVE MODE;

ALTER TABLE visit
    ADD COLUMN IF NOT EXISTS person_hash bytea NULL,  -- keyed, of a CPF; then `document` is masked
    ADD COLUMN IF NOT EXISTS verdict    text COLLATE "C" NULL,  -- NULL: it brought no certificate
    ADD COLUMN IF NOT EXISTS validity   text COLLATE "C" NULL,  -- YYYY-MM-DD, the last day on which it proves anything
    ADD COLUMN IF NOT EXISTS name       text COLLATE "C" NULL,  -- a company's, without a CPF; never a person's
    ADD COLUMN IF NOT EXISTS receipt_id text COLLATE "C" NULL,  -- no reference: the receipt may go first
    ADD COLUMN IF NOT EXISTS issued_on  text COLLATE "C" NULL;  -- YYYY-MM-DD

-- In the order in which they come. Whoever looks for a person or a certificate walks it.
CREATE INDEX IF NOT EXISTS visit_of_person_or_certificate
ON visit (account_id, request_id, person_hash, verdict)
WHERE person_hash IS NOT NULL OR verdict IS NOT NULL;

DROP TRIGGER visit_never_changes ON visit;
CREATE TRIGGER visit_never_changes BEFORE UPDATE OF
    account_id, request_id, opened_ms, month, key_id, user_id, operation, uf, strategy, refresh,
    key_digest, status, code, origin, source, asked_ms, credits, rule, settled_ms, client, reference,
    budgets, verdict, validity, name, issued_on
ON visit
FOR EACH STATEMENT EXECUTE FUNCTION never('a visit never changes; it becomes an entry when it is deleted');

CREATE TRIGGER visit_forgets_whom_it_was_about BEFORE UPDATE ON visit
FOR EACH ROW WHEN (
    OLD.person_hash IS NULL OR NEW.person_hash IS NOT NULL
    OR NEW.document <> 'apagado' OR NEW.receipt_id IS NOT NULL
)
EXECUTE FUNCTION never('a visit never changes; it becomes an entry when it is deleted');

-- As before; those that brought a certificate stay as long as the receipt, where those are.
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
        rule, origin, client, reference, budgets
    )
    SELECT account_id, opened_ms, month, 'charge', -credits, 0, request_id, key_id, operation, rule,
           origin, client, reference, budgets
    FROM gone ORDER BY account_id, request_id;
    INSERT INTO certificate_trace (
        request_id, account_id, key_id, user_id, operation, document, document_hash, uf, strategy,
        refresh, key_digest, status, code, origin, source, asked_ms, credits, rule, opened_ms,
        settled_ms, client, reference, verdict, validity, name, receipt_id, issued_on
    )
    SELECT request_id, account_id, key_id, user_id, operation, document, person_hash, uf, strategy,
           refresh, key_digest, status, code, origin, source, asked_ms, credits, rule, opened_ms,
           settled_ms, client, reference, verdict, validity, name, receipt_id, issued_on
    FROM gone WHERE verdict IS NOT NULL ORDER BY account_id, request_id;
    RETURN NULL;
END $$;

-- Whose a visit is was looked up for each row, a quarter of what its insert cost here. The statement finds
-- every account when it moves the balances: one that it does not find is nobody's.
ALTER TABLE visit DROP CONSTRAINT IF EXISTS visit_account_id_fkey;

CREATE TRIGGER account_never_goes BEFORE DELETE OR TRUNCATE ON account
FOR EACH STATEMENT EXECUTE FUNCTION never('an account never goes: its entries and visits are for ever');

CREATE TRIGGER account_keeps_its_number BEFORE UPDATE OF account_id ON account
FOR EACH STATEMENT EXECUTE FUNCTION never('an account keeps its number: entries and visits name it');

CREATE OR REPLACE FUNCTION visits_move_the_balance() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    found_accounts bigint;
BEGIN
    IF EXISTS (
        SELECT 1 FROM appended AS visit WHERE 1 = (
            SELECT 1 FROM ledger_entry AS e
            WHERE e.request_id = visit.request_id AND (e.kind IN ('post', 'void')) = false LIMIT 1
        )
    ) THEN
        RAISE EXCEPTION 'the request has an entry' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    WITH numbered AS (
        SELECT account_id, month, credits, row_number() OVER () AS place,
               max(month) OVER (PARTITION BY account_id) AS last_month
        FROM appended
    ), begun AS (
        SELECT *, min(place) FILTER (WHERE month = last_month)
                  OVER (PARTITION BY account_id) AS first_of_month
        FROM numbered
    ), moved AS (
        SELECT account_id, max(month) AS month, sum(credits)::bigint AS spent,
               sum(credits) FILTER (WHERE place >= first_of_month)::bigint AS spent_in_month
        FROM begun GROUP BY account_id
    )
    UPDATE account SET
        balance_credits = balance_credits - moved.spent,
        month_credits = CASE WHEN moved.month > account.month THEN moved.spent_in_month
                             ELSE month_credits + moved.spent END,
        month = greatest(account.month, moved.month)
    FROM moved WHERE account.account_id = moved.account_id;
    GET DIAGNOSTICS found_accounts = ROW_COUNT;
    IF found_accounts < (SELECT count(DISTINCT account_id) FROM appended) THEN
        RAISE EXCEPTION 'a visit is of an account' USING ERRCODE = 'foreign_key_violation';
    END IF;
    RETURN NULL;
END $$;
