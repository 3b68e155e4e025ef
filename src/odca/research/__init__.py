"""Research: baselines, data sets, and the paper's experiments."""
