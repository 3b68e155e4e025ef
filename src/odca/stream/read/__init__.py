"""Files to blocks of events."""
