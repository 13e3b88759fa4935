"""The edge's metrics for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prometheus_client.core import Metric

    from .bodies import Bodies
    from .census import Census


def edge_metrics(census: Census, bodies: Bodies) -> Callable[[], bytes]:
    """A function that writes the edge's metrics in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Edge(census, bodies))
    return lambda: generate_latest(registry)


class _Edge:
    """Collects the metrics on each scrape; nothing is counted twice."""

    def __init__(self, census: Census, bodies: Bodies) -> None:
        self._census, self._bodies = census, bodies

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        census, bodies = self._census, self._bodies
        yield CounterMetricFamily(
            "xingqiao_connections_accepted", "Connections accepted", census.accepted
        )
        refused = CounterMetricFamily(
            "xingqiao_refused", "Connections and requests refused, by reason", labels=["reason"]
        )
        for reason, count in {**census.refusals, "bodies": bodies.refused}.items():
            refused.add_metric([reason], count)
        yield refused
        for name, value, text in (
            ("connections", census.open, "Connections that are open"),
            ("connections_limit", census.bounds.connections, "Connections that may be open"),
            ("connections_unfinished", census.unfinished, "Connections without a whole request"),
            ("bodies_bytes", bodies.reading, "Bytes of large request bodies that are being read"),
        ):
            yield GaugeMetricFamily(f"xingqiao_{name}", text, value)
