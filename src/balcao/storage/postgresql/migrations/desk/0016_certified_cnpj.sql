-- As SQLite's 0020: the CNPJ that a company's federal certificate names.

ALTER TABLE receipt ADD COLUMN cnpj text COLLATE "C" NULL;
