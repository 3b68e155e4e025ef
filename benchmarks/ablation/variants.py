"""The automatic mode without one of its parts: which text of the sources is replaced by what.

The parts are no options, and there is no second code path for this: a variant is compiled from a copy of the sources with a few lines changed.
Every text must occur exactly once where it is replaced, so a variant that no longer fits is noticed.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "cpp"
EXPERTS = "odca/experts"


@dataclass(frozen=True)
class Variant:
    """`changes` are (file, text, replacement). `chosen_on` says on which streams the choices inside the part were made."""

    name: str
    chosen_on: str = ""
    changes: tuple[tuple[str, str, str], ...] = ()
    products: int = -1
    without: tuple[str, ...] = field(default=())
    """Keys of experts to be taken out of the table, with their twins."""


def table_without(text: str, keys: tuple[str, ...]) -> str:
    """The table of experts without some of its lines."""
    for key in keys:
        for each in (key, f"{key}_products"):
            text, found = re.subn(rf'^    {{"{re.escape(each)}",.*\n', "", text, flags=re.MULTILINE)
            if found != 1 and not (each.endswith("_products") and found == 0):
                raise ValueError(f"the table has {found} lines of {each!r}, not one.")
    return text


def write(variant: Variant, folder: Path) -> None:
    """Apply the changes to the sources of the core in `folder`."""

    def rewrite(name: str, change: Callable[[str], str]) -> None:
        path = folder / EXPERTS / name
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")

    def replaced(text: str, old: str, new: str) -> str:
        if text.count(old) != 1:
            raise ValueError(f"{variant.name}: {old!r} occurs {text.count(old)} times, not once.")
        return text.replace(old, new)

    rewrite("experts.hpp", lambda text: table_without(text, variant.without))
    for name, old, new in variant.changes:
        rewrite(name, lambda text, old=old, new=new: replaced(text, old, new))


def without_mixer(place: int, *more: tuple[str, str, str]) -> tuple[tuple[str, str, str], ...]:
    """The final mixture has two mixers, and that of this place has no weight."""
    weights = ", ".join("0.0" if m == place else "0.5" for m in range(3))
    return (
        ("mixers.hpp", "weight = {1.0 / mixers, 1.0 / mixers, 1.0 / mixers}", f"weight = {{{weights}}}"),
        (
            "mixers.hpp",
            "for (double& w : weight) w = std::max((1.0 - share) * w / total + share / mixers, least_weight);",
            f"for (int m = 0; m < mixers; ++m) weight[m] = m == {place} ? 0.0 : std::max((1.0 - share) * weight[m] / total + share / 2.0, least_weight);",
        ),
        *more,
    )


ALL = Variant("everything")
SEVENTEEN = "the 17 streams"
VARIANTS = (
    Variant(
        "products of features",
        "the budget of 128 on phishing (with 64 behind VW -q ::); that pairs in use count four times, the candidates and the first "
        "choice after 32 events: the 17 streams, in detail not recorded",
        products=0,
    ),
    Variant(
        "full covariance (2 experts)",
        "memory 0.998 and the two memories: the 17 streams, F-16 first of all; 64 features: cost",
        without=("full_newton", "full_newton_0.998"),
    ),
    Variant("isotropic (3)", SEVENTEEN, without=("isotropic_1/64", "isotropic_1/2", "isotropic_8")),
    Variant("AdaGrad", SEVENTEEN, without=("adagrad",)),
    Variant(
        "AdaGrad, proportionate",
        "the 17 streams, and 5 of 500 generated features",
        changes=(
            (
                "products.cpp",
                "first_product_expert + places_of<Kind::proportionate>[0]",
                "first_product_expert + places_of<Kind::newton>[0]",
            ),
            (
                "products.cpp",
                "write_slope(slot, places_of<Kind::proportionate>[0], v)",
                "write_slope(slot, places_of<Kind::newton>[0], v)",
            ),
        ),
        without=("proportionate",),
    ),
    Variant("diagonal Newton (2)", SEVENTEEN, without=("newton_0.2", "newton_4")),
    Variant(
        "diagonal Newton, short memory",
        SEVENTEEN,
        changes=(
            ("steps.cpp", "Pack4::all(pace.recent_memory[0])", "Pack4::all(0.0)"),
            ("feature_table.hpp", "static_assert(recent_experts == 1 &&", "static_assert("),
        ),
        without=("newton_recent",),
    ),
    Variant("label means (3 of 4)", SEVENTEEN, without=("last_label", "mean_label_0.7", "mean_label_0.95")),
    Variant("Bayes mixer", SEVENTEEN, without_mixer(0)),
    Variant(
        "simplex mixer",
        SEVENTEEN,
        without_mixer(
            1,
            (
                "mixers.hpp",
                "  void learn(const double* x, double lambda, double strength, double share) {\n",
                "  void learn(const double* x, double lambda, double strength, double share) {\n    return;\n",
            ),
        ),
    ),
    Variant(
        "Kalman mixer",
        SEVENTEEN,
        without_mixer(
            2,
            ("mixers.cpp", "  Pack4 sum[packs];\n", "  return {};\n  Pack4 sum[packs];\n"),
            ("mixers.cpp", "  const PerExpert& g = event.gain;\n", "  return;\n  const PerExpert& g = event.gain;\n"),
        ),
    ),
    Variant(
        "bound of wild labels",
        "the five number streams with wild labels put in, and generated ones; constants in detail not recorded",
        (("mixture.cpp", "task_ == Task::numbers ? label_to_learn(work, y, c) : y;", "y;"),),
    ),
    Variant(
        "bound of far values",
        "thirty deviations: criteo, elec2 and toulouse_bikes (steady answer), generated Cauchy features, covtype2",
        (("feature_table.cpp", "furthest_value = 30.0", "furthest_value = 1e100"),),
    ),
    Variant(
        "averages of weights (3 members)",
        "which experts are averaged, and the exponent 3: the 17 streams, in detail not recorded",
        (("experts.hpp", "Steady::both) each(Member{k, true});", "Steady::both) each(Member{k, false});"),),
    ),
    Variant(
        "steady answer",
        "frozen anew after half as many events: elec2, bike_hour, covtype7, toulouse_bikes and the sample clicks; the share of "
        "products: the 17 streams; strengths and window: not recorded",
        (
            ("steady.hpp", "return events >= std::max(first_freeze, next);", "return events < 0 && next < 0;"),
            (
                "steps.cpp",
                "return (Pack4::all(few_updates) >= n) | (fours(n) != fours(n - c));",
                "return (Pack4::all(-1.0) >= n) & (fours(n) != fours(n - c));",
            ),
        ),
    ),
    Variant(
        "intervals",
        "the five number streams, elec2, covtype2, covtype7, letter, spamassassin and w8a",
        (
            (
                "mixture.cpp",
                "uncertainty_.live.add(score, events.weight ? events.weight[row] : 1.0);",
                "static_cast<void>(score);",
            ),
            ("mixture.cpp", "uncertainty_.steady.add(*score + (y - learned), weight);", "static_cast<void>(weight);"),
        ),
    ),
)
