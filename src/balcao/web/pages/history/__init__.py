"""*Histórico*: an account's requests, as a list, as files and one by one."""
