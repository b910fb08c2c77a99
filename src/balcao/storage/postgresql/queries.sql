-- Statements that differ between the engines. `sqlite/queries.sql` has the same names.
-- Parameters are arrays, one for each column: one statement for any number of rows (`rows.py`).

-- Reads of every request: the caller, the idempotency record, received answers.

-- name: caller
SELECT k.hash, a.account_id, k.key_id, a.plan, a.mode, a.certificates, a.partner_optin,
       k.expires_ms, k.per_minute, k.per_day, a.watched,
       k.networks, k.operations, k.client_required, k.administers
FROM unnest(%s::bytea[]) AS wanted (hash) JOIN api_key AS k USING (hash)
     JOIN account AS a USING (account_id)
WHERE k.revoked_ms IS NULL AND a.suspended_ms IS NULL;

-- name: earlier
SELECT account_id, key_digest, now_ms,
       fingerprint, state, request_id, status, body, fresh_ms, bound_ms, expires_ms
FROM unnest(%s::bigint[], %s::text[], %s::bigint[]) AS wanted (account_id, key_digest, now_ms)
     JOIN idempotency USING (account_id, key_digest)
WHERE expires_ms > now_ms;

-- name: received
SELECT account_id, operation, uf, document_hash, certificate
FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::bytea[], %s::smallint[])
     AS wanted (account_id, operation, uf, document_hash, certificate)
WHERE EXISTS (
    SELECT 1 FROM trace AS t
    WHERE t.document_hash = wanted.document_hash AND t.account_id = wanted.account_id
      AND t.operation = wanted.operation AND coalesce(t.uf, '') = wanted.uf AND t.code IS NULL
      AND wanted.certificate = 0
) OR EXISTS (
    SELECT 1 FROM certificate_trace AS t
    WHERE t.document_hash = wanted.document_hash AND t.account_id = wanted.account_id
      AND t.operation = wanted.operation AND coalesce(t.uf, '') = wanted.uf AND t.code IS NULL
      AND (t.verdict <> 'none' OR wanted.certificate = 0)
);

-- State that a batch is decided on.

-- name: purses
SELECT found.* FROM unnest(%s::bigint[]) AS wanted (account_id), LATERAL
    (SELECT account_id, plan, balance_credits, held_credits, ceiling_credits, month, month_credits,
       budgets, folded_ms
     FROM account AS a WHERE a.account_id = wanted.account_id
     LIMIT 1 FOR NO KEY UPDATE) AS found;

-- The entry that opened an operation. The limit prevents a join: it costs one probe of one
-- partition for each operation, whatever the planner estimates.
-- name: holds
SELECT o.request_id, o.account_id, e.key_id, o.operation, o.credits, o.client, o.reference,
       o.budgets
FROM open_operation AS o CROSS JOIN LATERAL
    (SELECT key_id, month FROM ledger_entry WHERE request_id = o.request_id
     AND (kind IN ('post', 'void')) = false LIMIT 1) AS e
WHERE o.request_id = ANY(%s::text[]);

-- name: budgets
SELECT b.budget_id, b.account_id, b.number, b.name, b.owner_kind, b.owner, b.period, b.credits_max,
       b.calls_max, b.operations, b.warn_percent, b.created_ms, b.ended_ms,
       u.period, u.spent_credits, u.held_credits, u.calls, u.warned_percent
FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS wanted (account_id, owner_kind, owner)
     JOIN budget AS b USING (account_id, owner_kind, owner)
     LEFT JOIN budget_use AS u ON u.budget_id = b.budget_id AND u.period = ANY(%s::text[])
WHERE b.ended_ms IS NULL;

-- name: budgets_of_holds
SELECT b.budget_id, b.account_id, b.number, b.name, b.owner_kind, b.owner, b.period, b.credits_max,
       b.calls_max, b.operations, b.warn_percent, b.created_ms, b.ended_ms,
       u.period, u.spent_credits, u.held_credits, u.calls, u.warned_percent
FROM open_operation AS o CROSS JOIN LATERAL json_array_elements(o.budgets::json) AS named (pair)
     JOIN budget AS b ON b.budget_id = (named.pair ->> 0)::bigint
     JOIN budget_use AS u ON u.budget_id = b.budget_id AND u.period = named.pair ->> 1
