-- What operators need besides: a seat in an account, under the same identity (docs/decisions/0018), and
-- the acts by which the validity of certificates was extended (docs/decisions/0051).
--
-- A node of the release before knows no seat: in it an operator stays one, whatever they wear.

CREATE TABLE seat (
    seat_id    INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,  -- a session that wore it wears no other by its number
    user_id    INTEGER NOT NULL REFERENCES person (user_id),
    account_id INTEGER NOT NULL REFERENCES account (account_id),
    role       TEXT    NOT NULL CHECK (role IN ('consultant', 'manager')),
    given_ms   INTEGER NOT NULL,
    UNIQUE (user_id, account_id)
) STRICT;

CREATE INDEX seat_of_account ON seat (account_id);

CREATE TRIGGER seat_is_of_an_operator BEFORE INSERT ON seat
WHEN (SELECT role FROM person WHERE user_id = NEW.user_id) <> 'operator'
BEGIN SELECT RAISE(ABORT, 'only operators hold seats; others belong to one account'); END;

CREATE TRIGGER seat_keeps_its_place BEFORE UPDATE OF user_id, account_id ON seat
BEGIN SELECT RAISE(ABORT, 'a seat is of one person in one account for ever; give another one'); END;

-- Which of their seats a browser's person wears; NULL: none, they are who they are.
ALTER TABLE web_session ADD COLUMN seat_id INTEGER NULL REFERENCES seat (seat_id) ON DELETE SET NULL;
-- In words, as its owner would call it: "Firefox em Linux".
ALTER TABLE web_session ADD COLUMN browser TEXT NULL;

CREATE TABLE certificate_extension (
    extension_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    subject      TEXT    NOT NULL,
    uf           TEXT    NULL,
    issued_from  TEXT    NOT NULL,  -- days, YYYY-MM-DD, both included
    issued_to    TEXT    NOT NULL CHECK (issued_to >= issued_from),
    until_day    TEXT    NULL,      -- valid until then,
    days         INTEGER NULL CHECK (days > 0),  -- or for so many days more
    act          TEXT    NOT NULL,
    added_ms     INTEGER NOT NULL,
    CHECK ((until_day IS NULL) <> (days IS NULL))
) STRICT;

CREATE TRIGGER certificate_extension_never_changes BEFORE UPDATE ON certificate_extension
BEGIN SELECT RAISE(ABORT, 'an act says what it says; remove it and add another one'); END;
