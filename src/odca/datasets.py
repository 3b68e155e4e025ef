"""Four small streams to try things with: generated, the same on every machine, nothing to download.

| name | what happens | label |
|---|---|---|
| `clicks` | ads are shown; half-way, the pattern is reversed, and new ads keep appearing | `click`: 0 or 1 |
| `payments` | card payments, of which a few are frauds; a fraud is `reported` hours or days later, and half-way a new trick appears | `fraud`: 0 or 1 |
| `load` | the electric load of three stations, every hour | `load`: a number |
| `messages` | short messages, some of them spam, whose words change | `kind`: "spam" or "ham" |

Each is a list of events in order, an event being a dictionary:

>>> from odca import datasets
>>> first = datasets.clicks(events=1000)[0]
>>> first["site"], first["device"], first["click"]
('recipes', 'mobile', 0)

`odca sample clicks` writes the same as CSV.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import numpy as np

Event: TypeAlias = dict[str, Any]

START = datetime(2026, 1, 5, tzinfo=UTC)
"""A Monday."""
SITES = ("news", "sport", "weather", "mail", "games", "recipes")
DEVICES = ("desktop", "mobile", "tablet")
COUNTRIES = ("DE", "FR", "GB", "NZ", "US")
MERCHANTS = ("groceries", "travel", "electronics", "fuel", "gift cards", "restaurants")
STATIONS = ("harbour", "hill", "mill")
EVERYDAY = """
    are you coming home late tonight dinner is ready mum says hello see you at the station tomorrow thanks for lunch the
    meeting moved to three can we talk about the report did you feed the cat happy birthday have fun call me when you
    arrive train is delayed again bring milk and bread please what time does the film start i left my keys at work
    """
SPAM = """
    free prize winner claim now cash reward urgent account suspended verify click link limited offer credit approved
    loan guaranteed call this number text stop to end exclusive deal cheap pills discount today only act fast
    """
LATER_SPAM = "crypto wallet parcel customs fee delivery missed bitcoin double investment token airdrop tracking pay"


def clicks(events: int = 20_000, *, seed: int = 0) -> list[Event]:
    """Ads that are shown on sites, and whether they are clicked: three a minute.

    Half-way, as the pages are redesigned, sites and devices whose visitors clicked often become those whose visitors click seldom.
    A new ad appears every 500 events; some ads are good.
    """
    rng = np.random.default_rng(seed)
    site, device, age = rng.integers(6, size=events), rng.integers(3, size=events), rng.integers(16, 80, size=events)
    ad = np.arange(events) // 500 + 20 - rng.integers(20, size=events)
    quality = rng.normal(0.0, 0.6, size=int(ad.max(initial=0)) + 1)
    price = np.round(rng.lognormal(3.0, 0.7, size=events), 2)
    minute = np.arange(events) / 3.0
    evening = np.cos((minute / 60.0 - 20.0) * np.pi / 12.0)
    turn = np.where(np.arange(events) < events // 2, 1.0, -1.0)
    taste = np.array([-1.0, 1.5, -0.5])[device] + np.array([0.0, 1.2, -1.2, -0.6, 1.5, -0.9])[site]
    odds = -1.0 + 2.0 * turn * taste + 0.5 * evening + quality[ad]
    odds += 0.8 * (device == 1) * (site == 4) - 0.01 * price - 0.02 * (age - 40) * (site == 4)
    click = rng.random(events) < _probability(odds)
    return [
        {
            "time": _written(START + timedelta(minutes=float(minute[n]))),
            "site": SITES[site[n]],
            "device": DEVICES[device[n]],
            "age": int(age[n]),
            "ad": f"ad{ad[n]}",
            "price": float(price[n]),
            "click": int(click[n]),
        }
        for n in range(events)
    ]


def payments(events: int = 20_000, *, seed: int = 0) -> list[Event]:
    """Card payments, one every 90 seconds; about one in thirty is a fraud.

    `reported` says when it is known what a payment was: of a fraud after a few hours or days, of the others after three days. From
    half-way on, many small payments for gift cards are frauds.
    """
    rng = np.random.default_rng(seed)
    merchant, country = rng.integers(6, size=events), rng.integers(5, size=events)
    abroad = rng.random(events) < 0.12
    amount = np.round(rng.lognormal(3.2 + 0.5 * np.array([0, 2, 2, 0, 0, 0])[merchant], 0.8), 2)
    card_age = rng.integers(1, 3000, size=events)
    seconds = 90.0 * np.arange(events)
    night = np.cos((seconds / 3600.0 - 3.0) * np.pi / 12.0)
    new_trick = (np.arange(events) >= events // 2) & (merchant == 4) & (amount < 40.0)
    odds = (
        -4.9 + 2.0 * abroad + 0.004 * np.minimum(amount, 800.0) + 0.3 * night + 1.2 * (card_age < 60) + 4.0 * new_trick
    )
    odds += 1.5 * abroad * (merchant == 2)
    fraud = rng.random(events) < _probability(odds)
    delay = np.where(fraud, np.minimum(rng.exponential(18.0 * 3600.0, size=events), 72.0 * 3600.0), 72.0 * 3600.0)
    return [
        {
            "id": f"p{n}",
            "time": _written(START + timedelta(seconds=float(seconds[n]))),
            "amount": float(amount[n]),
            "merchant": MERCHANTS[merchant[n]],
            "country": COUNTRIES[country[n]],
            "abroad": bool(abroad[n]),
            "card_age": int(card_age[n]),
            "fraud": int(fraud[n]),
            "reported": _written(START + timedelta(seconds=float(seconds[n] + delay[n]))),
        }
        for n in range(events)
    ]


def load(events: int = 9_000, *, seed: int = 0) -> list[Event]:
    """The electric load of three stations in megawatts, every hour: by the hour, the weekday, the temperature, and the hours before."""
    rng = np.random.default_rng(seed)
    hours = -(-events // 3)
    weather = np.zeros(hours)
    for n in range(1, hours):
        weather[n] = 0.98 * weather[n - 1] + rng.normal(0.0, 0.7)
    noise, rows = np.zeros(3), []
    for hour in range(hours):
        now = START + timedelta(hours=hour)
        daily = np.cos((now.hour - 18.0) * np.pi / 12.0) + 0.5 * np.cos((now.hour - 8.0) * np.pi / 6.0)
        season = -9.0 * np.cos(2.0 * np.pi * hour / (24.0 * 365.0))
        temperature = 10.0 + season + weather[hour] + 3.0 * np.cos((now.hour - 15.0) * np.pi / 12.0)
        noise = 0.9 * noise + rng.normal(0.0, 1.0, size=3)
        for station in range(3):
            base, wave, heating = ((60.0, 9.0, 1.1), (35.0, 6.0, 0.5), (90.0, 14.0, 0.3))[station]
            value = base + wave * daily * (0.6 if now.weekday() >= 5 else 1.0) + heating * max(18.0 - temperature, 0.0)
            rows.append(
                {
                    "time": _written(now),
                    "station": STATIONS[station],
                    "temperature": round(float(temperature), 1),
                    "load": round(float(value + noise[station]), 2),
                }
            )
    return rows[:events]


def messages(events: int = 6_000, *, seed: int = 0) -> list[Event]:
    """Short messages, a quarter of them spam. From half-way on spam has other words than before."""
    rng = np.random.default_rng(seed)
    everyday, early, later = EVERYDAY.split(), SPAM.split(), LATER_SPAM.split()
    rows = []
    for n in range(events):
        spam = bool(rng.random() < 0.25)
        own = (early if n < events // 2 else later) if spam else everyday
        words = [str(rng.choice(own if rng.random() < 0.6 else everyday)) for _ in range(int(rng.integers(4, 14)))]
        rows.append({"text": " ".join(words), "kind": "spam" if spam else "ham"})
    return rows


STREAMS: dict[str, Callable[..., list[Event]]] = {
    "clicks": clicks,
    "payments": payments,
    "load": load,
    "messages": messages,
}
"""The streams by their names."""


def _probability(odds: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-odds))


def _written(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