WHERE o.request_id = ANY(%s::text[]) AND o.budgets IS NOT NULL;

-- name: forms
SELECT form_id FROM audit_entry WHERE form_id = ANY(%s::text[]);

-- name: bound
SELECT i.account_id, i.key_digest, i.request_id FROM idempotency AS i
JOIN unnest(%s::bigint[], %s::text[], %s::bigint[]) AS wanted (account_id, key_digest, at_ms)
     ON i.account_id = wanted.account_id AND i.key_digest = wanted.key_digest
     AND i.expires_ms > wanted.at_ms;

-- name: batch_rows
SELECT found.* FROM unnest(%s::text[], %s::bigint[]) AS wanted (batch_id, line), LATERAL
    (SELECT r.batch_id, r.line, state, request_id, credits FROM batch_row AS r
     WHERE r.batch_id = wanted.batch_id AND r.line = wanted.line LIMIT 1) AS found;

-- Changes of a batch, besides its inserts.

-- name: close_operations
DELETE FROM open_operation WHERE request_id = ANY(%s::text[]);

-- name: unbind
DELETE FROM idempotency AS i
USING unnest(%s::bigint[], %s::text[], %s::text[]) AS gone (account_id, key_digest, request_id)
WHERE i.account_id = gone.account_id AND i.key_digest = gone.key_digest
    AND i.request_id = gone.request_id;

-- name: finish
UPDATE idempotency AS i
SET state = 'finished', status = done.status, body = done.body, fresh_ms = done.fresh_ms
FROM unnest(%s::bigint[], %s::bytea[], %s::bigint[], %s::bigint[], %s::text[])
     AS done (status, body, fresh_ms, account_id, key_digest)
WHERE i.account_id = done.account_id AND i.key_digest = done.key_digest;

-- name: touch
UPDATE api_key AS k SET last_used_ms = used.at_ms
FROM unnest(%s::bigint[], %s::bigint[]) AS used (key_id, at_ms) WHERE k.key_id = used.key_id;

-- name: keep_limits
UPDATE rate_limit AS r SET empty_at_ms = counted.empty_at_ms
FROM unnest(%s::text[], %s::double precision[]) AS counted (bucket, empty_at_ms)
WHERE r.bucket = counted.bucket;

-- name: move_rows
UPDATE batch_row AS r
SET state = moved.state, request_id = moved.request_id, credits = moved.credits,
    code = moved.code, settled_ms = moved.settled_ms, answer = moved.answer,
    tries = r.tries + moved.tries
FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::text[], %s::bigint[], %s::bytea[],
            %s::bigint[], %s::text[], %s::bigint[])
     AS moved (state, request_id, credits, code, settled_ms, answer, tries, batch_id, line)
WHERE r.batch_id = moved.batch_id AND r.line = moved.line;

-- name: count_rows
UPDATE batch_count AS c SET rows = c.rows + moved.rows, credits = c.credits + moved.credits
FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[])
     AS moved (rows, credits, batch_id, state)
WHERE c.batch_id = moved.batch_id AND c.state = moved.state;

-- name: unfold_totals
DELETE FROM daily_total WHERE account_id = %s AND day >= %s;

-- name: unfold_account
UPDATE account SET folded_ms = %s WHERE account_id = %s;

-- name: heartbeat
INSERT INTO heartbeat VALUES (1, %s)
ON CONFLICT (only_row) DO UPDATE SET at_ms = excluded.at_ms;

-- Recovery after nodes that died: of open operations with their numbers.

-- name: void_holds
INSERT INTO ledger_entry (account_id, at_ms, month, kind, balance_change, held_change,
                          request_id, key_id, operation, rule, client, reference, budgets)
SELECT o.account_id, %s, e.month, 'void', 0, -o.credits, o.request_id, e.key_id, o.operation, %s,
       o.client, o.reference, o.budgets
FROM open_operation AS o CROSS JOIN LATERAL
    (SELECT key_id, month FROM ledger_entry WHERE request_id = o.request_id
     AND (kind IN ('post', 'void')) = false LIMIT 1) AS e
WHERE o.node_id = ANY(%s::bigint[]);

