-- A charge for an answer that was at hand and what is remembered of its request, in one row: most of
-- what is ever written (docs/decisions/0038). Numbers of requests grow with time: by month, as the
-- ledger and the traces, and there is no other index to keep.
--
-- When its details have been kept long enough a visit is deleted, and becomes an entry of the ledger
-- in that very statement: what was charged stays for ever, who asked for what does not.

-- As it was, with walls for partitions of visits too: statements that name one of them would leave the
-- balance as it is, or the charge behind.
CREATE OR REPLACE FUNCTION make_partition(parent text, name text, bounds text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name, parent);
    IF parent = 'ledger_entry' THEN
        EXECUTE format('CREATE TRIGGER ledger_entry_never_changes BEFORE UPDATE ON %I
            FOR EACH STATEMENT EXECUTE FUNCTION never(%L)',
            name, 'a ledger entry never changes; append another one');
        EXECUTE format('CREATE TRIGGER ledger_entry_never_goes BEFORE DELETE OR TRUNCATE ON %I
            FOR EACH STATEMENT EXECUTE FUNCTION never(%L)',
            name, 'a ledger entry never goes away; append another one');
        EXECUTE format('CREATE TRIGGER ledger_entry_comes_by_the_ledger BEFORE INSERT ON %I
            FOR EACH STATEMENT EXECUTE FUNCTION never(%L)',
            name, 'an entry is appended to ledger_entry, which finds its partition');
    ELSIF parent = 'visit' THEN
        EXECUTE format('CREATE TRIGGER visit_comes_and_goes_by_its_table
            BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %I
            FOR EACH STATEMENT EXECUTE FUNCTION never(%L)',
            name, 'a visit comes and goes by the table visit, which finds its partition');
    END IF;
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I %s', parent, name, bounds);
END $$;

CREATE TABLE visit (
    account_id bigint   NOT NULL REFERENCES account,
    request_id text     COLLATE "C" NOT NULL,
    opened_ms  bigint   NOT NULL,  -- when it was charged, too
    month      text     COLLATE "C" NOT NULL,  -- YYYY-MM in Brasília, for the ceiling
    key_id     bigint   NULL,
    user_id    bigint   NULL,
    operation  text     COLLATE "C" NOT NULL,
    document   text     COLLATE "C" NOT NULL,  -- a CNPJ: who asks about a person leaves a trace apart
    uf         text     COLLATE "C" NULL,
    strategy   text     COLLATE "C" NOT NULL,
    refresh    smallint NOT NULL CHECK (refresh IN (0, 1)),
    key_digest text     COLLATE "C" NULL,
    status     bigint   NOT NULL,
    code       text     COLLATE "C" NULL,
    origin     text     COLLATE "C" NOT NULL CHECK (origin IN ('cache', 'online')),
    source     text     COLLATE "C" NULL,
    asked_ms   bigint   NULL,
    credits    bigint   NOT NULL CHECK (credits > 0),
    rule       text     COLLATE "C" NOT NULL,
    settled_ms bigint   NOT NULL,

    -- The number says within an hour when it was charged: so a period is a range of the key, and
    -- nothing of it can lie elsewhere. What is not so is an entry and a trace.
    CONSTRAINT visit_is_numbered_by_its_time CHECK (
        request_id >= lpad(to_hex((opened_ms - 3600000) >> 16), 8, '0') || '-'
            || lpad(to_hex((opened_ms - 3600000) & 65535), 4, '0')
        AND request_id < lpad(to_hex((opened_ms + 3600000) >> 16), 8, '0') || '-'
            || lpad(to_hex((opened_ms + 3600000) & 65535), 4, '0')
    ),
    PRIMARY KEY (account_id, request_id)
) PARTITION BY RANGE (request_id);

CREATE TRIGGER visit_never_changes BEFORE UPDATE ON visit
FOR EACH STATEMENT EXECUTE FUNCTION never('a visit never changes; it becomes an entry when it is deleted');

CREATE TRIGGER visit_never_goes BEFORE TRUNCATE ON visit
FOR EACH STATEMENT EXECUTE FUNCTION never('a visit is deleted; then it becomes an entry');

-- Once per statement, however many there are: as the ledger's entries do. One opening per request, in
-- whichever table: no operation is charged twice. Asked for a value, so that it is a probe for each.
CREATE FUNCTION visits_move_the_balance() RETURNS trigger LANGUAGE plpgsql AS $$
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
    RETURN NULL;
END $$;

CREATE TRIGGER visits_move_the_balance AFTER INSERT ON visit
REFERENCING NEW TABLE AS appended
FOR EACH STATEMENT EXECUTE FUNCTION visits_move_the_balance();

CREATE FUNCTION ledger_entry_opens_its_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM appended AS entry WHERE entry.kind IN ('charge', 'hold') AND 1 = (
            SELECT 1 FROM visit AS v
            WHERE v.account_id = entry.account_id AND v.request_id = entry.request_id LIMIT 1
        )
    ) THEN
        RAISE EXCEPTION 'the request has a visit' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER ledger_entry_opens_its_request AFTER INSERT ON ledger_entry
REFERENCING NEW TABLE AS appended
FOR EACH STATEMENT EXECUTE FUNCTION ledger_entry_opens_its_request();

-- The entries move the balance as all do; so the visits give back first what they moved.
CREATE FUNCTION visits_become_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    WITH moved AS (
        SELECT account_id, sum(credits)::bigint AS spent FROM gone GROUP BY account_id
    )
    UPDATE account SET balance_credits = balance_credits + moved.spent,
        month_credits = month_credits - moved.spent
    FROM moved WHERE account.account_id = moved.account_id;
    INSERT INTO ledger_entry (
        account_id, at_ms, month, kind, balance_change, held_change, request_id, key_id, operation,
        rule, origin
    )
    SELECT account_id, opened_ms, month, 'charge', -credits, 0, request_id, key_id, operation, rule,
           origin
    FROM gone ORDER BY account_id, request_id;
    RETURN NULL;
END $$;

CREATE TRIGGER visits_become_entries AFTER DELETE ON visit
REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION visits_become_entries();

SELECT make_partition('visit', 'visit_rest', 'DEFAULT');
