"""The local copy of the registry: the imported month, not a network service."""

from balcao.providers.contract import Offer

SNAPSHOT = Offer("snapshot", "cópia dos dados abertos da Receita Federal", ("company",))
