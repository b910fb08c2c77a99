-- Rules of the tariff are codes (docs/decisions/0030): these are all sentences that were ever written
-- in their place. What is none of them stays as it is.

CREATE OR REPLACE FUNCTION rule_code(rule text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE rule
        WHEN 'cnpj-receita-federal: 1 por consulta concluída' THEN 'company/lookup'
        WHEN 'suframa: 1 por consulta concluída' THEN 'suframa/lookup'
        WHEN 'sintegra: 1 por UF respondida' THEN 'state_registration/uf'
        WHEN 'sintegra: 1 por UF respondida + 1 por endereco' THEN 'state_registration/uf+addresses'
        WHEN 'produtor-rural: 1 por UF respondida' THEN 'rural_producer/uf'
        WHEN 'produtor-rural: 1 por UF respondida + 1 por endereco' THEN 'rural_producer/uf+addresses'
        WHEN 'certidão federal: 1 por resultado do cache' THEN 'federal_certificate/cache'
        WHEN 'certidão federal: 2 por resultado da fonte' THEN 'federal_certificate/online'
        WHEN 'certidão estadual: 1 por certidão do cache' THEN 'state_certificate/cache'
        WHEN 'certidão estadual: 2 por consulta à fonte' THEN 'state_certificate/online'
        WHEN 'erro' THEN 'error'
        WHEN 'recusa' THEN 'refused'
        WHEN 'processo interrompido' THEN 'interrupted'
        ELSE rule
    END
$$;

-- Nodes of the version before go on beside this one, and write sentences.
CREATE OR REPLACE FUNCTION rules_are_codes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.rule := rule_code(NEW.rule);
    RETURN NEW;
END $$;

-- The walls let this transaction through, and it alone: others see the function as it was, before
-- and afterwards. Disabling the triggers would keep everybody from writing for as long as this takes.
CREATE OR REPLACE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RETURN NULL;
END $$;

-- Twice: what was written during the first round is found in the second, behind the triggers. They
-- keep others from writing only from the moment on at which they are made.
DO $$
DECLARE
    kept_in text[] := ARRAY(
        SELECT name FROM unnest(ARRAY['ledger_entry', 'trace', 'certificate_trace']) AS name
        WHERE to_regclass(name) IS NOT NULL
    );
    name text;
BEGIN
    FOREACH name IN ARRAY kept_in LOOP
        EXECUTE format('UPDATE %I SET rule = rule_code(rule) WHERE rule <> rule_code(rule)', name);
    END LOOP;
    FOREACH name IN ARRAY kept_in LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER rules_are_codes BEFORE INSERT ON %I
            FOR EACH ROW WHEN (NEW.rule <> rule_code(NEW.rule))
            EXECUTE FUNCTION rules_are_codes()', name);
        EXECUTE format('UPDATE %I SET rule = rule_code(rule) WHERE rule <> rule_code(rule)', name);
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END $$;
