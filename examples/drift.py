"""Clicks whose pattern is reversed half-way: the loss over the stream beside the baselines, and when the change was noticed."""

import sys

import odca
from odca import datasets

model = odca.train(datasets.clicks(), label="click")
model.metrics.plot(sys.argv[1])
print(model.drift)
