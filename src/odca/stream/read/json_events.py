"""JSON lines in memory as blocks of events, for a model of any schema: what a service is sent."""

from dataclasses import replace

from odca import _core
from odca.features.date_spans import DateSpans
from odca.features.spec import Features
from odca.stream.read.blocks import Block
from odca.stream.read.chunks import Chunk
from odca.stream.read.guessing import dated, key_tallies
from odca.stream.read.history_fields import with_history
from odca.stream.read.schema import Roles, Schema


def schema_of(sample: bytes, features: Features, roles: Roles) -> Schema:
    """The schema of JSON lines that begin with the sample. What the features say of a field comes before what its values look like."""
    dates = key_tallies(sample, features, roles.by_name())[1] if features.find_dates else {}
    found = dated(features.of_kinds(dict.fromkeys(dates, "date")), dates)
    schema = Schema(format="jsonl", features=found, roles=roles, guessed=tuple(dates))
    schema = with_history(schema, is_known=False)
    first = JsonReader(schema).read(sample, None, skip_bad=True)
    return replace(schema, dates=DateSpans.references(first.rows))


class JsonReader:
    """Reads JSON lines as events of a schema, whatever format its data had. Any number of threads may use one.

    The keys of an event are its columns, as in `read_events`. The `tag` of an event is what stands under `tag`.
    """

    def __init__(self, schema: Schema, tag: str | None = None) -> None:
        if schema.has_indices:
            raise ValueError("the model's features are libsvm's indices, but features of events have names.")
        roles = schema.roles if tag is None else replace(schema.roles, tag=tag)
        columns = {column.name: column.kind for column in schema.columns}
        self._roles = roles.native(schema.time_feature)
        self._schema, self._nested = replace(schema, features=schema.features.of_kinds(columns)), not columns
        self._learned = self._schema.native_features(nested=self._nested)
        self._predicted = DateSpans(), self._learned

    def read(
        self,
        data: bytes,
        vocabulary: _core.Vocabulary | None,
        *,
        days: DateSpans | None = None,
        skip_bad: bool = False,
    ) -> Block:
        """The events of whole lines, whose new names are not numbered yet: see `number`. StreamError for the first bad line.

        days: for events that are predicted, the days that the model has learned (`schema.dates`); None for events that are learned.
        skip_bad: leave bad lines out; the block has them.
        """
        rows = _core.read_json(data, self._roles, self._features(days), skip_bad, vocabulary)
        block = Block(rows, Chunk(data, "the request", 0, 0, first=True, last=True), 0)
        if block.bad_count and not skip_bad:
            raise block.bad_lines()[0]
        return block

    def _features(self, days: DateSpans | None) -> _core.TextFeatures:
        if days is None or not days.spans:
            return self._learned
        known, features = self._predicted
        if known is not days:
            features = replace(self._schema, dates=days).native_features(nested=self._nested, predicts=True)
            self._predicted = days, features
        return features


def number(block: Block, vocabulary: _core.Vocabulary | None, *, grow: bool) -> None:
    """Number the names of a block that are not in the vocabulary yet: new names are added if it is to `grow`, else ignored."""
    if vocabulary is not None:
        block.rows.resolve(vocabulary.absorb(block.rows, grow), len(vocabulary))
