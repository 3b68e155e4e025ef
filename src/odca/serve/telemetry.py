"""Numbers for Prometheus."""

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

DURATIONS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Telemetry:
    """The counters of the service, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        named: Any = {"registry": self.registry}
        self._requests = Counter(
            "odca_requests", "Requests, by model, route and status.", ["model", "route", "status"], **named
        )
        self._seconds = Histogram(
            "odca_request_seconds", "How long requests took.", ["route"], buckets=DURATIONS, **named
        )
        self._commits = Histogram(
            "odca_commit_seconds",
            "How long commits to the log took, with fsync.",
            ["model"],
            buckets=DURATIONS,
            **named,
        )
        self._logged = Counter("odca_logged_requests", "Requests in the log.", ["model"], **named)

        self._known: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def request(self, model: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        known = self._known.get((model, route, status))
        if known is None:  # finding the counters takes longer than counting
            known = self._requests.labels(model, route, str(status)), self._seconds.labels(route)
            self._known[model, route, status] = known
        known[0].inc()
        known[1].observe(seconds)

    def committed(self, model: str, requests: int, seconds: float) -> None:
        """Requests were committed."""
        self._commits.labels(model).observe(seconds)
        self._logged.labels(model).inc(requests)

    def forget(self, model: str) -> None:
        """A model was deleted."""
        self._known = {names: each for names, each in self._known.items() if names[0] != model}
        for metric in (self._requests, self._commits, self._logged):
            for labels in list(metric._metrics):  # noqa: SLF001 - there is no other way to ask
                if labels[0] == model:
                    metric.remove(*labels)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self.registry)


class OfModels(Collector):
    """What models are like at the moment of the request."""

    def __init__(self, service: "HasGauges") -> None:
        self._service = service

    def collect(self) -> list[Metric]:
        """The gauges of all models."""
        families: dict[str, GaugeMetricFamily] = {}
        for model, gauges in self._service.gauges().items():
            for name, (text, value) in gauges.items():
                if name not in families:
                    families[name] = GaugeMetricFamily(f"odca_model_{name}", text, labels=["model"])
                families[name].add_metric([model], value)
        for model, source, numbers in self._service.source_gauges():
            for name, (text, value) in numbers.items():
                if name not in families:
                    families[name] = GaugeMetricFamily(f"odca_source_{name}", text, labels=["model", "source"])
                families[name].add_metric([model, source], value)
        return list(families.values())


class HasGauges:
    """Something with models."""

    def gauges(self) -> dict[str, dict[str, tuple[str, float]]]:
        """For each model, what its gauges mean and what they are."""
        raise NotImplementedError

    def source_gauges(self) -> list[tuple[str, str, dict[str, tuple[str, float]]]]:
        """The same for each topic that a model follows."""
        raise NotImplementedError
