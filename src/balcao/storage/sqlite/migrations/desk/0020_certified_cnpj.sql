-- The CNPJ that a company's federal certificate names, which is its head office's also where a
-- branch was asked about (docs/decisions/0085): the file is called by it.

ALTER TABLE receipt ADD COLUMN cnpj TEXT NULL;  -- NULL: a person's, a state's, or from before
