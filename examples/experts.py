"""Which experts the automatic mode trusts: before the pattern turns round, and after."""

import sys

import odca
from odca import datasets

model = odca.train(datasets.clicks(), label="click")
report = model.report()
report.plot(sys.argv[1])
print(report.in_words())
