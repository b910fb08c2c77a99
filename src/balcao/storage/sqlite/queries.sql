-- Statements that differ between the engines. `postgresql/queries.sql` has the same names.

-- Reads of every request: the caller, the idempotency record, received answers.

-- name: caller
SELECT a.account_id, k.key_id, a.plan, a.mode, a.certificates, a.partner_optin,
       k.expires_ms, k.per_minute, k.per_day, a.watched,
       k.networks, k.operations, k.client_required, k.administers
FROM api_key AS k JOIN account AS a USING (account_id)
WHERE k.hash = ? AND k.revoked_ms IS NULL AND a.suspended_ms IS NULL;

-- name: earlier
SELECT fingerprint, state, request_id, status, body, fresh_ms, bound_ms, expires_ms
FROM idempotency WHERE account_id = ? AND key_digest = ? AND expires_ms > ?;

-- name: received
SELECT 1 FROM trace
WHERE document_hash = ? AND +account_id = ? AND operation = ? AND coalesce(uf, '') = ? AND NOT ?
      AND code IS NULL
UNION ALL SELECT 1 FROM certificate_trace
WHERE document_hash = ? AND +account_id = ? AND operation = ? AND coalesce(uf, '') = ?
      AND (verdict <> 'none' OR NOT ?) AND code IS NULL
LIMIT 1;

-- State that a batch is decided on. Queries ending in IN get a list of placeholders appended.

-- name: purses
SELECT account_id, plan, balance_credits, held_credits, ceiling_credits, month, month_credits,
       budgets, folded_ms
FROM account WHERE account_id IN

-- name: holds
SELECT o.request_id, o.account_id, e.key_id, o.operation, o.credits, o.client, o.reference,
       o.budgets
FROM open_operation AS o JOIN ledger_entry AS e ON e.request_id = o.request_id
     AND (e.kind IN ('post', 'void')) = 0
WHERE o.request_id IN

-- name: budgets
SELECT b.budget_id, b.account_id, b.number, b.name, b.owner_kind, b.owner, b.period, b.credits_max,
       b.calls_max, b.operations, b.warn_percent, b.created_ms, b.ended_ms,
       u.period, u.spent_credits, u.held_credits, u.calls, u.warned_percent
FROM budget AS b LEFT JOIN budget_use AS u ON u.budget_id = b.budget_id
     AND u.period = CASE b.period WHEN 'uma_vez' THEN ? WHEN 'dia' THEN ? ELSE ? END
WHERE b.account_id = ? AND b.owner_kind = ? AND b.owner = ? AND b.ended_ms IS NULL;

-- name: budgets_of_holds
SELECT b.budget_id, b.account_id, b.number, b.name, b.owner_kind, b.owner, b.period, b.credits_max,
       b.calls_max, b.operations, b.warn_percent, b.created_ms, b.ended_ms,
       u.period, u.spent_credits, u.held_credits, u.calls, u.warned_percent
FROM budget_use AS u JOIN budget AS b ON b.budget_id = u.budget_id
WHERE u.budget_id = ? AND u.period = ?;

-- name: forms
SELECT form_id FROM audit_entry WHERE form_id IN

-- name: bound
SELECT request_id FROM idempotency WHERE account_id = ? AND key_digest = ? AND expires_ms > ?;

-- name: batch_rows
SELECT state, request_id, credits FROM batch_row WHERE batch_id = ? AND line = ?;

-- Changes of a batch, besides its inserts.

-- name: close_operations
DELETE FROM open_operation WHERE request_id = ?;

-- name: unbind
DELETE FROM idempotency WHERE account_id = ? AND key_digest = ? AND request_id = ?;

-- name: finish
UPDATE idempotency SET state = 'finished', status = ?, body = ?, fresh_ms = ?
WHERE account_id = ? AND key_digest = ?;

-- name: touch
UPDATE api_key SET last_used_ms = ? WHERE key_id = ?;

-- name: keep_limits
INSERT OR REPLACE INTO rate_limit VALUES (?, ?);

-- name: move_rows
UPDATE batch_row SET state = ?, request_id = ?, credits = ?, code = ?, settled_ms = ?, answer = ?,
    tries = tries + ? WHERE batch_id = ? AND line = ?;

