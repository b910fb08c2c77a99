"""Balcão: a counter for Brazilian registries. Start reading at `balcao.lookup`."""

__version__ = "0.1.0"
