"""*Usuários*: the users of an account, and operators' memberships in it."""
