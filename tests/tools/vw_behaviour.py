"""Write tests/data/vw_behaviour.json: how Vowpal Wabbit reads lines of its own text format.

    python tests/tools/vw_behaviour.py        (needs vowpalwabbit; the tests that read the file do not)

A list, one object for each line:

    line        the line, without its newline (a carriage return before that is kept)
    skipped     true if VW makes no example of it; then nothing else is there but warnings
    label, importance, initial, tag
                as VW has them; a label of null is an example without a label
    features    [namespace, name, value] in VW's order, without the constant; the default namespace is "". VW's values are
                32-bit floats. A string is VW's string value (`colour:red`; fourth its weight, if that is not 1). Features without
                a name are told apart by VW: it counts them. NaN and Infinity are as Python's json has them
    warnings    what VW said, where it said anything: it reads on
    strict      what it raises with --strict_parse, where it raises: without that flag the line is read as above

Every line is a file of its own that VW reads with --audit, so that line ends count too. Label, importance and initial prediction are
those of the binding for the same line, and agree with what the command shows. Which part of an audited name is the namespace
is found by VW's hash, so every namespace and name is verified.
"""

import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import vowpalwabbit

OUT = Path(__file__).parent.parent / "data" / "vw_behaviour.json"
MASK, WORD = 2**18 - 1, 2**32 - 1
CONSTANT = 116060  # where -b 18 puts the constant
UNLABELED = 3.4028234663852886e38

PLAIN = [
    "1 | a",
    "-1 | a b",
    "1 | a:2 b:-0.5 c:1e-3",
    "0 | a",
    "2.5 | a",
    "1 |n a b",
    "1 |n a |m b",
    "1 | 12:0.5 7 0012",
]
LABELS = [
    "+1 | a", "1e0 | a", "1. | a", ".5 | a", "-.5 | a", "- | a", "+ | a", "1e | a", "1e+ | a", "1E2 | a", "1e-2 | a", "0x1 | a", "1,5 | a",
    "nan | a", "inf | a", "abc | a", "1abc | a", "--1 | a", "+-1 | a", "1e400 | a", "1e39 | a", "00001 | a", "123456789012345678901234567890 | a",
    " 1 | a", "  1  | a", "\t1 | a", "1\t| a", "1 \t| a", "1\t2\t| a", "1:2 | a", "unlabeled | a", "1 # | a",
]  # fmt: skip
BARS = ["| a", "|a", "|a b", " | a", "1| a", "1|a b", "1 |a", "1 | ", "1 |", "1", "1 2", "a", "", " ", "\t", "|", "||", "1 || a", "1 | | a", "1 |  | a", "|| a"]  # fmt: skip
IMPORTANCE = [
    "1 2 | a", "1 0 | a", "1 0.5 | a", "1 -1 | a", "1 1e-3 | a", "1 2 0.5 | a", "1 1 -0.25 | a", "1 2 3 4 | a", "1 x | a",
    "1 nan | a", "1 2 x | a", "1  2   0.5  | a", "1 2 nan | a", "1 inf | a",
]  # fmt: skip
TAGS = [
    "1 'tag | a", "1 'tag| a", "1 tag| a", "1 tag | a", "'tag | a", "'tag| a", "tag| a", "tag | a", "1 2 0.5 'tag | a", "1 2 0.5 tag| a", "1 2 tag| a",
    "1 2 3 4| a", "1 2 3| a", "1 2| a", "1 '| a", "1 ' | a", "1 ''tag | a", "1 't a g | a", "1 'a 'b | a", "1 'tag 2 | a", "1 tag| a | b", "1 'tag|n a",
    "1 'a'b| a", "1 \"tag\"| a", "1 'a:b| a", "1 'é| a", "1 2 'tag 0.5 | a", "1 #tag| a", "save_x| a", "1 -1| a",
]  # fmt: skip
NAMESPACES = [
    "1 |n:2 a b", "1 |n:0.5 a:3", "1 |n:0 a", "1 |n:-1 a", "1 |n: a", "1 |n:x a", "1 |n:2:3 a", "1 |:2 a", "1 |: a", "1 |n:nan a", "1 |n:1e2 a",
    "1 |n a |n b", "1 |n a|n b", "1 |n a|m b", "1 |n a |n:2 b", "1 |n a |m b |n c", "1 |nx a |ny b", "1 | a |n a", "1 |n", "1 |n |m a", "1 |n a |",
    "1 |n\ta", "1 |\ta", "1 |n  a", "1 |n^m a", "1 |n a:2 |n a:3", "1 |n:2 a |n b", "1 |1 a", "1 |n:2", "1 |n:2|m a", "1 |é a", "1 |n= a", "1 |'n a",
]  # fmt: skip
FEATURES = [
    "1 | :1", "1 | :", "1 | : a", "1 | a:", "1 | a: b", "1 | a:1:2", "1 | a:1:2 b", "1 | a::1", "1 | a::", "1 | ::1", "1 |n :1", "1 |n :1 :2", "1 |n a:",
    "1 | a:x", "1 |n a:x", "1 |n:2 a:x", "1 | a:x b:1", "1 | a:1x b", "1 | a:1,5 b", "1 | a:x:1", "1 | a:red a:blue", "1 | a:1e b", "1 | a:- b", "1 | a:+ b",
    "1 | a:. b", "1 | a:e5 b", "1 | a:0", "1 | a:0.0 b", "1 | a:-0 b", "1 | a:+2", "1 | a:.5 b:5. c:-.5", "1 | a:1e2 b:1E2 c:1e+2 d:1e-2", "1 | a:0x10",
    "1 | a:nan b", "1 | a:NaN b", "1 | a:inf b", "1 | a:-inf b", "1 | a:infinity b", "1 | a:1e39 b", "1 | a:1e400 b", "1 | a:1e-50 b", "1 | a:1e-40 b",
    "1 | a:123456789 b:16777217", "1 | a:0.1234567890123", "1 | a:--1 b", "1 | a:1e2.5 b", "1 | a:1_0 b", "1 | a:2\tb",
    "1 | a a", "1 | a:1 a:2", "1 | a:1 b a:-1", "1 |n a |m a", "1 |  a  b  ", "1 | a\tb", "1 | a\t\tb\t", "1 | a b ", "1 | a|", "1 | a|b", "1 | a|b c",
    "1 | a'b", "1 | 'a", "1 | a=b", "1 | a=b:2", "1 | \"a b\"", "1 | a\\ b", "1 | a\\x20b", "1 | a^b", "1 |n a^b", "1 | a#b", "1 | # a", "1 | a,b", "1 | a;b",
    "1 | é", "1 | é:2", "1 | 東京:0.5 naïve", "1 |東 京:2", "1 | 😀", "1 | a\u00a0b", "1 | a\u2028b", "1 | Constant", "1 | A a", "1 | 1 01 001", "1 | -1 +1 1.0",
    "1 | 1:1 1:2", "1 | a\x0bb", "1 | a\x0cb", "1 |n 12:2", "1 | a:x|n b", "1 | a:1|n b", "1 | a:|n b", "1 | a: |n b", "1 | a:1 |n: b", "1 | 4294967296 99999999999999999999", "1 | 0",
]  # fmt: skip
ENDS = [
    "1 | a\r",
    "1 | a:2\r",
    "1 | a \r",
    "\r",
    "1 |\r",
    "| a\r",
    "1 | a\r\r",
    "1 | a\rb",
    "1 'tag| a\r",
    "\ufeff1 | a",
    "1 | a:\r",
    "1\r",
]
CASES = [*PLAIN, *LABELS, *BARS, *IMPORTANCE, *TAGS, *NAMESPACES, *FEATURES, *ENDS]


