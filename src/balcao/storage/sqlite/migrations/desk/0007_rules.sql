-- Rules of the tariff are codes (docs/decisions/0030): these are all sentences that were ever written
-- in their place. What is none of them stays as it is. The ledger's walls rest while a migration runs.

CREATE TEMP TABLE rule_code (
    sentence TEXT NOT NULL PRIMARY KEY,
    code     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO temp.rule_code VALUES
    ('cnpj-receita-federal: 1 por consulta concluída', 'company/lookup'),
    ('suframa: 1 por consulta concluída', 'suframa/lookup'),
    ('sintegra: 1 por UF respondida', 'state_registration/uf'),
    ('sintegra: 1 por UF respondida + 1 por endereco', 'state_registration/uf+addresses'),
    ('produtor-rural: 1 por UF respondida', 'rural_producer/uf'),
    ('produtor-rural: 1 por UF respondida + 1 por endereco', 'rural_producer/uf+addresses'),
    ('certidão federal: 1 por resultado do cache', 'federal_certificate/cache'),
    ('certidão federal: 2 por resultado da fonte', 'federal_certificate/online'),
    ('certidão estadual: 1 por certidão do cache', 'state_certificate/cache'),
    ('certidão estadual: 2 por consulta à fonte', 'state_certificate/online'),
    ('erro', 'error'),
    ('recusa', 'refused'),
    ('processo interrompido', 'interrupted');

UPDATE ledger_entry SET rule = known.code FROM temp.rule_code AS known WHERE known.sentence = rule;
UPDATE trace SET rule = known.code FROM temp.rule_code AS known WHERE known.sentence = rule;
UPDATE certificate_trace SET rule = known.code FROM temp.rule_code AS known
    WHERE known.sentence = rule;

DROP TABLE temp.rule_code;
