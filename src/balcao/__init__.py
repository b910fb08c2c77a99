"""Balcão: a counter for Brazilian registries. Start reading at `balcao.lookup`."""

__version__ = "1.0.0"
