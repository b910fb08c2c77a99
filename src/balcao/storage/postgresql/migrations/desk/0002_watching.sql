-- Events, webhooks, and the portfolio of watched subjects (docs/adr/0108). Times are milliseconds
-- since 1970 (UTC).
-- oldest compatible schema: 1

-- Events are numbered while their account is locked, so an account's numbers are in the order of its
-- commits.
ALTER TABLE event ADD COLUMN cause text COLLATE "C" NULL;       -- a second event of one cause is not written
ALTER TABLE event ADD COLUMN item_id text COLLATE "C" NULL;     -- the watched subject
ALTER TABLE event ADD COLUMN client text COLLATE "C" NULL;      -- of the item
ALTER TABLE event ADD COLUMN webhook_id text COLLATE "C" NULL;  -- sent to this endpoint alone; not in the feed
ALTER TABLE event ADD COLUMN silent smallint NOT NULL DEFAULT 0 CHECK (silent IN (0, 1));  -- feed only
ALTER TABLE event ADD COLUMN clock_run bigint NULL;  -- of a test portfolio's clock; NULL: real time
CREATE UNIQUE INDEX event_of_cause ON event (account_id, cause) WHERE cause IS NOT NULL;
CREATE INDEX event_of_item ON event (item_id, event_id) WHERE item_id IS NOT NULL;
CREATE INDEX event_of_clock ON event (account_id) WHERE clock_run IS NOT NULL;

-- A person's erasure empties the data of events.
DROP TRIGGER event_never_changes ON event;
CREATE TRIGGER event_never_changes BEFORE UPDATE ON event
FOR EACH ROW WHEN (NEW.body <> '{"apagado":true}' OR NEW.event_id <> OLD.event_id
    OR NEW.account_id <> OLD.account_id OR NEW.kind <> OLD.kind OR NEW.at_ms <> OLD.at_ms)
EXECUTE FUNCTION never('what happened stays so; it goes when it is old');

ALTER TABLE account ADD COLUMN watched bigint NOT NULL DEFAULT 0 CHECK (watched >= 0);  -- items; if 0 they are not read

ALTER TABLE batch ADD COLUMN of_wallet smallint NOT NULL DEFAULT 0 CHECK (of_wallet IN (0, 1));  -- buys certificates of the portfolio

-- Settings and standing of an account's portfolio.
CREATE TABLE wallet (
    account_id bigint NOT NULL PRIMARY KEY REFERENCES account,
    renew text COLLATE "C" NULL,  -- JSON, for items without their own; NULL: never
    recheck text COLLATE "C" NULL,  -- as well
    notices text COLLATE "C" NULL,  -- JSON; NULL: the defaults
    buyer_key_id bigint NULL,  -- purchases run under this key,
    buyer_user_id bigint NULL,  -- or this person
    compared_month text COLLATE "C" NULL,  -- YYYY-MM, of the last comparison
    compared_ms bigint NULL,
    compared bigint NOT NULL DEFAULT 0,
    changed bigint NOT NULL DEFAULT 0,
    unverified bigint NOT NULL DEFAULT 0,
    stopped_reason text COLLATE "C" NULL CHECK (stopped_reason IN ('teto', 'saldo', 'chave', 'fonte')),
    stopped_ms bigint NULL,
    resumes_ms bigint NULL,
    clock_ms bigint NULL,  -- of a test account; NULL: real time
    clock_from_ms bigint NULL,  -- real time of its first move
    clock_until_ms bigint NULL,  -- the clock is moving there
    clock_run bigint NOT NULL DEFAULT 0,
    edits bigint NOT NULL DEFAULT 0,  -- of items: a plan made from older ones is made anew
    created_ms bigint NOT NULL
);

