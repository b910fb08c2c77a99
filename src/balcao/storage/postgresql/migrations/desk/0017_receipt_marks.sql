-- Marks that this desk shares with the store of its receipts (docs/decisions/0074): a desk that does not
-- know the mark in the store was restored to an older point, or the store is another installation's.

CREATE TABLE IF NOT EXISTS receipt_mark (
    mark         text   COLLATE "C" NOT NULL PRIMARY KEY,
    installation text   COLLATE "C" NOT NULL,
    at_ms        bigint NOT NULL
);

-- The least number to be issued next, as SQLite's desk needs it; here sequences are moved instead.
CREATE TABLE IF NOT EXISTS number_floor (
    numbered text   COLLATE "C" NOT NULL PRIMARY KEY,
    least    bigint NOT NULL
);
