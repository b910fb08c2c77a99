"""*Usuários*: the users of an account, and operators' seats in it."""

from balcao.web.pages.members.pages import member, with_link

__all__ = ["member", "with_link"]
