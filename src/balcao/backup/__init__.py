"""Copies of everything that cannot be had again, made while serving, and brought back."""
