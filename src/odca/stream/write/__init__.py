"""Writing events and models to files of other formats."""