-- Watched subjects. One that was removed stays until its events are gone.
CREATE TABLE wallet_item (
    item_id text COLLATE "C" NOT NULL PRIMARY KEY,  -- a UUID of version 7
    account_id bigint NOT NULL REFERENCES account,
    document text COLLATE "C" NOT NULL,  -- a CNPJ, a root, or a masked CPF
    root text COLLATE "C" NULL,      -- of a company
    document_hash bytea NULL,      -- keyed, of a CPF
    sealed bytea NULL,      -- CPF and birth date, until it ends
    has_birth smallint NOT NULL DEFAULT 0 CHECK (has_birth IN (0, 1)),  -- the birth date is known
    client text COLLATE "C" NOT NULL,  -- empty: none
    reference text COLLATE "C" NULL,
    tags text COLLATE "C" NOT NULL,  -- JSON, a list
    watched text COLLATE "C" NOT NULL,  -- JSON, a list
    renew text COLLATE "C" NULL,      -- JSON, or false; NULL: the portfolio's
    recheck text COLLATE "C" NULL,      -- as well
    registry text COLLATE "C" NULL,      -- JSON: name, status, its day, month
    record bytea NULL,      -- answer of the last own registry lookup, if newer than the month
    record_ms bigint NULL,
    registrations text COLLATE "C" NOT NULL,  -- JSON, a list: as of own lookups
    suframa text COLLATE "C" NULL,      -- JSON
    sequence bigint NOT NULL DEFAULT 0,  -- of its events
    verified_ms bigint NULL,
    checked text COLLATE "C" NULL,      -- JSON: instants of the last answers, by topic
    handled_ms bigint NULL,      -- a person marked it; until its next event
    recheck_ms bigint NULL,      -- next scheduled lookup
    recheck_attempts bigint NOT NULL DEFAULT 0,  -- that failed since the last success
    created_ms bigint NOT NULL,
    ended_ms bigint NULL,
    CHECK ((root IS NULL) = (document_hash IS NOT NULL))
);
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

-- Once per statement: an UPDATE per row of one account's count would take seconds for 10,000 items.
CREATE FUNCTION wallet_items_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE account SET watched = watched + added.items
    FROM (SELECT account_id, count(*) AS items FROM after_it WHERE ended_ms IS NULL
          GROUP BY account_id) AS added
    WHERE account.account_id = added.account_id;
    RETURN NULL;
END $$;

CREATE TRIGGER wallet_items_begin AFTER INSERT ON wallet_item
REFERENCING NEW TABLE AS after_it FOR EACH STATEMENT EXECUTE FUNCTION wallet_items_begin();

CREATE FUNCTION wallet_items_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE account SET watched = watched + changed.items
    FROM (SELECT account_id, sum(one) AS items FROM (
              SELECT account_id, 1 AS one FROM after_it WHERE ended_ms IS NULL
              UNION ALL SELECT account_id, -1 FROM before_it WHERE ended_ms IS NULL) AS rows
          GROUP BY account_id HAVING sum(one) <> 0) AS changed
    WHERE account.account_id = changed.account_id;
    RETURN NULL;
END $$;

CREATE TRIGGER wallet_items_change AFTER UPDATE ON wallet_item
REFERENCING OLD TABLE AS before_it NEW TABLE AS after_it
FOR EACH STATEMENT EXECUTE FUNCTION wallet_items_change();

CREATE TRIGGER wallet_item_ends_once BEFORE UPDATE ON wallet_item
FOR EACH ROW WHEN (OLD.ended_ms IS NOT NULL)
EXECUTE FUNCTION never('a removed item stays as it was; add the subject again');

CREATE FUNCTION wallet_items_go() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE account SET watched = watched - gone.items
    FROM (SELECT account_id, count(*) AS items FROM before_it WHERE ended_ms IS NULL
          GROUP BY account_id) AS gone
    WHERE account.account_id = gone.account_id;
    RETURN NULL;
END $$;

CREATE TRIGGER wallet_items_go AFTER DELETE ON wallet_item
REFERENCING OLD TABLE AS before_it FOR EACH STATEMENT EXECUTE FUNCTION wallet_items_go();

CREATE TABLE wallet_tag (
    account_id bigint NOT NULL REFERENCES account,
    tag text COLLATE "C" NOT NULL,
    item_id text COLLATE "C" NOT NULL REFERENCES wallet_item,
    PRIMARY KEY (account_id, tag, item_id)
);
CREATE INDEX wallet_tag_of_item ON wallet_tag (item_id);

