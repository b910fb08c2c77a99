"""Regularity with the FGTS (CRF)."""
