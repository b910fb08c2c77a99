-- `account.folded_ms` parts visits by when their numbers were made, and no longer by their instants
-- (docs/decisions/0062). What was folded the other way is folded again, behind the requests.
DELETE FROM daily_total;
UPDATE account SET folded_ms = 0 WHERE folded_ms > 0;
