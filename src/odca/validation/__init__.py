"""Validation of arguments, once, at the boundary."""
