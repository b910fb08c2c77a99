-- How well sources have served, for the status page (docs/decisions/0058): what was asked of each in each
-- minute, hour and civil day, and the failures that incidents are made of. Nothing of who asked.

CREATE TABLE availability_count (
    mode        text   COLLATE "C" NOT NULL CHECK (mode IN ('live', 'test')),
    span        text   COLLATE "C" NOT NULL CHECK (span IN ('minute', 'hour', 'day')),
    begins_ms   bigint NOT NULL,
    subject     text   COLLATE "C" NOT NULL,
    uf          text   COLLATE "C" NOT NULL,  -- empty: none; BR: all in one call
    source      text   COLLATE "C" NOT NULL,
    asked       bigint NOT NULL CHECK (asked >= 0),
    answered    bigint NOT NULL CHECK (answered BETWEEN 0 AND asked),
    turned_away bigint NOT NULL CHECK (turned_away >= 0),  -- who was kept from asking
    PRIMARY KEY (mode, span, begins_ms, subject, uf, source)
);

-- Failures of a subject (and UF) that follow one another; under way as long as there is no end.
CREATE TABLE availability_episode (
    mode      text   COLLATE "C" NOT NULL CHECK (mode IN ('live', 'test')),
    subject   text   COLLATE "C" NOT NULL,
    uf        text   COLLATE "C" NOT NULL,
    began_ms  bigint NOT NULL,
    failed_ms bigint NOT NULL,  -- the last minute with failures
    well_ms   bigint NULL,      -- the first one after it in which it answered
    wanted    bigint NOT NULL,
    answered  bigint NOT NULL,
    ended_ms  bigint NULL,
    PRIMARY KEY (mode, subject, uf, began_ms)
);

-- Up to which minute episodes are made.
CREATE TABLE availability_mark (
    mode        text   COLLATE "C" NOT NULL PRIMARY KEY CHECK (mode IN ('live', 'test')),
    followed_ms bigint NOT NULL
);
