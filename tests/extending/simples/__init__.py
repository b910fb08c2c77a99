"""An operation that the contract does not have: whether a company opted for Simples Nacional."""