-- name: count_rows
UPDATE batch_count SET rows = rows + ?, credits = credits + ? WHERE batch_id = ? AND state = ?;

-- name: unfold_totals
DELETE FROM daily_total WHERE account_id = ? AND day >= ?;

-- name: unfold_account
UPDATE account SET folded_ms = ? WHERE account_id = ?;

-- name: heartbeat
INSERT OR REPLACE INTO heartbeat VALUES (1, ?);

-- Recovery after a process that died: of all open operations, since only one process serves.

-- name: void_holds
INSERT INTO ledger_entry (account_id, at_ms, month, kind, balance_change, held_change,
                          request_id, key_id, operation, rule, client, reference, budgets)
SELECT o.account_id, ?, e.month, 'void', 0, -o.credits, o.request_id, e.key_id, o.operation, ?,
       o.client, o.reference, o.budgets
FROM open_operation AS o JOIN ledger_entry AS e ON e.request_id = o.request_id
     AND (e.kind IN ('post', 'void')) = 0
RETURNING entry_id;

-- name: free_budgets
UPDATE budget_use
SET held_credits = budget_use.held_credits - gone.credits, calls = budget_use.calls - gone.calls
FROM (SELECT json_extract(named.value, '$[0]') AS budget_id,
             json_extract(named.value, '$[1]') AS period, sum(o.credits) AS credits,
             count(*) AS calls
      FROM open_operation AS o CROSS JOIN json_each(o.budgets) AS named GROUP BY 1, 2) AS gone
WHERE budget_use.budget_id = gone.budget_id AND budget_use.period = gone.period;

-- name: close_voided
DELETE FROM open_operation;

-- name: mark_died
UPDATE idempotency SET state = 'died' WHERE state = 'running';

-- Expired idempotency records, digests with a record, and the mark of a move.

-- name: purge_answers
DELETE FROM idempotency WHERE rowid IN
    (SELECT rowid FROM idempotency WHERE expires_ms <= ? LIMIT 1000) RETURNING 1;

-- name: named_digests
SELECT DISTINCT digest FROM receipt WHERE digest IN (SELECT value FROM json_each(?));

-- name: has_moved
SELECT 1 FROM sqlite_master WHERE name = 'storage_move';

-- The cache. It is swept in the order of its rows, which needs no index by age.

-- name: read_entries
SELECT body, asked_ms, source FROM entry WHERE key = ?;

-- name: write_entries
INSERT INTO entry (key, asked_ms, source, body) VALUES (?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE
SET asked_ms = excluded.asked_ms, source = excluded.source, body = excluded.body
WHERE excluded.asked_ms >= entry.asked_ms OR entry.asked_ms > ?;

-- name: stretch
SELECT max(rowid), count(*) FROM
    (SELECT rowid FROM entry WHERE rowid > ? ORDER BY rowid LIMIT ?);

-- name: sweep
DELETE FROM entry WHERE rowid > ? AND rowid <= ?
    AND (asked_ms < CASE WHEN key >= ? AND key < ? THEN ? ELSE ? END
        OR asked_ms < ? AND key >= ? AND key < ? AND (instr(body, ?) > 0 OR instr(body, ?) > 0))
RETURNING key;

-- name: entries_about
SELECT key, asked_ms, source FROM entry WHERE key >= ? AND key < ?
UNION ALL
SELECT key, asked_ms, source FROM entry WHERE key >= ? AND key < ?
    AND (instr(body, ?) > 0 OR instr(body, ?) > 0)
ORDER BY key;

-- name: erase_entries
DELETE FROM entry WHERE key = ?;

-- Free pages within the file: deleting rows does not shrink it.

-- name: reusable_bytes
SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size;

-- The registry data that items show: a JSON list of [item_id, registry, record_ms]; not of items
-- that had an own lookup since.
-- name: set_registry
UPDATE wallet_item SET registry = j.registry
FROM (SELECT json_extract(value, '$[0]') AS item_id, json_extract(value, '$[1]') AS registry,
             json_extract(value, '$[2]') AS record_ms
      FROM json_each(?)) AS j
WHERE wallet_item.item_id = j.item_id AND wallet_item.ended_ms IS NULL
      AND coalesce(wallet_item.record_ms, 0) = j.record_ms;

-- The greatest number that an event was ever given, also if the event is gone.
-- name: last_event_number
SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'event';
