"""A schema as a file that people can read and change: JSON, with one column or key per line.

    {
      "format": "csv",
      "delimiter": ",",
      "header": true,
      "quote": "double",
      "decimal": ".",
      "na_values": null,
      "day_first": null,
      "columns": [
        {"name": "at", "use": "date"},
        {"name": "price", "use": "number"},
        {"name": "id", "use": "ignored"},
        {"name": "sold", "use": "label"}
      ]
    }

The use of a column is its kind (number, category, text, date, boolean, any), its role (label, weight, offset, time, group, tag), or ignored.
"""

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

from odca.features.spec import KINDS, Features, Kind
from odca.io.atomic import replacing
from odca.io.container import from_json
from odca.stream.read.guessing import FITTING
from odca.stream.read.schema import FORMATS, Column, Roles, Schema, with_time

SETTINGS = ("format", "delimiter", "header", "quote", "decimal", "na_values", "day_first", "columns")
ROLES = tuple(each.name for each in fields(Roles))
IGNORED = "ignored"
USES = (*get_args(Kind), *ROLES, IGNORED)


def write_schema(path: Path, schema: Schema, uses: Sequence[tuple[str, str]]) -> None:
    """Write a schema, with the use of each of its columns or keys."""
    settings = {
        "format": schema.format,
        "delimiter": schema.delimiter,
        "header": schema.header,
        "quote": "double" if schema.quoted else "none",
        "decimal": schema.decimal,
        "na_values": schema.features.na_values,
        "day_first": schema.features.day_first,
    }
    lines = [f'  "{name}": {json.dumps(value, ensure_ascii=False)},' for name, value in settings.items()]
    columns = [json.dumps({"name": name, "use": use}, ensure_ascii=False) for name, use in uses]
    text = "\n".join(["{", *lines, '  "columns": [', ",\n".join(f"    {column}" for column in columns), "  ]", "}", ""])
    with replacing(path) as file:
        file.write(text.encode())


def read_schema(path: Path, features: Features) -> Schema:
    """The schema of a file that `write_schema` wrote, and that may have been changed; with these features. ValueError if it is invalid."""
    try:
        found = from_json(path.read_text(encoding="utf-8"))
        return _schema_of(found, features)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"it has no {error}." if isinstance(error, KeyError) else error
        raise ValueError(f"{path} is not a schema that can be read: {what}") from error


def _schema_of(found: dict[str, Any], features: Features) -> Schema:
    unknown = sorted({*found} - {*SETTINGS})
    if unknown:
        raise ValueError(f"there is no setting {unknown[0]!r}. The settings are {', '.join(SETTINGS)}.")
    if found["format"] not in FORMATS or found["quote"] not in {"double", "none"}:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, and quote double or none.")
    if found.setdefault("decimal", ".") not in {".", ","}:  # older files do not say it
        raise ValueError(f"decimal must be '.' or ','; got {found['decimal']!r}.")
    if type(found["header"]) is not bool or type(found["delimiter"]) is not str or len(found["delimiter"]) != 1:
        raise ValueError("header must be true or false, and delimiter one character.")
    uses = {column["name"]: column["use"] for column in found["columns"]}
    if len(uses) < len(found["columns"]):
        raise ValueError("a column is there twice.")
    for name, use in uses.items():
        if type(name) is not str or use not in USES:
            raise ValueError(f"the use of {name!r} must be one of {', '.join(USES)}; got {use!r}.")
    roles = Roles(**_once({use: name for name, use in uses.items() if use in ROLES}, uses))
    na_values = features.na_values if features.na_values is not None else found["na_values"]
    features = replace(
        features,
        na_values=None if na_values is None else tuple(na_values),
        day_first=found["day_first"] if features.day_first is None else features.day_first,
        ignore=(
            *features.ignore,
            *(name for name, use in uses.items() if use == IGNORED and name not in features.ignore),
        ),
    )
    kinds: dict[str, Kind] = {name: use for name, use in uses.items() if use in KINDS}
    guessed = tuple(name for name, kind in kinds.items() if kind in FITTING and name not in features.kinds())
    schema = Schema(
        format=found["format"],
        features=features,
        roles=roles,
        delimiter=found["delimiter"],
        header=found["header"],
        quoted=found["quote"] == "double",
        decimal=found["decimal"],
        guessed=guessed,
    )
    if schema.format == "jsonl":
        said = {name: kind for name, kind in kinds.items() if kind not in {"number", "category"}}
        return replace(schema, features=features.of_kinds(said), guessed=tuple(set(guessed) & set(said)))
    columns = tuple(Column(name, features.kinds().get(name, kinds.get(name, "any"))) for name in uses)
    return replace(schema, columns=with_time(columns, roles))


def _once(roles: dict[str, str], uses: dict[str, str]) -> dict[str, str]:
    for role in roles:
        if list(uses.values()).count(role) > 1:
            raise ValueError(f"{role} is the use of two columns; one can have it.")
    return roles
