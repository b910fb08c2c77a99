-- A visit may be of a person, and may have brought a certificate (docs/decisions/0064): what was at hand
-- is one row, whatever it was. Only what is the first to bring a receipt is still told apart, where the
-- receipt is found (`certificate_trace_of_receipt`).

ALTER TABLE visit ADD COLUMN person_hash BLOB NULL;  -- keyed, of a CPF; then `document` is masked
ALTER TABLE visit ADD COLUMN verdict     TEXT NULL;  -- NULL: it brought no certificate
ALTER TABLE visit ADD COLUMN validity    TEXT NULL;  -- YYYY-MM-DD, the last day on which it proves anything
ALTER TABLE visit ADD COLUMN name        TEXT NULL;  -- a company's, without a CPF; never a person's
ALTER TABLE visit ADD COLUMN receipt_id  TEXT NULL;  -- no reference: the receipt may go first
ALTER TABLE visit ADD COLUMN issued_on   TEXT NULL;  -- YYYY-MM-DD

-- In the order in which they come, so that it is written at its end: by person or by receipt each row
-- would write a page of its own. Whoever looks for a person walks it.
CREATE INDEX visit_of_person_or_certificate
ON visit (account_id, request_id, person_hash, verdict)
WHERE person_hash IS NOT NULL OR verdict IS NOT NULL;

DROP TRIGGER visit_never_changes;
CREATE TRIGGER visit_never_changes BEFORE UPDATE OF
    account_id, request_id, opened_ms, month, key_id, user_id, operation, uf, strategy, refresh,
    key_digest, status, code, origin, source, asked_ms, credits, rule, settled_ms, client, reference,
    budgets, verdict, validity, name, issued_on
ON visit
BEGIN SELECT RAISE(ABORT, 'a visit never changes; it becomes an entry when it is deleted'); END;

CREATE TRIGGER visit_forgets_whom_it_was_about BEFORE UPDATE OF document, person_hash, receipt_id ON visit
WHEN OLD.person_hash IS NULL OR NEW.person_hash IS NOT NULL
    OR NEW.document <> 'apagado' OR NEW.receipt_id IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a visit never changes; it becomes an entry when it is deleted'); END;

-- As before; one that brought a certificate stays as long as the receipt, where those are.
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
