"""The features of texts in plain Python, one text after another: the specification that tests compare with."""

import math
import re
from collections import Counter

from odca.features import Features


class SlowTexts:
    """Learns texts, and says which features a text has after those."""

    def __init__(self, features: Features) -> None:
        self.features = features
        self.events = 0
        self.with_term: Counter[str] = Counter()

    def terms(self, text: str) -> Counter[str]:
        """The terms of a text with their counts."""
        text = text[: self.features.text_length].lower()
        words = re.findall(r"\w+", text)
        found = [
            "t=" + " ".join(words[end - size : end])
            for end in range(1, len(words) + 1)
            for size in range(1, min(self.features.ngrams, end) + 1)
        ]
        fewest, most = self.features.chars or (1, 0)
        for token in text.split():
            padded = f" {token} "
            for size in range(fewest, most + 1):
                found += [f"t.chars={padded[k : k + size]}" for k in range(max(len(padded) - size, 0) + 1)]
                if size >= len(padded):
                    break
        return Counter(found)

    def values(self, text: str) -> dict[str, float]:
        """The features of a text, from what was learned before."""
        out: dict[str, float] = {}
        for term, count in self.terms(text).items():
            worth = 1.0 + math.log(count) if self.features.sublinear else float(count)
            if self.features.tf_idf:
                worth *= math.log((1 + self.events) / (1 + self.with_term[term])) + 1.0
            out[term] = worth
        norm = math.sqrt(math.fsum(value**2 for value in out.values())) if self.features.unit_norm else 1.0
        return {term: value / norm for term, value in out.items()}

    def learn(self, text: str) -> None:
        """Count the text."""
        self.events += 1
        self.with_term.update(self.terms(text).keys())
