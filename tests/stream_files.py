"""Small files of events, and models of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from odca import stream
from odca.models.options import ModelOptions
from odca.stream.model import StreamModel

COUNTRIES = ("NZ", "FR", "IT", "PE")


def events(n: int = 200, seed: int = 0, labels: Sequence[str] = ("-1", "1")) -> list[dict[str, Any]]:
    """Events whose label depends on two numbers and a country."""
    rng = np.random.default_rng(seed)
    out = []
    for number in range(n):
        a, b, c = rng.normal(size=3).round(3).tolist()
        country = COUNTRIES[int(rng.integers(len(COUNTRIES)))]
        score = a - b + 2.0 * (country == "NZ") + 0.3 * float(rng.normal())
        place = min(int((score + 2.0) / 4.0 * len(labels)), len(labels) - 1) if score > -2.0 else 0
        event = {"label": labels[place], "tag": f"e{number}", "a": a, "b": b, "c": c, "country": country}
        out.append({**event, "score": score, "time": float(number)})
    return out


def vw(event: dict[str, Any], *, order: Sequence[str] = ("a", "b", "c"), label: str = "label") -> str:
    """A line of VW's text. Without a label: label=""."""
    head = f"{event[label]} '" if label else "'"
    numbers = " ".join(f"{name}:{event[name]}" for name in order)
    return f"{head}{event['tag']}|n {numbers} |country {event['country']}\n"


def libsvm(event: dict[str, Any]) -> str:
    """A line of libsvm's text."""
    return f"{event['label']} 1:{event['a']} 2:{event['b']} 3:{event['c']} {10 + COUNTRIES.index(event['country'])}:1\n"


def write(path: Path, lines: Sequence[str]) -> str:
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def trained(path: str, problem: ModelOptions = ModelOptions(), **how: Any) -> StreamModel:  # noqa: B008 - frozen
    """What `odca train` does."""
    with stream.open(path, **how) as blocks:
        model = StreamModel.begin(problem, blocks.schema, blocks.sample)
        if blocks.vocabulary is not None:
            model.vocabulary = blocks.vocabulary
        for block in blocks:
            model.learn(block)
    return model
