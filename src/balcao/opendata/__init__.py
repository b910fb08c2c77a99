"""The CNPJ open data: import a month, read it, make a fictitious one."""
