-- How much room a batch takes, so that what an account keeps can be bounded (docs/decisions/0078).

ALTER TABLE batch ADD COLUMN file_bytes INTEGER NOT NULL DEFAULT 0;  -- of the file, until it is read
ALTER TABLE batch ADD COLUMN row_bytes INTEGER NOT NULL DEFAULT 0;  -- of its rows

-- Rows that are stored already are estimated.
UPDATE batch SET row_bytes = (
    SELECT coalesce(sum(c.rows), 0) * 400 FROM batch_count AS c WHERE c.batch_id = batch.batch_id
) WHERE erased_ms IS NULL;
