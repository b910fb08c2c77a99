"""*Usuários*: the users of an account, and operators' memberships in it."""

from balcao.web.pages.members.pages import link_page, member, new_link, with_link

__all__ = ["link_page", "member", "new_link", "with_link"]
