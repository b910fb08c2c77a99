-- Batches of lookups: the batch, the file it came as, its rows and what came of them, and how many
-- rows are in which state (docs/decisions/0044). What the file and the answers say is sealed: a copy
-- of this database without the installation's secret tells nobody's documents.

CREATE TABLE batch (
    batch_id    text COLLATE "C"    NOT NULL PRIMARY KEY,  -- a UUID of version 7
    account_id  bigint NOT NULL REFERENCES account,
    key_id      bigint NULL,  -- whose limits hold for its rows; null: in the web application
    user_id     bigint NULL,  -- who made it there
    name        text COLLATE "C"    NOT NULL,
    client      text COLLATE "C"    NULL,  -- for all rows that do not name their own
    operation   text COLLATE "C"    NOT NULL,
    parameters  text COLLATE "C"    NOT NULL,  -- for all rows, as a query
    columns     text COLLATE "C"    NOT NULL,  -- which column is what, where somebody chose: JSON
    media_type  text COLLATE "C"    NOT NULL,
    repeats     text COLLATE "C"    NULL,  -- the batch whose failed rows it asks again, instead of a file
    create_key  text COLLATE "C"    NULL,  -- of the request that made it, and what it was
    create_fingerprint text COLLATE "C" NOT NULL,
    state       text COLLATE "C"    NOT NULL CHECK (state IN (
        'recebido', 'validando', 'cotado', 'executando', 'pausado', 'concluido', 'encerrando',
        'encerrado', 'expirado', 'recusado')),
    reason      text COLLATE "C"    NULL CHECK (reason IN (
        'teto', 'saldo', 'usuario', 'fonte', 'limite_da_chave')),
    code        text COLLATE "C"    NULL,  -- of what refused the file, or made it pause
    message     text COLLATE "C"    NULL,  -- what is wrong with the file
    told        text COLLATE "C"    NULL,  -- how the file was understood: JSON
    header      bytea    NULL,  -- of the file; sealed
    digest      text COLLATE "C"    NULL,  -- of the quote, and what it says
    least       bigint NULL,
    greatest    bigint NULL,
    valid       bigint NULL,
    at_hand     bigint NULL,
    quoted_ms   bigint NULL,
    until_ms    bigint NULL,
    ceiling     bigint NULL CHECK (ceiling >= 0),
    created_ms  bigint NOT NULL,
    confirmed_ms bigint NULL,
    ended_ms    bigint NULL,
    erased_ms   bigint NULL,

    CONSTRAINT a_pause_has_a_reason CHECK ((state = 'pausado') = (reason IS NOT NULL)),
    UNIQUE (account_id, create_key)
);

CREATE INDEX batch_of_account ON batch (account_id, batch_id);
CREATE INDEX batch_with_data ON batch (created_ms) WHERE erased_ms IS NULL;

-- What is over stays over.
CREATE TRIGGER batch_ends_once BEFORE UPDATE OF state ON batch
FOR EACH ROW WHEN (OLD.state IN ('concluido', 'encerrado', 'expirado', 'recusado') AND NEW.state <> OLD.state)
EXECUTE FUNCTION never('the batch is over');

-- The file as it came, until its rows are stored.
CREATE TABLE batch_piece (
    batch_id   text COLLATE "C"    NOT NULL,
    piece      bigint NOT NULL,
    stored_ms  bigint NOT NULL,
    content    bytea    NOT NULL,  -- sealed
    PRIMARY KEY (batch_id, piece)
);

CREATE TABLE batch_row (
    batch_id    text COLLATE "C"    NOT NULL REFERENCES batch (batch_id),
    line        bigint NOT NULL,  -- in the file
    state       text COLLATE "C"    NOT NULL CHECK (state IN (
        'invalida', 'repetida', 'pendente', 'em_andamento', 'concluida', 'falha', 'recusada',
        'cancelada')),
    ref         text COLLATE "C"    NULL,  -- the client's own
    client      text COLLATE "C"    NULL,
    document    text COLLATE "C"    NULL,  -- a CNPJ, or a masked CPF
    document_hash bytea  NULL,  -- of a CPF
    same        bytea    NULL,  -- what is asked: a keyed digest
    repeated_of bigint NULL CHECK ((repeated_of IS NOT NULL) = (state = 'repetida')),
    least       bigint NOT NULL,  -- credits it would cost, as the quote was made
    greatest    bigint NOT NULL,
    at_hand     smallint NOT NULL CHECK (at_hand IN (0, 1)),
    request_id  text COLLATE "C"    NULL,
    credits     bigint NOT NULL,  -- held for it, or charged
    code        text COLLATE "C"    NULL,
    settled_ms  bigint NULL,
    tries       bigint NOT NULL,
    cells       bytea    NULL,  -- of the file; sealed
    answer      bytea    NULL,  -- sealed

    CONSTRAINT only_what_was_asked_costs CHECK (
        credits = 0 OR (credits > 0 AND state IN ('em_andamento', 'concluida'))
    ),
    CONSTRAINT who_has_a_row_is_known CHECK (state <> 'em_andamento' OR request_id IS NOT NULL),
    PRIMARY KEY (batch_id, line)
);

CREATE INDEX batch_row_by_state ON batch_row (batch_id, state, line);
CREATE INDEX batch_row_of_person ON batch_row (document_hash) WHERE document_hash IS NOT NULL;

-- A row that was charged stays charged, whoever thinks otherwise.
CREATE TRIGGER batch_row_ends_once BEFORE UPDATE OF state, credits ON batch_row
FOR EACH ROW WHEN (OLD.state IN ('concluida', 'falha', 'recusada', 'cancelada')
    AND (NEW.state <> OLD.state OR NEW.credits <> OLD.credits))
EXECUTE FUNCTION never('the row is over');

CREATE TABLE batch_count (
    batch_id text COLLATE "C"    NOT NULL REFERENCES batch (batch_id),
    state    text COLLATE "C"    NOT NULL,
    rows     bigint NOT NULL CHECK (rows >= 0),
    credits  bigint NOT NULL CHECK (credits >= 0),
    PRIMARY KEY (batch_id, state)
);
