"""Numbers formatted for people: 1,234,567; 3.2 M/s; 12.3 s; 45 MB. An unknown number is a dash."""

import math

UNKNOWN = "-"


def count(number: float | None) -> str:
    """A number of things, or a sum of weights.

    >>> count(1234567), count(1234.5)
    ('1,234,567', '1,234.5')
    """
    if number is None or not math.isfinite(number):
        return UNKNOWN
    return f"{number:,.0f}" if number == round(number) else f"{number:,.6g}" if number < 1e6 else f"{number:,.0f}"


def decimal(number: float | None) -> str:
    """A loss or an error: six decimals, fewer for large numbers, scientific notation for tiny and huge ones.

    >>> decimal(0.25), decimal(18406.139508), decimal(1.5e-7), decimal(None)
    ('0.250000', '18406.140', '1.500e-07', '-')
    """
    if number is None or not math.isfinite(number):
        return UNKNOWN if number is None or math.isnan(number) else str(float(number))
    if number != 0.0 and not 1e-3 <= abs(number) < 1e6:
        return f"{number:.3e}"
    return f"{number:.6f}" if abs(number) < 100.0 else f"{number:.3f}"


def percent(share: float | None) -> str:
    """A fraction as a percentage.

    >>> percent(0.9523)
    '95.2 %'
    """
    return UNKNOWN if share is None or not math.isfinite(share) else f"{100.0 * share:.1f} %"


def rate(per_second: float, unit: str = "") -> str:
    """A rate per second.

    >>> rate(3.24e6), rate(45.1e6, "B"), rate(950)
    ('3.2 M/s', '45 MB/s', '950/s')
    """
    number, prefix = _scaled(per_second)
    return f"{number} {prefix}{unit}/s" if prefix or unit else f"{number}/s"


def size(n_bytes: float) -> str:
    """A number of bytes.

    >>> size(45_300_000)
    '45 MB'
    """
    number, prefix = _scaled(n_bytes)
    return f"{number} {prefix}B"


def duration(seconds: float) -> str:
    """A duration.

    >>> duration(0.042), duration(12.34), duration(125), duration(3720)
    ('0.04 s', '12.3 s', '2 min 05 s', '1 h 02 min')
    """
    if seconds < 1.0:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60:02} min"


def truncate(text: str, width: int) -> str:
    """A text cut to a width.

    >>> truncate("comp.graphics", 10), truncate("UP", 10)
    ('comp.grap~', 'UP')
    """
    return text if len(text) <= width else text[: width - 1] + "~"


def plural(number: int, thing: str) -> str:
    """A number of things, in singular or plural.

    >>> plural(1, "line"), plural(1200, "line")
    ('1 line', '1,200 lines')
    """
    return f"{count(number)} {thing}" if number == 1 else f"{count(number)} {thing}s"


def _scaled(number: float) -> tuple[str, str]:
    """A number in thousands, millions, ... (with one decimal below ten), and the unit's prefix."""
    prefixes = ["", "k", "M", "G", "T"]
    power = 0
    while number >= 999.5 and power < len(prefixes) - 1:
        number /= 1000.0
        power += 1
    return f"{number:.1f}" if power and number < 9.95 else f"{number:.0f}", prefixes[power]
