-- Answers of online sources, by subject, document and UF. Nothing about who asked.

CREATE TABLE entry (
    key      TEXT    NOT NULL PRIMARY KEY,
    asked_ms INTEGER NOT NULL,
    source   TEXT    NOT NULL,
    body     BLOB    NOT NULL
) STRICT;
