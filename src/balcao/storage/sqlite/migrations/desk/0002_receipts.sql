-- Which receipts there are, who may fetch them, and which bytes they are. The bytes are elsewhere,
-- stored once by their content, and were made durable before any row here names them.

CREATE TABLE receipt (
    receipt_id TEXT    NOT NULL PRIMARY KEY,
    account_id INTEGER NULL REFERENCES account (account_id),  -- NULL: public
    operation  TEXT    NOT NULL,
    digest     TEXT    NOT NULL CHECK (length(digest) = 64 AND digest NOT GLOB '*[^0-9a-f]*'),
    media_type TEXT    NOT NULL CHECK (media_type IN ('application/pdf', 'text/html')),
    size_bytes INTEGER NOT NULL CHECK (size_bytes BETWEEN 1 AND 10000000),
    created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX receipt_by_age ON receipt (created_ms);
CREATE INDEX receipt_of_digest ON receipt (digest);

CREATE TRIGGER receipt_never_changes BEFORE UPDATE ON receipt
BEGIN SELECT RAISE(ABORT, 'a receipt never changes; it goes when it is purged'); END;
