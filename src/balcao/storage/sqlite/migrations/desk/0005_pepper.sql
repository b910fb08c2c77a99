-- What the keys' pepper makes of a fixed text: with another `secret.key` no key would be known.
CREATE TABLE pepper (
    only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
    mark     BLOB    NOT NULL
) STRICT;
