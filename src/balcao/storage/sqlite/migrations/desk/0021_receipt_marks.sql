-- Marks that this desk shares with the store of its receipts (docs/decisions/0074): a desk that does not
-- know the mark in the store was restored to an older point, or the store is another installation's.

CREATE TABLE receipt_mark (
    mark         TEXT    NOT NULL PRIMARY KEY,
    installation TEXT    NOT NULL,
    at_ms        INTEGER NOT NULL
) STRICT;

-- The least number to be issued next in a table whose numbers are counted from its greatest one: numbers
-- that were lost in a restore are not issued again.
CREATE TABLE number_floor (
    numbered TEXT    NOT NULL PRIMARY KEY,
    least    INTEGER NOT NULL
) STRICT;
