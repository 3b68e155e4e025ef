"""Checks of what a user gives, once, at the boundary."""
