-- Batches of lookups: the batch, the file it came as, its rows and what came of them, and how many
-- rows are in which state (docs/decisions/0044). What the file and the answers say is sealed: a copy
-- of this database without the installation's secret tells nobody's documents.

CREATE TABLE batch (
    batch_id    TEXT    NOT NULL PRIMARY KEY,  -- a UUID of version 7
    account_id  INTEGER NOT NULL REFERENCES account (account_id),
    key_id      INTEGER NULL,  -- whose limits hold for its rows; null: in the web application
    user_id     INTEGER NULL,  -- who made it there
    name        TEXT    NOT NULL,
    client      TEXT    NULL,  -- for all rows that do not name their own
    operation   TEXT    NOT NULL,
    parameters  TEXT    NOT NULL,  -- for all rows, as a query
    columns     TEXT    NOT NULL,  -- which column is what, where somebody chose: JSON
    media_type  TEXT    NOT NULL,
    repeats     TEXT    NULL,  -- the batch whose failed rows it asks again, instead of a file
    create_key  TEXT    NULL,  -- of the request that made it, and what it was
    create_fingerprint TEXT NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN (
        'recebido', 'validando', 'cotado', 'executando', 'pausado', 'concluido', 'encerrando',
        'encerrado', 'expirado', 'recusado')),
    reason      TEXT    NULL CHECK (reason IN (
        'teto', 'saldo', 'usuario', 'fonte', 'limite_da_chave')),
    code        TEXT    NULL,  -- of what refused the file, or made it pause
    message     TEXT    NULL,  -- what is wrong with the file
    told        TEXT    NULL,  -- how the file was understood: JSON
    header      BLOB    NULL,  -- of the file; sealed
    digest      TEXT    NULL,  -- of the quote, and what it says
    least       INTEGER NULL,
    greatest    INTEGER NULL,
    valid       INTEGER NULL,
    at_hand     INTEGER NULL,
    quoted_ms   INTEGER NULL,
    until_ms    INTEGER NULL,
    ceiling     INTEGER NULL CHECK (ceiling >= 0),
    created_ms  INTEGER NOT NULL,
    confirmed_ms INTEGER NULL,
    ended_ms    INTEGER NULL,
    erased_ms   INTEGER NULL,

    CONSTRAINT a_pause_has_a_reason CHECK ((state = 'pausado') = (reason IS NOT NULL)),
    UNIQUE (account_id, create_key)
) STRICT;

CREATE INDEX batch_of_account ON batch (account_id, batch_id);
CREATE INDEX batch_with_data ON batch (created_ms) WHERE erased_ms IS NULL;

-- What is over stays over.
CREATE TRIGGER batch_ends_once BEFORE UPDATE OF state ON batch
WHEN OLD.state IN ('concluido', 'encerrado', 'expirado', 'recusado') AND NEW.state <> OLD.state
BEGIN SELECT RAISE(ABORT, 'the batch is over'); END;

-- The file as it came, until its rows are stored.
CREATE TABLE batch_piece (
    batch_id   TEXT    NOT NULL,
    piece      INTEGER NOT NULL,
    stored_ms  INTEGER NOT NULL,
    content    BLOB    NOT NULL,  -- sealed
    PRIMARY KEY (batch_id, piece)
) STRICT;

CREATE TABLE batch_row (
    batch_id    TEXT    NOT NULL REFERENCES batch (batch_id),
    line        INTEGER NOT NULL,  -- in the file
    state       TEXT    NOT NULL CHECK (state IN (
        'invalida', 'repetida', 'pendente', 'em_andamento', 'concluida', 'falha', 'recusada',
        'cancelada')),
    ref         TEXT    NULL,  -- the client's own
    client      TEXT    NULL,
    document    TEXT    NULL,  -- a CNPJ, or a masked CPF
    document_hash BLOB  NULL,  -- of a CPF
    same        BLOB    NULL,  -- what is asked: a keyed digest
    repeated_of INTEGER NULL CHECK ((repeated_of IS NOT NULL) = (state = 'repetida')),
    least       INTEGER NOT NULL,  -- credits it would cost, as the quote was made
    greatest    INTEGER NOT NULL,
    at_hand     INTEGER NOT NULL CHECK (at_hand IN (0, 1)),
    request_id  TEXT    NULL,
    credits     INTEGER NOT NULL,  -- held for it, or charged
    code        TEXT    NULL,
    settled_ms  INTEGER NULL,
    tries       INTEGER NOT NULL,
    cells       BLOB    NULL,  -- of the file; sealed
    answer      BLOB    NULL,  -- sealed

    CONSTRAINT only_what_was_asked_costs CHECK (
        credits = 0 OR (credits > 0 AND state IN ('em_andamento', 'concluida'))
    ),
    CONSTRAINT who_has_a_row_is_known CHECK (state <> 'em_andamento' OR request_id IS NOT NULL),
    PRIMARY KEY (batch_id, line)
) STRICT;

CREATE INDEX batch_row_by_state ON batch_row (batch_id, state, line);
CREATE INDEX batch_row_of_person ON batch_row (document_hash) WHERE document_hash IS NOT NULL;

-- A row that was charged stays charged, whoever thinks otherwise.
CREATE TRIGGER batch_row_ends_once BEFORE UPDATE OF state, credits ON batch_row
WHEN OLD.state IN ('concluida', 'falha', 'recusada', 'cancelada')
    AND (NEW.state <> OLD.state OR NEW.credits <> OLD.credits)
BEGIN SELECT RAISE(ABORT, 'the row is over'); END;

CREATE TABLE batch_count (
    batch_id TEXT    NOT NULL REFERENCES batch (batch_id),
    state    TEXT    NOT NULL,
    rows     INTEGER NOT NULL CHECK (rows >= 0),
    credits  INTEGER NOT NULL CHECK (credits >= 0),
    PRIMARY KEY (batch_id, state)
) STRICT, WITHOUT ROWID;
