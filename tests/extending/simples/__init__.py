"""An operation outside the contract: whether a company opted for Simples Nacional."""