-- Certificates of watched subjects, each once in an account: items of one root share the federal
-- and the labour certificate.
CREATE TABLE wallet_paper (
    paper_id text COLLATE "C" NOT NULL PRIMARY KEY,  -- a UUID of version 7
    account_id bigint NOT NULL REFERENCES account,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('certidao_federal', 'certidao_estadual',
                       'certidao_trabalhista', 'regularidade_fgts', 'outra')),
    uf text COLLATE "C" NOT NULL,  -- empty: of no state
    subject text COLLATE "C" NULL,  -- a root or a CNPJ; NULL: of a person, or entered by hand
    document_hash bytea NULL,  -- keyed, of a CPF
    name text COLLATE "C" NULL,  -- of one entered by hand, as is the note
    note text COLLATE "C" NULL,
    verdict text COLLATE "C" NULL CHECK (verdict IN ('CND', 'CPEND', 'CPD', 'other', 'none')),
    issued_on text COLLATE "C" NULL,  -- YYYY-MM-DD, as are the other days
    validity text COLLATE "C" NULL,  -- last day according to the source, or entered by hand
    extended_until text COLLATE "C" NULL,  -- by an act
    act text COLLATE "C" NULL,
    last_day text COLLATE "C" NULL,  -- the later of the two
    answered_ms bigint NULL,  -- of the newest answer; NULL: there was none
    request_id text COLLATE "C" NULL,  -- of that answer
    receipt_id text COLLATE "C" NULL,
    media_type text COLLATE "C" NULL,  -- of the receipt
    purchases bigint NOT NULL DEFAULT 0,  -- charged renewals of the present validity
    attempts bigint NOT NULL DEFAULT 0,  -- renewals of the present validity, charged or not
    failures bigint NOT NULL DEFAULT 0,  -- that failed since the last answer
    reason text COLLATE "C" NULL,  -- code of the last failure, or why nothing is bought
    renewing_ms bigint NULL,  -- a renewal is under way since
    next_ms bigint NULL,  -- next renewal; 0: not computed yet; NULL: none
    told bigint NULL,  -- smallest notice of the present validity, in days; 0: expired
    created_ms bigint NOT NULL,
    CHECK ((kind = 'outra') = (name IS NOT NULL)),
    CHECK ((kind = 'certidao_estadual') = (uf <> ''))
);
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
    item_id text COLLATE "C" NOT NULL REFERENCES wallet_item,
    paper_id text COLLATE "C" NOT NULL REFERENCES wallet_paper,
    PRIMARY KEY (item_id, paper_id)
);
CREATE INDEX wallet_item_paper_of_paper ON wallet_item_paper (paper_id, item_id);

-- State of a test portfolio's items and certificates before its clock left the real time. They get
-- it back when the clock is given up.
CREATE TABLE wallet_item_before (
    item_id text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES wallet_item ON DELETE CASCADE,
    account_id bigint NOT NULL REFERENCES account,
    registry text COLLATE "C" NULL,
    record bytea NULL,
    record_ms bigint NULL,
    registrations text COLLATE "C" NOT NULL,
    suframa text COLLATE "C" NULL,
    verified_ms bigint NULL,
    checked text COLLATE "C" NULL,
    handled_ms bigint NULL,
    recheck_attempts bigint NOT NULL
);
CREATE INDEX wallet_item_before_of_account ON wallet_item_before (account_id);

CREATE TABLE wallet_paper_before (
    paper_id text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES wallet_paper ON DELETE CASCADE,
    account_id bigint NOT NULL REFERENCES account,
    verdict text COLLATE "C" NULL,
    issued_on text COLLATE "C" NULL,
    validity text COLLATE "C" NULL,
    extended_until text COLLATE "C" NULL,
    act text COLLATE "C" NULL,
    last_day text COLLATE "C" NULL,
    answered_ms bigint NULL,
    request_id text COLLATE "C" NULL,
    receipt_id text COLLATE "C" NULL,
    media_type text COLLATE "C" NULL,
    purchases bigint NOT NULL,
    attempts bigint NOT NULL,
    failures bigint NOT NULL,
    reason text COLLATE "C" NULL,
    told bigint NULL
);
CREATE INDEX wallet_paper_before_of_account ON wallet_paper_before (account_id);

-- Calendars that programs subscribe to by a secret address (docs/adr/0119).
CREATE TABLE wallet_calendar (
    calendar_id text COLLATE "C" NOT NULL PRIMARY KEY,
    account_id bigint NOT NULL REFERENCES account,
    user_id bigint NULL,
    name text COLLATE "C" NULL,
    chosen text COLLATE "C" NULL,
    token_hash bytea NOT NULL,
    created_ms bigint NOT NULL
);
CREATE UNIQUE INDEX wallet_calendar_by_token ON wallet_calendar (token_hash);
CREATE INDEX wallet_calendar_of_account ON wallet_calendar (account_id, calendar_id);

-- The events that a calendar last had, so that later ones move or cancel them.
CREATE TABLE wallet_calendar_entry (
    calendar_id text COLLATE "C" NOT NULL REFERENCES wallet_calendar ON DELETE CASCADE,
    paper_id text COLLATE "C" NOT NULL,
    last_day text COLLATE "C" NOT NULL,
    digest bytea NOT NULL,
    sequence bigint NOT NULL,
    changed_ms bigint NOT NULL,
    cancelled_ms bigint NULL,
    PRIMARY KEY (calendar_id, paper_id)
);
CREATE INDEX wallet_calendar_entry_of_paper ON wallet_calendar_entry (paper_id);

