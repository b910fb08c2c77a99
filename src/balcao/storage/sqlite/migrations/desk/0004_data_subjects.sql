-- What is kept about a natural person is found by a keyed hash of their CPF.

ALTER TABLE receipt ADD COLUMN document_hash BLOB NULL;  -- keyed, of a CPF

CREATE INDEX receipt_of_person ON receipt (document_hash) WHERE document_hash IS NOT NULL;

-- Every process counts these now and then: what others erased it must not remember.
CREATE INDEX audit_entry_of_erasure ON audit_entry (action) WHERE action = 'subject.erase';
