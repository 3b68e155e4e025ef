"""What each part of the automatic mode is worth, and what it costs."""
