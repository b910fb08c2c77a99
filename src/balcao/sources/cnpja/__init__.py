"""CNPJá's commercial API: company registry, state registrations, free-trade-zone registry."""

from balcao.sources.cnpja.adapter import SUBJECTS, Cnpja

__all__ = ["SUBJECTS", "Cnpja"]
