-- When a certificate was issued: acts extend those that were issued in some period
-- (docs/decisions/0051), also when the answer is not kept any more.

ALTER TABLE certificate_trace ADD COLUMN issued_on TEXT NULL;  -- YYYY-MM-DD; NULL: not told, or from before