-- Changes of the month in use, once for the installation, whatever node changed first.
CREATE TABLE month_switch (
    switch_id bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    from_month text COLLATE "C" NULL,      -- YYYY-MM; NULL: there was none
    to_month text COLLATE "C" NOT NULL,
    base_date text COLLATE "C" NULL,      -- of the new month's data: YYYY-MM-DD
    establishments bigint NOT NULL,
    at_ms bigint NOT NULL,
    ended_ms bigint NULL,  -- every portfolio is compared
    mode text COLLATE "C" NOT NULL DEFAULT 'live' CHECK (mode IN ('live', 'test')),
    files_ms bigint NULL  -- when a node last reported to have both months
);

-- How far each portfolio has been compared.
CREATE TABLE month_comparison (
    switch_id bigint NOT NULL REFERENCES month_switch,
    account_id bigint NOT NULL REFERENCES account,
    last_item text COLLATE "C" NOT NULL,  -- compared up to here; empty: none
    compared bigint NOT NULL,
    changed bigint NOT NULL,
    unverified bigint NOT NULL,
    began_ms bigint NOT NULL,
    ended_ms bigint NULL,
    PRIMARY KEY (switch_id, account_id)
);

-- Endpoints that events are sent to, and what each was sent.
CREATE TABLE webhook (
    webhook_id text COLLATE "C" NOT NULL PRIMARY KEY,
    account_id bigint NOT NULL REFERENCES account,
    url text COLLATE "C" NOT NULL,
    kinds text COLLATE "C" NULL,      -- JSON, a list; NULL: all
    clients text COLLATE "C" NULL,      -- JSON, a list; NULL: everything
    description text COLLATE "C" NULL,
    state text COLLATE "C" NOT NULL CHECK (state IN ('ativo', 'falhando', 'desligado')),
    reason text COLLATE "C" NULL CHECK (reason IN ('usuario', 'http_410', 'sem_sucesso')),
    secret bytea    NOT NULL,  -- sealed
    secret_tail text COLLATE "C" NOT NULL,  -- its last four characters
    old_secret bytea NULL,      -- signs as well, until
    old_until_ms bigint NULL,
    created_ms bigint NOT NULL,
    planned_event bigint NOT NULL,  -- deliveries exist for events up to this one
    failing_ms bigint NULL,      -- first failure since the last success
    failed_ms bigint NULL,      -- the last one
    failed_for_ms bigint NOT NULL DEFAULT 0,  -- between them, without time that had no attempts
    success_ms bigint NULL,
    last_status bigint NULL,
    resend text COLLATE "C" NULL,      -- JSON: a repetition under way
    CONSTRAINT only_what_is_off_has_a_reason CHECK ((state = 'desligado') = (reason IS NOT NULL))
);
CREATE INDEX webhook_of_account ON webhook (account_id, webhook_id);

CREATE TABLE webhook_delivery (
    delivery_id bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    webhook_id text COLLATE "C" NOT NULL REFERENCES webhook,
    event_id bigint NOT NULL,  -- no reference: the event may go first
    state text COLLATE "C" NOT NULL CHECK (state IN ('esperando', 'entregue', 'falhou', 'desistiu')),
    attempts bigint NOT NULL,  -- made, of all rounds
    failures bigint NOT NULL DEFAULT 0,  -- since it was planned or last resent
    created_ms bigint NOT NULL,
    next_ms bigint NULL CHECK ((next_ms IS NOT NULL) = (state IN ('esperando', 'falhou'))),
    at_ms bigint NULL,      -- of the last attempt
    status bigint NULL,
    duration_ms bigint NULL,
    response text COLLATE "C" NULL,      -- its beginning
    UNIQUE (webhook_id, event_id)
);
CREATE INDEX webhook_delivery_due ON webhook_delivery (webhook_id, next_ms) WHERE next_ms IS NOT NULL;
CREATE INDEX webhook_delivery_of_webhook ON webhook_delivery (webhook_id, delivery_id);
CREATE INDEX webhook_delivery_by_age ON webhook_delivery (created_ms);

-- What each person has seen of an account's events, and was sent by e-mail.
CREATE TABLE event_reader (
    account_id bigint NOT NULL REFERENCES account,
    user_id bigint NOT NULL,  -- no reference: erased with the person
    seen_event bigint NOT NULL DEFAULT 0,  -- on the page of changes, at the visit before this one
    visit_event bigint NOT NULL DEFAULT 0,  -- at the last visit
    visit_ms bigint NULL,
    mailed_event bigint NOT NULL DEFAULT 0,  -- in a digest
    urgent_event bigint NOT NULL DEFAULT 0,  -- in a notice at once
    urgent_ms bigint NULL,      -- of the last notice at once
    digest_day text COLLATE "C" NULL,      -- YYYY-MM-DD in Brasília, of the last digest; NULL: gets no mail
    PRIMARY KEY (account_id, user_id)
);
