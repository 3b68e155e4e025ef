"""ARFF: the header says what the columns hold, and the rows have the features of the same table as CSV."""

import gzip
from pathlib import Path

import pytest

import odca
from odca import stream

HEADER = """% a comment
@RELATION 'rented flats'

@attribute 'the area' numeric
@attribute city {Rome, 'New York', "d'Or"}
@attribute note string
@attribute day date "yyyy-MM-dd"
@attribute rooms INTEGER
@attribute rent real

@data
"""
ROWS = """50,Rome,'sea, view',2024-01-02,2,510.5
% another comment
?,'New York','it\\'s \\"quiet\\"',2024-02-03,?,400
70.5,"d'Or",?,2024-03-04,4,700
"""
CSV = """the area,city,note,day,rooms,rent
50,Rome,"sea, view",2024-01-02,2,510.5
,New York,"it's ""quiet\""",2024-02-03,,400
70.5,d'Or,,2024-03-04,4,700
"""


def features_of(path: Path, **how: object) -> tuple[list[list[tuple[str, float]]], list[object]]:
    with stream.open(path, **how) as opened:
        rows, labels = [], []
        for block in opened:
            names = [stream.feature_name(key) for key in list(opened.vocabulary.keys())]
            X = block.X
            rows += [
                [(names[j], x) for j, x in zip(X[[k]].indices, X[[k]].data, strict=True)] for k in range(len(block))
            ]
            labels += block.y.tolist()
        return rows, labels


@pytest.mark.parametrize("name", ["a.arff", "a.arff.gz", "a.ARFF", "renamed.txt"])
def test_an_arff_file_has_the_features_of_its_table(name: str, tmp_path: Path) -> None:
    text = HEADER + ROWS * 30
    if name == "renamed.txt":  # recognised by its first bytes
        text = text.partition("\n")[2]
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    (tmp_path / "a.csv").write_text(CSV + CSV.partition("\n")[2] * 29)
    expected = features_of(tmp_path / "a.csv", label="rent")
    assert features_of(tmp_path / name) == expected
    assert features_of(tmp_path / name, label="rooms")[1][:3] != expected[1][:3]


def test_sparse_rows_leave_out_zeros_and_first_values(tmp_path: Path) -> None:
    header = "@relation r\n@attribute a numeric\n@attribute c {x,'y z'}\n@attribute y numeric\n@data\n"
    (tmp_path / "a.arff").write_text(header + "{0 3.5, 1 'y z', 2 1}\n{}\n{ 2 4 }\n{1 ?}\n" * 20)
    (tmp_path / "a.csv").write_text("a,c,y\n" + "3.5,y z,1\n0,x,0\n0,x,4\n0,,0\n" * 20)
    assert features_of(tmp_path / "a.arff") == features_of(tmp_path / "a.csv", label="y")


def test_a_model_of_arff_predicts_arff_and_dictionaries(tmp_path: Path) -> None:
    (tmp_path / "a.arff").write_text(HEADER + ROWS * 50)
    model = odca.train(tmp_path / "a.arff", progress=False)
    assert model.schema.roles.label == "rent"
    assert {each.name: each.kind for each in model.schema.columns}["city"] == "category"
    expected = model.predict(tmp_path / "a.arff")[0]
    assert (
        model.predict({"the area": 50, "city": "Rome", "note": "sea, view", "day": "2024-01-02", "rooms": 2})
        == expected
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@relation r\n@attribute a numeric\n", "it is ARFF, but has no line @data"),
        ("@relation r\n@attribute a complex\n@data\n1\n", "line 2: the type of 'a' is 'complex'; it must be one of numeric"),
        ("@relation r\n@something a\n@data\n1\n", "line 2: expected @attribute, a name and a type"),
        ("@relation r\n@data\n1\n", "declares no attributes"),
        ("@relation r\n@attribute a numeric\n@attribute y numeric\n@data\n1,2\n{5 1}\n", "line 6: expected a column from 0 to 1"),
        ("@relation r\n@attribute a numeric\n@attribute y numeric\n@data\n1,2\n{0 1\n", "line 6: a sparse row begins with"),
        ("@relation r\n@attribute a string\n@attribute y numeric\n@data\n'x,2\n", "line 5: a quote is not closed"),
        ("@relation r\n@attribute a numeric\n@attribute y numeric\n@data\n1,2\n1,2,3\n", "line 6: the row has 3 fields, expected 2"),
    ],
)  # fmt: skip
def test_errors_name_the_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.arff").write_text(text)
    with pytest.raises(ValueError, match=message):
        features_of(tmp_path / "a.arff")


def test_a_long_file_is_read_in_pieces_and_resumed(tmp_path: Path) -> None:
    (tmp_path / "a.arff").write_text(HEADER + ROWS * 6000)
    state = tmp_path / "state"
    whole = odca.train(tmp_path / "a.arff", checkpoint=state, every=500, progress=False)
    assert whole.metrics.events == 18_000
    again = odca.train(tmp_path / "a.arff", checkpoint=state, every=500, resume=True, progress=False)
    assert again.metrics == whole.metrics
