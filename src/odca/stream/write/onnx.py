"""A model as an ONNX graph, which ONNX Runtime and similar programs can run in any language.

The input X is a tensor of doubles [events, features], in the order of the names in the file's metadata (a JSON array under
"feature_names"). A feature that an event does not have is 0. The outputs are those of sklearn-onnx: `label` and `probabilities` for
classes, `variable` for numbers. Everything is computed in doubles, as in odca, so the results agree up to rounding.
"""

import json
from typing import Any

import numpy as np

from odca.errors import InputError, Remedy
from odca.models.calibration import BARELY
from odca.models.options import Label, label_text
from odca.products import BOUND, as_arrays
from odca.stream.write.linear import LinearModel
from odca.validation.arrays import Array

OPSET = 17
IR_VERSION = 8  # of the same time, for older runtimes
MOST_FEATURES = 1 << 20


def to_onnx(model: LinearModel) -> bytes:
    """The graph, as the bytes of a file. ValueError if the model has too many features."""
    if model.width > MOST_FEATURES:
        raise InputError(
            f"the model has {model.width:,} features; ONNX needs a column for each, so at most {MOST_FEATURES:,} are allowed.",
            remedy=Remedy("Train with fewer bits ({bits}), or convert to json.", bits=None),
        )
    try:
        import onnx  # noqa: PLC0415 - optional, and slow to import
    except ImportError as error:
        raise ImportError(
            "ONNX needs the package onnx, which is missing. Install it with pip install 'odca[onnx]'."
        ) from error
    graph = _Graph(onnx)
    weights = np.zeros((model.width, len(model.intercept)))
    weights[: len(model.names)] = model.weights.T
    scores = graph.add("Add", graph.add("MatMul", "X", graph.constant(weights)), graph.constant(model.intercept))
    if model.products:
        scores = graph.add("Add", scores, _products(graph, model))
    if model.classes:
        outputs = _classes(graph, model, scores)
    else:
        graph.add("Exp" if model.exponential else "Identity", scores, output="variable")
        outputs = [graph.value("variable", onnx.TensorProto.DOUBLE, [None, 1])]
    made = onnx.helper.make_model(
        onnx.helper.make_graph(
            graph.nodes,
            "odca",
            [graph.value("X", onnx.TensorProto.DOUBLE, [None, model.width])],
            outputs,
            graph.constants,
        ),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="odca",
    )
    names = [*model.names, *(f"hash {index}" for index in range(len(model.names), model.width))]
    onnx.helper.set_model_props(made, {"feature_names": json.dumps(names, ensure_ascii=False), "loss": model.loss})
    onnx.checker.check_model(made)
    return bytes(made.SerializeToString())


def _products(graph: "_Graph", model: LinearModel) -> str:
    """What the products of features add to the scores."""
    pairs, forms, weights = as_arrays(model.products, len(model.intercept))

    def factor(which: int) -> str:
        column = graph.add("Gather", "X", graph.tensor(pairs[:, which]), axis=1)
        centred = graph.add("Sub", column, graph.constant(forms[:, 2 * which]))
        scaled = graph.add("Div", centred, graph.constant(forms[:, 2 * which + 1]))
        return graph.add("Clip", scaled, graph.constant(-BOUND), graph.constant(BOUND))

    return graph.add("MatMul", graph.add("Mul", factor(0), factor(1)), graph.constant(weights))


def _classes(graph: "_Graph", model: LinearModel, scores: str) -> list[Any]:
    """The predicted label, and the probability of each class."""
    onnx = graph.onnx
    kind, labels = _labels(onnx, model.classes)
    if len(model.classes) == 2:
        p = _by_score(graph, model, scores)
        is_second = graph.add("Greater", scores, graph.constant(0.0))
        chosen = graph.add("Cast", is_second, to=onnx.TensorProto.INT64)
        graph.add("Concat", graph.add("Sub", graph.constant(1.0), p), p, axis=1, output="probabilities")
    else:
        chosen = graph.add("ArgMax", scores, axis=1, keepdims=1)
        if model.softmax:
            graph.add("Softmax", scores, axis=1, output="probabilities")
        else:
            _distribution(graph, _by_score(graph, model, scores), chosen, len(model.classes))
    graph.add("Gather", graph.tensor(labels), graph.add("Squeeze", chosen, graph.constant([1])), output="label")
    return [
        graph.value("label", kind, [None]),
        graph.value("probabilities", onnx.TensorProto.DOUBLE, [None, len(model.classes)]),
    ]


def _by_score(graph: "_Graph", model: LinearModel, scores: str) -> str:
    """The probability of the class of each score, against the rest."""
    return graph.add("Sigmoid", scores) if model.calibration is None else _calibrated(graph, *model.calibration, scores)


def _calibrated(graph: "_Graph", slope: Array, constant: Array, scores: str) -> str:
    """The probabilities as in `Calibration.probabilities`: above ½ if the score is positive."""
    mapped = graph.add("Add", graph.add("Mul", scores, graph.constant(slope)), graph.constant(constant))
    p = graph.add("Sigmoid", mapped)
    one = graph.constant(1.0)
    slight = graph.add("Div", scores, graph.add("Add", one, graph.add("Abs", scores)))
    barely = graph.add("Add", graph.constant(0.5), graph.add("Mul", graph.constant(BARELY), slight))
    positive = graph.add("Greater", scores, graph.constant(0.0))
    return graph.add("Where", positive, graph.add("Max", p, barely), graph.add("Min", p, barely))


def _distribution(graph: "_Graph", p: str, chosen: str, classes: int) -> None:
    """Make the probabilities sum to one, with none above that of the chosen class, as in `OneAgainstRest.distribution`."""
    most = graph.add("ReduceMax", p, axes=[1], keepdims=1)
    most = graph.add("Add", most, graph.constant(float(np.finfo(float).tiny)))  # where all are zero
    is_chosen = graph.add("Equal", chosen, graph.constant(list(range(classes))))
    p = graph.add("Where", is_chosen, most, p)
    graph.add("Div", p, graph.add("ReduceSum", p, graph.constant([1]), keepdims=1), output="probabilities")


def _labels(onnx: Any, classes: tuple[Label, ...]) -> tuple[int, Any]:
    """The type and values of the labels: whole numbers if all are, otherwise text."""
    if all(not isinstance(label, str) and label == int(label) for label in classes):
        return onnx.TensorProto.INT64, np.array([int(label) for label in classes], np.int64)
    return onnx.TensorProto.STRING, np.array([label_text(label) for label in classes], object)


class _Graph:
    """A graph under construction."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operation: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node; return the name of its output."""
        name = output or f"{operation.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operation, inputs, [name], **attributes))
        return name

    def constant(self, value: float | list[int] | list[float] | Array) -> str:
        """Add numbers, int64 if they are whole, otherwise doubles; return their name."""
        return self.tensor(np.asarray(value))

    def tensor(self, value: Any) -> str:
        """Add an array; return its name."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def value(self, name: str, kind: int, shape: list[int | None]) -> Any:
        """Declare an input or output."""
        return self.onnx.helper.make_tensor_value_info(name, kind, shape)
