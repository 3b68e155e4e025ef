"""Text file to model, beside Vowpal Wabbit, scikit-learn and river: `python -m benchmarks.versus`."""
