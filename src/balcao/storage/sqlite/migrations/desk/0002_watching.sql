-- Events, webhooks, and the portfolio of watched subjects (docs/adr/0108). Times are milliseconds
-- since 1970 (UTC).
-- oldest compatible schema: 1

-- Events are numbered while their account is locked, so an account's numbers are in the order of its
-- commits.
ALTER TABLE event ADD COLUMN cause TEXT NULL;       -- a second event of one cause is not written
ALTER TABLE event ADD COLUMN item_id TEXT NULL;     -- the watched subject
ALTER TABLE event ADD COLUMN client TEXT NULL;      -- of the item
ALTER TABLE event ADD COLUMN webhook_id TEXT NULL;  -- sent to this endpoint alone; not in the feed
ALTER TABLE event ADD COLUMN silent INTEGER NOT NULL DEFAULT 0 CHECK (silent IN (0, 1));  -- feed only
ALTER TABLE event ADD COLUMN clock_run INTEGER NULL;  -- of a test portfolio's clock; NULL: real time
CREATE UNIQUE INDEX event_of_cause ON event (account_id, cause) WHERE cause IS NOT NULL;
CREATE INDEX event_of_item ON event (item_id, event_id) WHERE item_id IS NOT NULL;
CREATE INDEX event_of_clock ON event (account_id) WHERE clock_run IS NOT NULL;

-- A person's erasure empties the data of events.
DROP TRIGGER event_never_changes;
CREATE TRIGGER event_never_changes BEFORE UPDATE ON event
WHEN NEW.body <> '{"apagado":true}' OR NEW.event_id <> OLD.event_id
    OR NEW.account_id <> OLD.account_id OR NEW.kind <> OLD.kind OR NEW.at_ms <> OLD.at_ms
BEGIN SELECT RAISE(ABORT, 'what happened stays so; it goes when it is old'); END;

ALTER TABLE account ADD COLUMN watched INTEGER NOT NULL DEFAULT 0 CHECK (watched >= 0);  -- items; if 0 they are not read

ALTER TABLE batch ADD COLUMN of_wallet INTEGER NOT NULL DEFAULT 0 CHECK (of_wallet IN (0, 1));  -- buys certificates of the portfolio

-- Settings and standing of an account's portfolio.
CREATE TABLE wallet (
    account_id     INTEGER NOT NULL PRIMARY KEY REFERENCES account (account_id),
    renew          TEXT    NULL,  -- JSON, for items without their own; NULL: never
    recheck        TEXT    NULL,  -- as well
    notices        TEXT    NULL,  -- JSON; NULL: the defaults
    buyer_key_id   INTEGER NULL,  -- purchases run under this key,
    buyer_user_id  INTEGER NULL,  -- or this person
    compared_month TEXT    NULL,  -- YYYY-MM, of the last comparison
    compared_ms    INTEGER NULL,
    compared       INTEGER NOT NULL DEFAULT 0,
    changed        INTEGER NOT NULL DEFAULT 0,
    unverified     INTEGER NOT NULL DEFAULT 0,
    stopped_reason TEXT    NULL CHECK (stopped_reason IN ('teto', 'saldo', 'chave', 'fonte')),
    stopped_ms     INTEGER NULL,
    resumes_ms     INTEGER NULL,
    clock_ms       INTEGER NULL,  -- of a test account; NULL: real time
    clock_from_ms  INTEGER NULL,  -- real time of its first move
    clock_until_ms INTEGER NULL,  -- the clock is moving there
    clock_run      INTEGER NOT NULL DEFAULT 0,
    edits          INTEGER NOT NULL DEFAULT 0,  -- of items: a plan made from older ones is made anew
    created_ms     INTEGER NOT NULL
) STRICT;