-- name: free_budgets
UPDATE budget_use AS u
SET held_credits = u.held_credits - gone.credits, calls = u.calls - gone.calls
FROM (SELECT (named.pair ->> 0)::bigint AS budget_id, named.pair ->> 1 AS period,
             sum(o.credits)::bigint AS credits, count(*) AS calls
      FROM open_operation AS o CROSS JOIN LATERAL json_array_elements(o.budgets::json)
           AS named (pair)
      WHERE o.node_id = ANY(%s::bigint[]) AND o.budgets IS NOT NULL GROUP BY 1, 2) AS gone
WHERE u.budget_id = gone.budget_id AND u.period = gone.period;

-- name: close_voided
DELETE FROM open_operation WHERE node_id = ANY(%s::bigint[]);

-- name: mark_died
UPDATE idempotency SET state = 'died' WHERE state = 'running' AND node_id = ANY(%s::bigint[]);

-- Expired idempotency records, digests with a record, and the mark of a move.

-- name: purge_answers
DELETE FROM idempotency WHERE (account_id, key_digest) IN
    (SELECT account_id, key_digest FROM idempotency WHERE expires_ms <= %s LIMIT 1000
     FOR UPDATE SKIP LOCKED);

-- name: named_digests
SELECT DISTINCT digest FROM receipt
WHERE digest = ANY(ARRAY(SELECT json_array_elements_text(%s::json)));

-- name: has_moved
SELECT to_regclass('storage_move');

-- The cache of one mode. Changes of entries are announced to all nodes by NOTIFY.

-- name: read_entries
SELECT found.* FROM unnest(%s::text[]) AS wanted (key), LATERAL
    (SELECT e.key, body, asked_ms, source FROM entry AS e
     WHERE mode = %s AND e.key = wanted.key LIMIT 1) AS found;

-- name: write_entries
WITH written AS (
    INSERT INTO entry (mode, key, asked_ms, source, body)
    SELECT %s, new.*
    FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::bytea[])
         AS new (key, asked_ms, source, body)
    ORDER BY key
    ON CONFLICT (mode, key) DO UPDATE
    SET asked_ms = excluded.asked_ms, source = excluded.source, body = excluded.body
    WHERE excluded.asked_ms >= entry.asked_ms OR entry.asked_ms > %s::bigint
    RETURNING key
)
SELECT pg_notify(%s, key) FROM written;

-- name: stretch
SELECT max(key), count(*) FROM
    (SELECT key FROM entry WHERE mode = %s AND key > %s ORDER BY key LIMIT %s) AS stretch;

-- name: sweep
WITH gone AS (
    DELETE FROM entry WHERE mode = %s AND key > %s AND key <= %s
        AND (asked_ms < CASE WHEN key >= %s AND key < %s THEN %s::bigint ELSE %s::bigint END
            OR asked_ms < %s AND key >= %s AND key < %s
            AND (position(%s in body) > 0 OR position(%s in body) > 0))
    RETURNING key
)
SELECT key, pg_notify(%s, key) FROM gone;

-- name: entries_about
SELECT key, asked_ms, source FROM entry WHERE mode = %s AND (key >= %s AND key < %s
    OR key >= %s AND key < %s AND (position(%s in body) > 0 OR position(%s in body) > 0))
ORDER BY key;

-- name: erase_entries
WITH gone AS (DELETE FROM entry WHERE mode = %s AND key = ANY(%s::text[]) RETURNING key)
SELECT pg_notify(%s, key) FROM gone;

-- Unknown: the server's files are not accessible.

-- name: reusable_bytes
SELECT 0;

-- The registry data that items show: a JSON list of [item_id, registry, record_ms]; not of items
-- that had an own lookup since.
-- name: set_registry
UPDATE wallet_item SET registry = j.registry
FROM (SELECT value ->> 0 AS item_id, value ->> 1 AS registry,
             CAST(value ->> 2 AS bigint) AS record_ms
      FROM json_array_elements(CAST(? AS json))) AS j
WHERE wallet_item.item_id = j.item_id AND wallet_item.ended_ms IS NULL
      AND coalesce(wallet_item.record_ms, 0) = j.record_ms;

-- The greatest number that an event was ever given, also if the event is gone.
-- name: last_event_number
SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('event', 'event_id')), 0);
