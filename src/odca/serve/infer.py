"""Open Inference (v2): tensors in, tensors out."""

from typing import Any

import msgspec

from odca.models.options import label_text
from odca.serve.entries import Asking
from odca.serve.hosted import Hosted
from odca.serve.problems import Problem, of_event
from odca.serve.views import fields_of

MOST_INPUTS = 10_000


class Tensor(msgspec.Struct):
    """A tensor: one field of the events."""

    name: str
    shape: list[int]
    datatype: str
    data: list[Any]


class InferRequest(msgspec.Struct):
    """A request of Open Inference."""

    inputs: list[Tensor]
    id: str | None = None
    parameters: dict[str, Any] = {}
    outputs: list[dict[str, Any]] = []


def inferred(hosted: Hosted, request: InferRequest, most: int) -> dict[str, Any]:
    """The predictions for the events that the tensors hold."""
    state = hosted.state
    events = _events(request, most)
    answer = request.parameters.get("answer", "live")
    if answer not in {"live", "steady"}:
        raise Problem("bad-request", "the parameter answer must be live or steady.")
    try:
        block = state.read_to_predict(msgspec.json.Encoder().encode_lines(events))
        told = state.predicted(block, Asking(single=False, answer=answer))
    except ValueError as error:
        raise of_event(error) from error
    predictions = [each["prediction"] for each in told]
    is_text = any(isinstance(each, str) for each in predictions)
    outputs: list[dict[str, Any]] = [
        {"name": "prediction", "datatype": "BYTES" if is_text else "FP64", "shape": [len(told)], "data": predictions}
    ]
    if told and "probabilities" in told[0]:
        classes = list(told[0]["probabilities"])
        data = [each["probabilities"][name] for each in told for name in classes]
        outputs.append({"name": "probabilities", "datatype": "FP64", "shape": [len(told), len(classes)], "data": data})
    about: dict[str, Any] = {"model_name": hosted.name, "model_version": str(state.position), "outputs": outputs}
    return about | ({} if request.id is None else {"id": request.id})


def _events(request: InferRequest, most: int) -> list[dict[str, Any]]:
    if not request.inputs or len(request.inputs) > MOST_INPUTS:
        raise Problem("bad-request", f"there must be 1 to {MOST_INPUTS:,} inputs, one for each field.")
    rows = request.inputs[0].shape[0] if request.inputs[0].shape else 0
    if not 1 <= rows <= most:
        raise Problem("bad-request", f"the first dimension of a tensor is the number of events, from 1 to {most:,}.")
    seen: set[str] = set()
    for tensor in request.inputs:
        if tensor.shape not in ([rows], [rows, 1]):
            raise Problem(
                "bad-request",
                f"the shape of {tensor.name[:100]!r} must be [{rows}] or [{rows}, 1], as that of the first input.",
            )
        if tensor.name in seen:
            raise Problem("bad-request", f"there are two inputs {tensor.name[:100]!r}.")
        seen.add(tensor.name)
    columns = {tensor.name: _flat(tensor, rows) for tensor in request.inputs}
    return [{name: values[row] for name, values in columns.items()} for row in range(rows)]


def _flat(tensor: Tensor, rows: int) -> list[Any]:
    values = [each[0] if isinstance(each, list) and len(each) == 1 else each for each in tensor.data]
    if len(values) != rows or any(isinstance(each, list | dict) for each in values):
        raise Problem("bad-request", f"the input {tensor.name[:100]!r} must hold {rows} values.")
    return values


def metadata(hosted: Hosted) -> dict[str, Any]:
    """What a model takes and gives."""
    model = hosted.state.model
    outputs = [{"name": "prediction", "datatype": "FP64", "shape": [-1]}]
    fields: list[str] = []
    if model is not None:
        fields = fields_of(model)
        if model.classes_read:
            is_text = any(isinstance(each, str) for each in model.classes_read)
            outputs[0]["datatype"] = "BYTES" if is_text else "FP64"
            outputs.append({"name": "probabilities", "datatype": "FP64", "shape": [-1, len(model.classes_read)]})
    kinds = (
        {}
        if model is None
        else {**{each.name: each.kind for each in model.schema.columns}, **model.schema.features.kinds()}
    )
    inputs = [{"name": name, "datatype": _datatype(kinds.get(name)), "shape": [-1]} for name in fields]
    labels = [] if model is None else [label_text(each) for each in model.classes_read]
    return {
        "name": hosted.name, "versions": [str(hosted.state.position)], "platform": "odca", "inputs": inputs, "outputs": outputs,
        "parameters": {"classes": labels},
    }  # fmt: skip


def _datatype(kind: str | None) -> str:
    return {"number": "FP64", "boolean": "BOOL"}.get(kind or "", "BYTES")
