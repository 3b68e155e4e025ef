"""Model files: what they hold, how they are written whole or not at all, how they are read from anyone."""
