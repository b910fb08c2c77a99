"""*Usuários*: the users of an account, and operators' memberships in it."""

from balcao.web.pages.members.pages import member, with_link

__all__ = ["member", "with_link"]
