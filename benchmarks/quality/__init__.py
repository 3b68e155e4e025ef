"""How well each event of real streams is predicted before it is learned, beside peers: `python -m benchmarks.quality`."""
