"""Figures for Prometheus, in a registry of the application's own."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
# Any other word that a client sends as a method is counted as one.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """Requests by route and status, their latency, the stages of a search, and the state of the index."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "foldwalk_requests", "Requests answered.", ("method", "route", "status"), registry=registry
        )
        self._latency = Histogram(
            "foldwalk_request_seconds", "Seconds to answer.", ("route",), registry=registry, buckets=_SECONDS
        )
        self._stages = Histogram(
            "foldwalk_search_seconds",
            "Seconds of a search by stage: describe, fit, search.",
            ("stage",),
            registry=registry,
            buckets=_SECONDS,
        )
        self.in_flight = Gauge("foldwalk_requests_in_flight", "Requests being answered.", registry=registry)
        self._items = Gauge("foldwalk_items", "Items in the index.", registry=registry)
        self._version = Gauge("foldwalk_index_version", "Version of the index.", registry=registry)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        known = method if method in _METHODS else "other"
        self._requests.labels(known, route, str(status)).inc()
        self._latency.labels(route).observe(seconds)

    def search(self, seconds: Mapping[str, float]) -> None:
        for stage, value in seconds.items():
            self._stages.labels(stage).observe(value)

    def text(self, items: int, version: int) -> bytes:
        """Everything in Prometheus' text format."""
        self._items.set(items)
        self._version.set(version)
        return generate_latest(self._registry)
