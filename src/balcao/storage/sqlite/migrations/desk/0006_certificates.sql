-- Requests that brought a certificate are remembered as long as its receipt: who has paid for one
-- finds it again. They lie apart from the others, which go after some months; a request is in one
-- of the two tables. The columns are those of `trace`, and what the certificate said.

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
    verdict       TEXT    NULL,      -- NULL: from before it was remembered
    validity      TEXT    NULL,      -- YYYY-MM-DD, the last day on which it proves anything
    name          TEXT    NULL,      -- a company's, without a CPF; never a person's
    receipt_id    TEXT    NULL,      -- no reference: the receipt may go first
    PRIMARY KEY (account_id, request_id)
) STRICT, WITHOUT ROWID;

-- What a receipt is about is asked for when it is fetched.
CREATE INDEX certificate_trace_of_receipt ON certificate_trace (receipt_id, request_id)
WHERE receipt_id IS NOT NULL;

-- Those from before whose receipt can be told: it was recorded first at that very instant, and
-- nothing else was. The others go as they would have gone.
INSERT INTO certificate_trace (
    request_id, account_id, key_id, user_id, operation, document, document_hash, uf, strategy,
    refresh, key_digest, status, code, origin, source, asked_ms, credits, rule, opened_ms,
    settled_ms, receipt_id
)
WITH candidate AS (
    SELECT t.account_id, t.request_id, r.receipt_id,
           count(*) OVER (PARTITION BY t.account_id, t.request_id) AS receipts,
           count(*) OVER (PARTITION BY r.receipt_id) AS requests
    FROM trace AS t JOIN receipt AS r ON r.created_ms = t.opened_ms AND r.operation = t.operation
        AND (r.account_id = t.account_id OR r.account_id IS NULL)
        AND r.document_hash IS NOT DISTINCT FROM t.document_hash
    WHERE t.code IS NULL
)
SELECT
    t.request_id, t.account_id, key_id, user_id, operation, document, document_hash, uf, strategy,
    refresh, key_digest, status, code, origin, source, asked_ms, credits, rule, opened_ms,
    settled_ms, receipt_id
FROM candidate AS c JOIN trace AS t ON t.account_id = c.account_id AND t.request_id = c.request_id
WHERE c.receipts = 1 AND c.requests = 1;

DELETE FROM trace WHERE EXISTS (
    SELECT 1 FROM certificate_trace AS c
    WHERE c.account_id = trace.account_id AND c.request_id = trace.request_id
);
