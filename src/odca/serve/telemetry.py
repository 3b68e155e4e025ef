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

    def request(self, model: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests.labels(model, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def committed(self, model: str, requests: int, seconds: float) -> None:
        """Requests were committed."""
        self._commits.labels(model).observe(seconds)
        self._logged.labels(model).inc(requests)

    def forget(self, model: str) -> None:
        """A model was deleted."""
        for metric in (self._commits, self._logged):
            if (model,) in metric._metrics:  # noqa: SLF001 - there is no other way to ask
                metric.remove(model)

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
        return list(families.values())


class HasGauges:
    """Something with models."""

    def gauges(self) -> dict[str, dict[str, tuple[str, float]]]:
        """For each model, what its gauges mean and what they are."""
        raise NotImplementedError
