-- How well sources have served, for the status page (docs/decisions/0058): what was asked of each in each
-- minute, hour and civil day, and the failures that incidents are made of. Nothing of who asked.

CREATE TABLE availability_count (
    mode        TEXT    NOT NULL CHECK (mode IN ('live', 'test')),
    span        TEXT    NOT NULL CHECK (span IN ('minute', 'hour', 'day')),
    begins_ms   INTEGER NOT NULL,
    subject     TEXT    NOT NULL,
    uf          TEXT    NOT NULL,  -- empty: none; BR: all in one call
    source      TEXT    NOT NULL,
    asked       INTEGER NOT NULL CHECK (asked >= 0),
    answered    INTEGER NOT NULL CHECK (answered BETWEEN 0 AND asked),
    turned_away INTEGER NOT NULL CHECK (turned_away >= 0),  -- who was kept from asking
    PRIMARY KEY (mode, span, begins_ms, subject, uf, source)
) STRICT, WITHOUT ROWID;

-- Failures of a subject (and UF) that follow one another; under way as long as there is no end.
CREATE TABLE availability_episode (
    mode      TEXT    NOT NULL CHECK (mode IN ('live', 'test')),
    subject   TEXT    NOT NULL,
    uf        TEXT    NOT NULL,
    began_ms  INTEGER NOT NULL,
    failed_ms INTEGER NOT NULL,  -- the last minute with failures
    well_ms   INTEGER NULL,      -- the first one after it in which it answered
    wanted    INTEGER NOT NULL,
    answered  INTEGER NOT NULL,
    ended_ms  INTEGER NULL,
    PRIMARY KEY (mode, subject, uf, began_ms)
) STRICT, WITHOUT ROWID;

-- Up to which minute episodes are made.
CREATE TABLE availability_mark (
    mode        TEXT    NOT NULL PRIMARY KEY CHECK (mode IN ('live', 'test')),
    followed_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