-- Watched subjects. One that was removed stays until its events are gone.
CREATE TABLE wallet_item (
    item_id       TEXT    NOT NULL PRIMARY KEY,  -- a UUID of version 7
    account_id    INTEGER NOT NULL REFERENCES account (account_id),
    document      TEXT    NOT NULL,  -- a CNPJ, a root, or a masked CPF
    root          TEXT    NULL,      -- of a company
    document_hash BLOB    NULL,      -- keyed, of a CPF
    sealed        BLOB    NULL,      -- CPF and birth date, until it ends
    has_birth     INTEGER NOT NULL DEFAULT 0 CHECK (has_birth IN (0, 1)),  -- the birth date is known
    client        TEXT    NOT NULL,  -- empty: none
    reference     TEXT    NULL,
    tags          TEXT    NOT NULL,  -- JSON, a list
    watched       TEXT    NOT NULL,  -- JSON, a list
    renew         TEXT    NULL,      -- JSON, or false; NULL: the portfolio's
    recheck       TEXT    NULL,      -- as well
    registry      TEXT    NULL,      -- JSON: name, status, its day, month
    record        BLOB    NULL,      -- answer of the last own registry lookup, if newer than the month
    record_ms     INTEGER NULL,
    registrations TEXT    NOT NULL,  -- JSON, a list: as of own lookups
    suframa       TEXT    NULL,      -- JSON
    sequence      INTEGER NOT NULL DEFAULT 0,  -- of its events
    verified_ms   INTEGER NULL,
    checked       TEXT    NULL,      -- JSON: instants of the last answers, by topic
    handled_ms    INTEGER NULL,      -- a person marked it; until its next event
    recheck_ms    INTEGER NULL,      -- next scheduled lookup
    recheck_attempts INTEGER NOT NULL DEFAULT 0,  -- that failed since the last success
    created_ms    INTEGER NOT NULL,
    ended_ms      INTEGER NULL,
    CHECK ((root IS NULL) = (document_hash IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX wallet_item_of_company ON wallet_item (account_id, document, client)
WHERE document_hash IS NULL AND ended_ms IS NULL;
CREATE UNIQUE INDEX wallet_item_of_person ON wallet_item (account_id, document_hash, client)
WHERE document_hash IS NOT NULL AND ended_ms IS NULL;
CREATE INDEX wallet_item_of_account ON wallet_item (account_id, item_id);
CREATE INDEX wallet_item_of_root ON wallet_item (account_id, root) WHERE ended_ms IS NULL;
CREATE INDEX wallet_item_of_cpf ON wallet_item (document_hash) WHERE document_hash IS NOT NULL;
CREATE INDEX wallet_item_to_recheck ON wallet_item (recheck_ms)
WHERE recheck_ms IS NOT NULL AND ended_ms IS NULL;
CREATE INDEX wallet_item_ended ON wallet_item (ended_ms) WHERE ended_ms IS NOT NULL;

CREATE TRIGGER wallet_item_begins AFTER INSERT ON wallet_item WHEN NEW.ended_ms IS NULL
BEGIN UPDATE account SET watched = watched + 1 WHERE account_id = NEW.account_id; END;

CREATE TRIGGER wallet_item_ends AFTER UPDATE OF ended_ms ON wallet_item
WHEN OLD.ended_ms IS NULL AND NEW.ended_ms IS NOT NULL
BEGIN UPDATE account SET watched = watched - 1 WHERE account_id = NEW.account_id; END;

CREATE TRIGGER wallet_item_ends_once BEFORE UPDATE ON wallet_item WHEN OLD.ended_ms IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a removed item stays as it was; add the subject again'); END;

CREATE TRIGGER wallet_item_goes AFTER DELETE ON wallet_item WHEN OLD.ended_ms IS NULL
BEGIN UPDATE account SET watched = watched - 1 WHERE account_id = OLD.account_id; END;

CREATE TABLE wallet_tag (
    account_id INTEGER NOT NULL REFERENCES account (account_id),
    tag        TEXT    NOT NULL,
    item_id    TEXT    NOT NULL REFERENCES wallet_item (item_id),
    PRIMARY KEY (account_id, tag, item_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX wallet_tag_of_item ON wallet_tag (item_id);

-- Certificates of watched subjects, each once in an account: items of one root share the federal
-- and the labour certificate.
CREATE TABLE wallet_paper (
    paper_id       TEXT    NOT NULL PRIMARY KEY,  -- a UUID of version 7
    account_id     INTEGER NOT NULL REFERENCES account (account_id),
    kind           TEXT    NOT NULL CHECK (kind IN ('certidao_federal', 'certidao_estadual',
                       'certidao_trabalhista', 'regularidade_fgts', 'outra')),
    uf             TEXT    NOT NULL,  -- empty: of no state
    subject        TEXT    NULL,  -- a root or a CNPJ; NULL: of a person, or entered by hand
    document_hash  BLOB    NULL,  -- keyed, of a CPF
    name           TEXT    NULL,  -- of one entered by hand, as is the note
    note           TEXT    NULL,
    verdict        TEXT    NULL CHECK (verdict IN ('CND', 'CPEND', 'CPD', 'other', 'none')),
    issued_on      TEXT    NULL,  -- YYYY-MM-DD, as are the other days
    validity       TEXT    NULL,  -- last day according to the source, or entered by hand
    extended_until TEXT    NULL,  -- by an act
    act            TEXT    NULL,
    last_day       TEXT    NULL,  -- the later of the two
    answered_ms    INTEGER NULL,  -- of the newest answer; NULL: there was none
    request_id     TEXT    NULL,  -- of that answer
    receipt_id     TEXT    NULL,
    media_type     TEXT    NULL,  -- of the receipt
    purchases      INTEGER NOT NULL DEFAULT 0,  -- charged renewals of the present validity
    attempts       INTEGER NOT NULL DEFAULT 0,  -- renewals of the present validity, charged or not
    failures       INTEGER NOT NULL DEFAULT 0,  -- that failed since the last answer
    reason         TEXT    NULL,  -- code of the last failure, or why nothing is bought
    renewing_ms    INTEGER NULL,  -- a renewal is under way since
    next_ms        INTEGER NULL,  -- next renewal; 0: not computed yet; NULL: none
    told           INTEGER NULL,  -- smallest notice of the present validity, in days; 0: expired
    created_ms     INTEGER NOT NULL,
    CHECK ((kind = 'outra') = (name IS NOT NULL)),
    CHECK ((kind = 'certidao_estadual') = (uf <> ''))
) STRICT;
CREATE UNIQUE INDEX wallet_paper_of_company ON wallet_paper (account_id, subject, kind, uf)
WHERE subject IS NOT NULL;
CREATE UNIQUE INDEX wallet_paper_of_person ON wallet_paper (account_id, document_hash, kind)
WHERE document_hash IS NOT NULL;
CREATE INDEX wallet_paper_of_cpf ON wallet_paper (document_hash) WHERE document_hash IS NOT NULL;
CREATE INDEX wallet_paper_of_receipt ON wallet_paper (receipt_id) WHERE receipt_id IS NOT NULL;
CREATE INDEX wallet_paper_by_day ON wallet_paper (account_id, last_day);
CREATE INDEX wallet_paper_to_renew ON wallet_paper (next_ms) WHERE next_ms IS NOT NULL;

-- The certificates that items in force watch, and those entered by hand.
CREATE TABLE wallet_item_paper (
    item_id    TEXT    NOT NULL REFERENCES wallet_item (item_id),
    paper_id   TEXT    NOT NULL REFERENCES wallet_paper (paper_id),
    PRIMARY KEY (item_id, paper_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX wallet_item_paper_of_paper ON wallet_item_paper (paper_id, item_id);

-- State of a test portfolio's items and certificates before its clock left the real time. They get
-- it back when the clock is given up.
CREATE TABLE wallet_item_before (
    item_id          TEXT    NOT NULL PRIMARY KEY REFERENCES wallet_item (item_id) ON DELETE CASCADE,
    account_id       INTEGER NOT NULL REFERENCES account (account_id),
    registry         TEXT    NULL,
    record           BLOB    NULL,
    record_ms        INTEGER NULL,
    registrations    TEXT    NOT NULL,
    suframa          TEXT    NULL,
    verified_ms      INTEGER NULL,
    checked          TEXT    NULL,
    handled_ms       INTEGER NULL,
    recheck_attempts INTEGER NOT NULL
) STRICT;
CREATE INDEX wallet_item_before_of_account ON wallet_item_before (account_id);

CREATE TABLE wallet_paper_before (
    paper_id       TEXT    NOT NULL PRIMARY KEY REFERENCES wallet_paper (paper_id) ON DELETE CASCADE,
    account_id     INTEGER NOT NULL REFERENCES account (account_id),
    verdict        TEXT    NULL,
    issued_on      TEXT    NULL,
    validity       TEXT    NULL,
    extended_until TEXT    NULL,
    act            TEXT    NULL,
    last_day       TEXT    NULL,
    answered_ms    INTEGER NULL,
    request_id     TEXT    NULL,
    receipt_id     TEXT    NULL,
    media_type     TEXT    NULL,
    purchases      INTEGER NOT NULL,
    attempts       INTEGER NOT NULL,
    failures       INTEGER NOT NULL,
    reason         TEXT    NULL,
    told           INTEGER NULL
) STRICT;
CREATE INDEX wallet_paper_before_of_account ON wallet_paper_before (account_id);

-- Calendars that programs subscribe to by a secret address (docs/adr/0119).
CREATE TABLE wallet_calendar (
    calendar_id TEXT    NOT NULL PRIMARY KEY,  -- a UUID of version 7
    account_id  INTEGER NOT NULL REFERENCES account (account_id),
    user_id     INTEGER NULL,      -- made by this person, and ends with them; no reference
    name        TEXT    NULL,
    chosen      TEXT    NULL,      -- JSON: client, label, states; NULL: everything
    token_hash  BLOB    NOT NULL,  -- of the address
    created_ms  INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX wallet_calendar_by_token ON wallet_calendar (token_hash);
CREATE INDEX wallet_calendar_of_account ON wallet_calendar (account_id, calendar_id);

-- The events that a calendar last had, so that later ones move or cancel them.
CREATE TABLE wallet_calendar_entry (
    calendar_id  TEXT    NOT NULL REFERENCES wallet_calendar (calendar_id) ON DELETE CASCADE,
    paper_id     TEXT    NOT NULL,  -- no reference: a removed one stays for 30 days
    last_day     TEXT    NOT NULL,  -- YYYY-MM-DD
    digest       BLOB    NOT NULL,  -- of what is shown
    sequence     INTEGER NOT NULL,
    changed_ms   INTEGER NOT NULL,
    cancelled_ms INTEGER NULL,
    PRIMARY KEY (calendar_id, paper_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX wallet_calendar_entry_of_paper ON wallet_calendar_entry (paper_id);

-- Changes of the month in use, once for the installation, whatever node changed first.
CREATE TABLE month_switch (
    switch_id  INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    from_month TEXT    NULL,      -- YYYY-MM; NULL: there was none
    to_month   TEXT    NOT NULL,
    base_date  TEXT    NULL,      -- of the new month's data: YYYY-MM-DD
    establishments INTEGER NOT NULL,
    at_ms      INTEGER NOT NULL,
    ended_ms   INTEGER NULL,      -- every portfolio is compared
    mode       TEXT    NOT NULL DEFAULT 'live' CHECK (mode IN ('live', 'test')),
    files_ms   INTEGER NULL       -- when a node last reported to have both months
) STRICT;

-- How far each portfolio has been compared.
CREATE TABLE month_comparison (
    switch_id  INTEGER NOT NULL REFERENCES month_switch (switch_id),
    account_id INTEGER NOT NULL REFERENCES account (account_id),
    last_item  TEXT    NOT NULL,  -- compared up to here; empty: none
    compared   INTEGER NOT NULL,
    changed    INTEGER NOT NULL,
    unverified INTEGER NOT NULL,
    began_ms   INTEGER NOT NULL,
    ended_ms   INTEGER NULL,
    PRIMARY KEY (switch_id, account_id)
) STRICT, WITHOUT ROWID;

-- Endpoints that events are sent to, and what each was sent.
CREATE TABLE webhook (
    webhook_id    TEXT    NOT NULL PRIMARY KEY,
    account_id    INTEGER NOT NULL REFERENCES account (account_id),
    url           TEXT    NOT NULL,
    kinds         TEXT    NULL,      -- JSON, a list; NULL: all
    clients       TEXT    NULL,      -- JSON, a list; NULL: everything
    description   TEXT    NULL,
    state         TEXT    NOT NULL CHECK (state IN ('ativo', 'falhando', 'desligado')),
    reason        TEXT    NULL CHECK (reason IN ('usuario', 'http_410', 'sem_sucesso')),
    secret        BLOB    NOT NULL,  -- sealed
    secret_tail   TEXT    NOT NULL,  -- its last four characters
    old_secret    BLOB    NULL,      -- signs as well, until
    old_until_ms  INTEGER NULL,
    created_ms    INTEGER NOT NULL,
    planned_event INTEGER NOT NULL,  -- deliveries exist for events up to this one
    failing_ms    INTEGER NULL,      -- first failure since the last success
    failed_ms     INTEGER NULL,      -- the last one
    failed_for_ms INTEGER NOT NULL DEFAULT 0,  -- between them, without time that had no attempts
    success_ms    INTEGER NULL,
    last_status   INTEGER NULL,
    resend        TEXT    NULL,      -- JSON: a repetition under way
    CONSTRAINT only_what_is_off_has_a_reason CHECK ((state = 'desligado') = (reason IS NOT NULL))
) STRICT;
CREATE INDEX webhook_of_account ON webhook (account_id, webhook_id);

CREATE TABLE webhook_delivery (
    delivery_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    webhook_id  TEXT    NOT NULL REFERENCES webhook (webhook_id),
    event_id    INTEGER NOT NULL,  -- no reference: the event may go first
    state       TEXT    NOT NULL CHECK (state IN ('esperando', 'entregue', 'falhou', 'desistiu')),
    attempts    INTEGER NOT NULL,  -- made, of all rounds
    failures    INTEGER NOT NULL DEFAULT 0,  -- since it was planned or last resent
    created_ms  INTEGER NOT NULL,
    next_ms     INTEGER NULL CHECK ((next_ms IS NOT NULL) = (state IN ('esperando', 'falhou'))),
    at_ms       INTEGER NULL,      -- of the last attempt
    status      INTEGER NULL,
    duration_ms INTEGER NULL,
    response    TEXT    NULL,      -- its beginning
    UNIQUE (webhook_id, event_id)
) STRICT;
CREATE INDEX webhook_delivery_due ON webhook_delivery (webhook_id, next_ms) WHERE next_ms IS NOT NULL;
CREATE INDEX webhook_delivery_of_webhook ON webhook_delivery (webhook_id, delivery_id);
CREATE INDEX webhook_delivery_by_age ON webhook_delivery (created_ms);

-- What each person has seen of an account's events, and was sent by e-mail.
CREATE TABLE event_reader (
    account_id   INTEGER NOT NULL REFERENCES account (account_id),
    user_id      INTEGER NOT NULL,  -- no reference: erased with the person
    seen_event   INTEGER NOT NULL DEFAULT 0,  -- on the page of changes, at the visit before this one
    visit_event  INTEGER NOT NULL DEFAULT 0,  -- at the last visit
    visit_ms     INTEGER NULL,
    mailed_event INTEGER NOT NULL DEFAULT 0,  -- in a digest
    urgent_event INTEGER NOT NULL DEFAULT 0,  -- in a notice at once
    urgent_ms    INTEGER NULL,      -- of the last notice at once
    digest_day   TEXT    NULL,      -- YYYY-MM-DD in Brasília, of the last digest; NULL: gets no mail
    PRIMARY KEY (account_id, user_id)
) STRICT, WITHOUT ROWID;