def command(line: str, *flags: str) -> tuple[list[str], list[str]]:
    """What VW shows of a file of one line on stdout (the audit), and what it says on stderr."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "line.vw"
        path.write_bytes(line.encode() + b"\n")
        words = [sys.executable, "-m", "vowpalwabbit", "-d", str(path), "--loss_function", "logistic", "-P", "1"]
        words += ["--log_output", "stderr", "--driver_output", "stderr", *flags]
        done = subprocess.run(words, capture_output=True, cwd=folder, check=False)
    # Not splitlines(): names may hold any character but these.
    return done.stdout.decode().split("\n"), done.stderr.decode().split("\n")


def said(stderr: list[str]) -> list[str]:
    """Warnings and errors of reading; those of learning from what was read do not count."""
    found = [line for line in stderr if re.match(r"\[(warning|error|critical)\]", line)]
    learning = ("NAN prediction", "features have too much", "update is NAN", "is not in the range")
    kept = [line for line in found if not any(words in line for words in learning)]
    return list(dict.fromkeys(kept))


class Reader:
    """VW's own view of a line, by its binding."""

    def __init__(self) -> None:
        self._vw = vowpalwabbit.Workspace("--quiet --loss_function logistic")

    def read(self, line: str) -> dict[str, Any]:
        """Label, importance, initial prediction, tag, and the values without the constant's."""
        example = self._vw.example(line)
        label = shortest(example.get_simplelabel_label())
        found = {
            "label": None if label == UNLABELED else label,
            "importance": shortest(example.get_simplelabel_weight()),
            "initial": shortest(example.get_simplelabel_initial()),
            "tag": example.get_tag(),
            "values": [shortest(value) for index, value in example.iter_features() if index & MASK != CONSTANT],
        }
        self._vw.finish_example(example)
        return found


