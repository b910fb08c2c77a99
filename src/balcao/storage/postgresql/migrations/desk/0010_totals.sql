-- What each account was charged, day by day: kept beside the ledger so that no page adds it up again
-- (docs/decisions/0050). A job folds charges in, in the order of time; `folded_ms` says how far it got.
-- What is younger is added up from the ledger by who reads, in the same moment.

-- All charges before this instant are in `daily_total`; a charge that comes later than that for an earlier
-- instant sets it back, in its own commit.
ALTER TABLE account ADD COLUMN IF NOT EXISTS folded_ms bigint NOT NULL DEFAULT 0;

-- Each charge counts once in each part: in all, by UF, by client, and by UF or client alone, without
-- operation, key, person and rule. UF and client at once would be nearly as many rows as charges.
CREATE TABLE daily_total (
    account_id bigint NOT NULL REFERENCES account,
    part       text   COLLATE "C" NOT NULL CHECK (part IN ('all', 'uf', 'client', 'uf_alone', 'client_alone')),
    day        text   COLLATE "C" NOT NULL,  -- YYYY-MM-DD in Brasília
    operation  text   COLLATE "C" NOT NULL,
    key_id     bigint NOT NULL,  -- 0: asked in the web application
    user_id    bigint NOT NULL,  -- 0: through a key, or the request's details are gone
    origin     text   COLLATE "C" NOT NULL,
    rule       text   COLLATE "C" NOT NULL,
    value      text   COLLATE "C" NOT NULL,  -- the UF or the client; empty: none
    requests   bigint NOT NULL CHECK (requests > 0),
    credits    bigint NOT NULL CHECK (credits > 0),
    PRIMARY KEY (account_id, part, day, value, operation, key_id, user_id, origin, rule)
);

-- Who asked and for which UF goes with the requests' details: these are the days that still tell it.
CREATE INDEX daily_total_detailed ON daily_total (day)
    WHERE user_id > 0 OR (part IN ('uf', 'uf_alone') AND value <> '');

-- What operators gave is listed without a look at what was charged.
CREATE INDEX ledger_entry_top_up ON ledger_entry (account_id, at_ms) WHERE kind = 'top_up';

-- What a month that is over comes to, in one number (decisions 15.5): kept so that it is made once. It
-- counts as long as the month has as many entries.
CREATE TABLE month_seal (
    account_id bigint  NOT NULL REFERENCES account,
    month      text   COLLATE "C" NOT NULL,  -- YYYY-MM in Brasília
    entries    bigint  NOT NULL,
    digest     text   COLLATE "C" NOT NULL,
    PRIMARY KEY (account_id, month)
);

-- A file that somebody asked for and that takes long to write: one of each person, for some days. Made
-- by a job; its content lies here, so that any node gives it.
CREATE TABLE export (
    export_id  text   COLLATE "C" NOT NULL PRIMARY KEY,
    account_id bigint NOT NULL REFERENCES account,
    user_id    bigint NOT NULL,
    form       text   COLLATE "C" NOT NULL CHECK (form IN ('csv', 'xlsx')),
    name       text   COLLATE "C" NOT NULL,  -- what it is, of which days; of nobody
    wanted     text   COLLATE "C" NOT NULL,  -- JSON: which requests; no CPF
    rows       bigint NOT NULL,  -- written so far
    size_bytes bigint NULL,      -- NULL: it is not ready
    attempt    text   COLLATE "C" NULL,      -- whose pieces are the content
    created_ms bigint NOT NULL,
    UNIQUE (account_id, user_id)
);

CREATE TABLE export_piece (
    export_id text   COLLATE "C" NOT NULL,
    attempt   text   COLLATE "C" NOT NULL,  -- of the job: what one that died has written is not the content
    number    bigint NOT NULL,
    content   bytea  NOT NULL,
    PRIMARY KEY (export_id, attempt, number)
);
