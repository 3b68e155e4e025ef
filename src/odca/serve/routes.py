"""What each route does with a request."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from odca import __version__
from odca.serve import infer, views
from odca.serve.entries import JSON, NDJSON, Asking, as_line
from odca.serve.exchange import Exchange, Reply
from odca.serve.history import SPANS
from odca.serve.problems import Problem
from odca.serve.service import Service
from odca.serve.spec import Spec, require_name
from odca.serve.writer import Outcome

if TYPE_CHECKING:
    from odca.serve.hosted import Hosted

FILE = "application/octet-stream"
Handler: TypeAlias = Callable[[Service, Exchange, str], Awaitable[Reply]]


# Events


async def predict(service: Service, exchange: Exchange, name: str) -> Reply:
    """Predict; events with an id wait for their labels."""
    hosted = service.model(name)
    given = exchange.parameters("answer", "coverage")
    asking = Asking(single=_is_single(exchange), answer=_answer(given), coverage=_coverage(given))
    key = exchange.idempotency_key
    body = await _events(service, exchange, asking)
    told = await hosted.predict(asking, body)
    if told is None:
        return _reply(await hosted.submit("predict", key, asking, body))
    if asking.single:
        if len(told) != 1:
            raise Problem("bad-request", "the request holds no event.")
        return Reply.of(told[0])
    return Reply(200, msgspec.json.Encoder().encode_lines(told), NDJSON)


async def learn(service: Service, exchange: Exchange, name: str) -> Reply:
    """Predict, then learn."""
    return await _logged(service, exchange, name, "learn")


async def label(service: Service, exchange: Exchange, name: str) -> Reply:
    """Learn the labels of events that wait."""
    return await _logged(service, exchange, name, "label")


async def _logged(service: Service, exchange: Exchange, name: str, kind: str) -> Reply:
    hosted = service.model(name)
    given = exchange.parameters("partial", "predictions")
    asking = Asking(
        single=_is_single(exchange),
        partial=_flag(given, "partial", False),
        predictions=_flag(given, "predictions", True),
    )
    key = exchange.idempotency_key
    body = await _events(service, exchange, asking)
    return _reply(await hosted.submit(kind, key, asking, body))


def _reply(outcome: Outcome) -> Reply:
    if outcome.answer.status >= 400:
        about = msgspec.json.decode(outcome.answer.body)
        kind = about["type"].rpartition(":")[2]
        raise Problem(
            kind, about["detail"], retry_after=outcome.retry_after, line=about.get("line"), column=about.get("column")
        )
    headers: list[tuple[bytes, bytes]] = []
    if outcome.position is not None:
        headers.append((b"odca-position", str(outcome.position).encode()))
    if outcome.replayed:
        headers.append((b"idempotency-replayed", b"true"))
    return Reply(outcome.answer.status, outcome.answer.body, outcome.answer.type, tuple(headers))


async def explain(service: Service, exchange: Exchange, name: str) -> Reply:
    """Predict one event, and say what each feature adds."""
    hosted = service.model(name)
    given = exchange.parameters("answer")
    if not _is_single(exchange):
        raise Problem("wrong-type", f"explain takes one event, as {JSON}.")
    answer, body = _answer(given), await _events(service, exchange, Asking())
    return Reply.of(await hosted.read(lambda: views.explain(hosted, as_line(body), answer), large=True))


async def _events(service: Service, exchange: Exchange, asking: Asking) -> bytes:
    limits = service.limits
    body = await exchange.body(limits.line if asking.single else limits.body, limits.read_seconds)
    if not asking.single:
        lines = body.split(b"\n")
        if len(lines) > limits.events + 1:
            raise Problem("too-large", f"the request has more than {limits.events:,} events.")
        long = next((place for place, line in enumerate(lines, 1) if len(line) > limits.line), None)
        if long is not None:
            raise Problem("too-large", f"line {long} has more than {limits.line:,} bytes.", line=long)
    return body


def _is_single(exchange: Exchange) -> bool:
    kind = exchange.content_type
    if kind not in {JSON, NDJSON}:
        raise Problem("wrong-type", f"send one event as {JSON}, or several, one on each line, as {NDJSON}.")
    return kind == JSON


def _answer(given: Mapping[str, str]) -> str:
    answer = given.get("answer", "live")
    if answer not in {"live", "steady"}:
        raise Problem("bad-request", "answer must be live or steady.")
    return answer


def _coverage(given: Mapping[str, str]) -> float | None:
    if "coverage" not in given:
        return None
    try:
        coverage = float(given["coverage"])
    except ValueError:
        coverage = 0.0
    if not 0.0 < coverage < 1.0:
        raise Problem("bad-request", "coverage must be a number between 0 and 1.")
    return coverage


def _flag(given: Mapping[str, str], name: str, default: bool) -> bool:
    value = given.get(name)
    if value not in {None, "true", "false"}:
        raise Problem("bad-request", f"{name} must be true or false.")
    return default if value is None else value == "true"


def _whole(given: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = given.get(name, str(default))
    if not text.isascii() or not text.isdecimal() or len(text) > 12 or int(text) > most:
        raise Problem("bad-request", f"{name} must be a whole number from 0 to {most:,}.")
    return int(text)


# Models


async def models(service: Service, exchange: Exchange, _: str) -> Reply:
    """All models at a glance."""
    exchange.parameters()
    return Reply.of(listed(service))


def listed(service: Service) -> dict[str, Any]:
    """All models at a glance, in the order of their names."""
    return {"models": [views.glance(service.models[name]) for name in sorted(service.models)]}


async def create(service: Service, exchange: Exchange, name: str) -> Reply:
    """Create a model, from options or from a file."""
    require_name(name)
    if service.state != "ready":
        raise Problem("not-ready", f"the service is {service.state}.", retry_after=1)
    given = exchange.parameters("id")
    limits = service.limits
    if exchange.content_type == FILE:
        data = await exchange.body(limits.model_file, limits.read_seconds * 10)
        hosted, is_new = await service.upload(name, data, _id_key(given)), True
    elif exchange.content_type == JSON:
        if given:
            raise Problem("bad-request", "`id` is a key of the body, if that is JSON.")
        spec = _decoded(await exchange.body(limits.line, limits.read_seconds), Spec)
        hosted, is_new = await service.create(name, spec)
    else:
        raise Problem("wrong-type", f"send options as {JSON}, or a model file as {FILE}.")
    if is_new:
        service.audit.record(exchange.who, "create", name, exchange.request_id)
    return Reply.of(views.glance(hosted), 201 if is_new else 200)


def _id_key(given: Mapping[str, str]) -> str:
    key = given.get("id", "id")
    if not 1 <= len(key) <= 1000:
        raise Problem("bad-request", "id must have 1 to 1,000 characters.")
    return key


def _decoded(body: bytes, form: type[Any]) -> Any:
    try:
        return msgspec.json.decode(body, type=form)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        kind = "invalid-model" if isinstance(error, msgspec.ValidationError) else "bad-request"
        raise Problem(kind, f"{error}.") from error


async def describe(service: Service, exchange: Exchange, name: str) -> Reply:
    """Everything about a model."""
    exchange.parameters()
    hosted = service.model(name)
    if hosted.writer is None:
        return Reply.of(views.glance(hosted))
    return Reply.of(await hosted.read(lambda: views.describe(hosted), large=True))


async def delete(service: Service, exchange: Exchange, name: str) -> Reply:
    """Delete a model."""
    exchange.parameters()
    await service.delete(name)
    service.audit.record(exchange.who, "delete", name, exchange.request_id)
    return Reply(204, b"")


async def snapshot(service: Service, exchange: Exchange, name: str) -> Reply:
    """The model as a file."""
    frozen = _flag(exchange.parameters("frozen"), "frozen", False)
    data = await service.snapshot(name, frozen=frozen)
    service.audit.record(exchange.who, "snapshot", name, exchange.request_id)
    named = f'attachment; filename="{name}.safetensors"'.encode()
    return Reply(200, data, FILE, ((b"content-disposition", named),))


async def merge(service: Service, exchange: Exchange, name: str) -> Reply:
    """Add what another model has learned."""
    exchange.parameters()
    service.model(name)
    if exchange.content_type != FILE:
        raise Problem("wrong-type", f"send a model file as {FILE}.")
    data = await exchange.body(service.limits.model_file, service.limits.read_seconds * 10)
    hosted = await service.merge(name, data)
    service.audit.record(exchange.who, "merge", name, exchange.request_id)
    return Reply.of(views.describe(hosted))


class Freeze(msgspec.Struct, forbid_unknown_fields=True):
    """The request to freeze a model."""

    name: str


async def freeze(service: Service, exchange: Exchange, name: str) -> Reply:
    """Make a new model of the steady answer."""
    exchange.parameters()
    service.model(name)
    if exchange.content_type != JSON:
        raise Problem("wrong-type", f"send the name of the new model as {JSON}.")
    to = _decoded(await exchange.body(service.limits.line, service.limits.read_seconds), Freeze).name
    hosted = await service.freeze(name, to)
    service.audit.record(exchange.who, f"freeze as {to}", name, exchange.request_id)
    return Reply.of(views.glance(hosted), 201)


async def history(service: Service, exchange: Exchange, name: str) -> Reply:
    """How a model went."""
    hosted = service.model(name)
    span = exchange.parameters("span").get("span", "hour")
    if span not in SPANS:
        raise Problem("bad-request", f"span must be one of {', '.join(SPANS)}.")
    return Reply.of(await hosted.read(lambda: views.history(hosted, span), large=True))


async def weights(service: Service, exchange: Exchange, name: str) -> Reply:
    """The weights of the steady answer."""
    hosted = service.model(name)
    given = exchange.parameters("limit", "offset", "contains")
    limit, offset = _whole(given, "limit", 100, 10_000), _whole(given, "offset", 0, 10**9)
    return Reply.of(
        await hosted.read(lambda: views.weights(hosted, limit, offset, given.get("contains", "")), large=True)
    )


async def errors(service: Service, exchange: Exchange, name: str) -> Reply:
    """The last requests that were refused."""
    exchange.parameters()
    hosted = service.model(name)
    return Reply.of({"errors": list(hosted.errors), "count": hosted.error_count})


# Standards


async def infer_route(service: Service, exchange: Exchange, name: str) -> Reply:
    """Open Inference."""
    exchange.parameters()
    hosted = service.model(name)
    if exchange.content_type != JSON:
        raise Problem("wrong-type", f"send the tensors as {JSON}.")
    request = _decoded(await exchange.body(service.limits.body, service.limits.read_seconds), infer.InferRequest)
    return Reply.of(await hosted.read(lambda: infer.inferred(hosted, request, service.limits.events), large=True))


async def metadata(service: Service, exchange: Exchange, name: str) -> Reply:
    """The metadata of a model, in the words of Open Inference."""
    exchange.parameters()
    return Reply.of(infer.metadata(service.model(name)))


async def model_ready(service: Service, exchange: Exchange, name: str) -> Reply:
    """Whether a model can predict."""
    exchange.parameters()
    hosted: Hosted = service.model(name)
    ready = hosted.writer is not None and hosted.writer.failure is None and service.state == "ready"
    return Reply.of({"name": name, "ready": ready}, 200 if ready else 503)


async def server_metadata(_service: Service, exchange: Exchange, _: str) -> Reply:
    """The metadata of the service, in the words of Open Inference."""
    exchange.parameters()
    return Reply.of({"name": "odca", "version": __version__, "extensions": []})


async def metrics(service: Service, exchange: Exchange, _: str) -> Reply:
    """Prometheus."""
    exchange.parameters()
    return Reply(200, service.telemetry.text(), "text/plain; version=0.0.4; charset=utf-8")
