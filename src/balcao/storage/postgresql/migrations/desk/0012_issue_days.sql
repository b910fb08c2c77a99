-- When a certificate was issued: acts extend those that were issued in some period
-- (docs/decisions/0051), also when the answer is not kept any more.

ALTER TABLE certificate_trace ADD COLUMN IF NOT EXISTS issued_on text COLLATE "C" NULL;  -- YYYY-MM-DD; NULL: not told, or from before
