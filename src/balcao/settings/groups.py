"""The groups of settings, by purpose, in the order of the manual and of the operators' page."""

from enum import Enum

from pydantic.fields import FieldInfo


class Group(Enum):
    """The group of a setting, given in the annotation of its field; the value is its title."""

    DATA = "Dados"
    SERVER = "Servidor e rede"
    MONITORING = "Log e monitoramento"
    SOURCES = "Fontes"
    PLANS = "Planos, limites e preços"
    OPENDATA = "Dados abertos e sandbox"
    RETENTION = "Prazos de guarda"
    BACKUP = "Backups"
    SESSIONS = "Sessões da aplicação"
    MAIL = "E-mail"
    WEBHOOKS = "Webhooks"


def group_of(field: FieldInfo) -> Group:
    """Return the group of a setting. Raises `TypeError` for a setting without one."""
    for mark in field.metadata:
        if isinstance(mark, Group):
            return mark
    raise TypeError("a setting without a group: annotate its field with one")
