"""Infosimples: automated consultations of the states' own pages."""

from balcao.sources.infosimples.adapter import Infosimples

__all__ = ["Infosimples"]