# Names: the audit shows namespace^name and name^value alike, and the hash tells them apart


def feature(shown: str, line: str, exact: float) -> list[Any]:
    """[namespace, name, value] of an audited feature, `namespace^name:index:value:weight`."""
    whole, index, value, _ = shown.rsplit(":", 3)
    assert abs(float(value) - exact) <= 1e-5 * abs(exact) or float(value) == exact, (line, shown, exact)
    declared = [
        (namespace, rest, hashed(namespace, 0) if namespace else 0)
        for namespace, rest in [("", whole), *splits(whole)]
        if re.search(rf"\|{re.escape(namespace)}([ \t|:]|$)", line)
    ]
    for namespace, name, base in declared:
        # A feature without a name has a number instead: how many without one came before it in the namespace.
        unnamed = name == "" and 0 <= int(index) - (base & MASK) < 10
        if unnamed or hashed(name, base) & MASK == int(index):
            return [namespace, name, exact]
    for (
        namespace,
        rest,
        base,
    ) in declared:  # `|a x` and `| a:x` are one feature to VW: it is the former where |a is there
        for name, text in splits(rest):
            if hashed(text, hashed(name, base)) & MASK == int(index):
                return [namespace, name, text] + ([] if exact == 1.0 else [exact])
    raise ValueError(f"no namespace and name of {shown!r} in {line!r} hash to its index.")


def splits(text: str) -> Iterator[tuple[str, str]]:
    for found in re.finditer(r"\^", text):
        yield text[: found.start()], text[found.end() :]


def hashed(text: str, seed: int) -> int:
    """VW's hash of a name: a number is added to the seed, anything else goes through MurmurHash3 (32 bits)."""
    if re.fullmatch(r"[0-9]+", text):
        return (int(text) + seed) & WORD
    data, h = text.encode(), seed
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        h ^= _scrambled(int.from_bytes(data[at : at + 4], "little"))
        h = (5 * (h << 13 & WORD | h >> 19) + 0xE6546B64) & WORD
    h ^= _scrambled(int.from_bytes(data[whole:], "little")) ^ len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & WORD
    h = (h ^ h >> 13) * 0xC2B2AE35 & WORD
    return h ^ h >> 16


def _scrambled(k: int) -> int:
    k = k * 0xCC9E2D51 & WORD
    return (k << 15 & WORD | k >> 17) * 0x1B873593 & WORD


def shortest(value: float) -> float:
    """A 32-bit float by its shortest text, as a line would have it."""
    return value if value == UNLABELED else float(str(np.float32(value)))


def reading(line: str) -> dict[str, Any]:
    """One object of the file."""
    stdout, stderr = command(line, "--audit")
    strict = [text for text in command(line, "--strict_parse")[1] if "(parse_example" in text]
    more = ({"warnings": said(stderr)} if said(stderr) else {}) | ({"strict": strict[0]} if strict else {})
    if "number of examples = 1" not in stderr:
        assert "number of examples = 0" in stderr, (line, stderr)
        return {"line": line, "skipped": True} | more
    head, audited = stdout[0], stdout[1]
    assert audited.startswith("\t"), (line, stdout)
    shown = [text for text in audited[1:].split("\t") if f":{CONSTANT}:" not in text]
    read = READER.read(line.rstrip("\r").removeprefix("\ufeff"))
    values = read.pop("values")
    features = [feature(text, line, value) for text, value in zip(shown, values, strict=True)]
    check_label(line, read["label"], read["importance"], stderr)
    assert read["tag"] == (head.split(" ", 1)[1] if " " in head else ""), (line, head, read)
    return {"line": line, **read, "features": features} | more


def check_label(line: str, label: float | None, importance: float, stderr: list[str]) -> None:
    """The command's own label and weight are those of the binding."""
    total = next(float(text.split("=")[1]) for text in stderr if text.startswith("weighted example sum"))
    assert total == importance or abs(total - importance) < 1e-6 or math.isnan(total), (line, total, importance)
    shown = [text.split() for text in stderr if re.match(r"(n\.a\.|[\d.]+|nan|inf) +(n\.a\.|[\d.]+|nan|inf) +1 ", text)]
    if shown and not shown[0][4].endswith("..."):
        told = shown[0][4]
        agrees = told == "unknown" if label is None else abs(float(told) - label) < 1e-4 * max(1.0, abs(label))
        assert agrees or label in {float("inf"), float("-inf")}, (line, told, label)


READER = Reader()

if __name__ == "__main__":
    with ThreadPoolExecutor(2) as pool:
        readings = list(pool.map(reading, dict.fromkeys(CASES)))
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in readings)
    OUT.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(f"wrote {len(readings)} lines to {OUT}")
