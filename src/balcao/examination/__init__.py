"""Checks of an installation, for `balcao doctor` and the operators' page of health."""
