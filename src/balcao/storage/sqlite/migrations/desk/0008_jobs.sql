-- What a commit left to be done: born in it, done by whoever serves, as often as it takes
-- (docs/decisions/0035).

CREATE TABLE job (
    job_id     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind       TEXT    NOT NULL,
    about      TEXT    NOT NULL,  -- what it is done to: an identifier or a digest, never a document
    state      TEXT    NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'failed')),
    due_ms     INTEGER NOT NULL,  -- from when on somebody may take it; of a running one, its lease's end
    attempts   INTEGER NOT NULL,  -- that were begun since it was asked for
    causes     INTEGER NOT NULL,  -- how often it was asked for while it was open
    owner      TEXT    NULL CHECK ((owner IS NULL) = (state <> 'running')),
    error      TEXT    NULL,      -- the class of what went wrong last
    changed_ms INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX job_open ON job (kind, about) WHERE state <> 'done';
CREATE INDEX job_due ON job (kind, due_ms) WHERE state IN ('waiting', 'running');
CREATE INDEX job_closed ON job (changed_ms) WHERE state IN ('done', 'failed');
