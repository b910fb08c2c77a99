"""Our own copy of the registry: the month that was imported. It is not asked over the network."""

from balcao.providers.contract import Offer

SNAPSHOT = Offer("snapshot", "cópia dos dados abertos da Receita Federal", ("company",))
