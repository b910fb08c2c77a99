"""The CNPJ open data: importing a month, reading it, generating a fictitious one."""
