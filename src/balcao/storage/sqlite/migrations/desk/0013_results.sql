-- What an answer came to, for those who look back: the company's name, without a CPF, and a code of what was
-- said of it (docs/decisions/0028). Of persons nothing; of what was at hand nothing, so no visit has it.

ALTER TABLE trace ADD COLUMN name TEXT NULL;
ALTER TABLE trace ADD COLUMN result TEXT NULL;
