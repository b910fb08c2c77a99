-- Answers of online sources, by subject, document and UF. Nothing about who asked.

CREATE TABLE entry (
    mode     text   COLLATE "C" NOT NULL CHECK (mode IN ('live', 'test')),
    key      text   COLLATE "C" NOT NULL,
    asked_ms bigint NOT NULL,
    source   text   COLLATE "C" NOT NULL,
    body     bytea  NOT NULL,
    PRIMARY KEY (mode, key)
);
