"""Events and models to files of other formats."""
