"""Which experts the automatic mode relies on, before the pattern is reversed and after."""

import sys

import odca
from odca import datasets

model = odca.train(datasets.clicks(), label="click")
report = model.report()
report.plot(sys.argv[1])
print(report.in_words())
