"""Cost of an execution's runs in money: list prices, without free tiers, discounts and taxes.

The built-in table was compiled on the date in it from the sources below. No bill has confirmed it:

- AWS Lambda: requests and GB-seconds of the first tier in us-east-1, from aws.amazon.com/lambda/pricing and guides that quote
  it; regions with dearer GB-seconds, from a table in open-source software that cites the same page. All other regions are
  assumed to cost the same as us-east-1.
- Step Functions, standard workflows: state transitions by region, aws.amazon.com/step-functions/pricing.
- Azure Functions, consumption plan, East US: modal.com/blog/azure-function-pricing-guide (Azure's own page loads its prices
  by script).
- Cloud Functions, first generation: invocations and GB-seconds, cloud.google.com/functions/pricing and
  modal.com/blog/google-cloud-function-pricing-guide.

Prices change: `xingqiao execution cost ID --prices FILE` replaces them with your own. A quantity that a cloud does not report
(memory, architecture, transitions) is listed as unknown. If the table gives an assumption, the assumption is used and listed.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...composer import Error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...composer import JSON

HERE = "here"
MB_A_GB, MS_A_S = 1024, 1000
X86, ARM = "x86_64", "arm64"
RATES = ("request", "gb_second", "transition")
ASSUMED = ("memory_mb", "transitions")
_KNOWN = (*RATES, *ASSUMED, "architecture", "regions")


def _lambda_in(x86: float, arm: float) -> dict[str, JSON]:
    return {"gb_second": {X86: x86, ARM: arm}}


BUILT_IN: dict[str, Any] = {
    "date": "2026-11-22",
    "currency": "USD",
    "services": {
        "aws:lambda": {
            "request": 0.20 / 1e6,
            "architecture": X86,
            **_lambda_in(0.0000166667, 0.0000133334),
            "regions": {
                "af-south-1": _lambda_in(0.0000221, 0.00001768),
                "ap-east-1": _lambda_in(0.00002292, 0.0000183),
                "eu-south-1": _lambda_in(0.0000195172, 0.0000156138),
                "me-central-1": _lambda_in(0.0000206667, 0.0000165334),
                "me-south-1": _lambda_in(0.0000206667, 0.0000165334),
            },
        },
        "aws:states": {
            "transition": 0.025 / 1e3,
            "regions": {
                "us-west-1": {"transition": 0.0279 / 1e3},
                "sa-east-1": {"transition": 0.0375 / 1e3},
                "us-gov-east-1": {"transition": 0.030 / 1e3},
                "us-gov-west-1": {"transition": 0.030 / 1e3},
                "eu-west-3": {"transition": 0.0297 / 1e3},
                "ap-northeast-2": {"transition": 0.0271 / 1e3},
                "ap-south-1": {"transition": 0.0285 / 1e3},
            },
        },
        "azure:function": {"request": 0.20 / 1e6, "gb_second": 0.000016},
        "azure:durable": {"request": 0.20 / 1e6, "gb_second": 0.000016},
        "gcp:function": {"request": 0.40 / 1e6, "gb_second": 0.0000025},
    },
}
_MISSING = {
    "azure:durable": "the orchestration's own functions (not reported by the cloud)",
    "gcp:function": "GHz-seconds (not reported by the cloud)",
}


class PricesError(Error):
    """A price file cannot be used; the text names the field and the valid values."""


@dataclass(frozen=True, slots=True)
class Prices:
    """A table of prices by kind of action, with its date and currency."""

    date: str
    currency: str
    services: dict[str, dict[str, Any]]

    def of(self, kind: str, region: str) -> dict[str, Any] | None:
        """The prices of a kind in a region; None if the table has none."""
        service = self.services.get(kind)
        if service is None:
            return None
        regional = service.get("regions", {}).get(region, {})
        return {**service, **regional}


LISTED = Prices(BUILT_IN["date"], BUILT_IN["currency"], BUILT_IN["services"])


def read_prices(text: str) -> Prices:
    """Reads a price table in TOML or JSON and merges it over the built-in one.

    Shape: `{"date", "currency", "services": {kind: {...}}}`. A kind has prices of a `request`, a `gb_second` (a number, or
    one by architecture) and a `transition`, also by `regions`; and assumptions for unreported quantities: `memory_mb`,
    `transitions` of a run, `architecture`.

    Raises:
        PricesError: a field is malformed; the text names it.
    """
    try:
        doc = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except ValueError as error:
        raise PricesError(f"the price table is neither valid TOML nor JSON: {error}") from error
    for name in ("date", "currency"):
        if not isinstance(doc.get(name), str):
            raise PricesError(f'{name} must be a string, such as {name} = "{BUILT_IN[name]}"')
    if (
        doc["currency"] != LISTED.currency
        and doc.get("services", {}).keys() < LISTED.services.keys()
    ):
        raise PricesError(
            f"currency {doc['currency']} differs from the built-in prices' {LISTED.currency}: give prices "
            f"for all of {', '.join(LISTED.services)}"
        )
    services = {**LISTED.services}
    for kind, given in _table("services", doc.get("services", {})).items():
        _check(f"services.{kind}", given)
        for region, regional in _table(
            f"services.{kind}.regions", given.get("regions", {})
        ).items():
            _check(f"services.{kind}.regions.{region}", regional)
        known = services.get(kind, {})
        regions = {} if _is_everywhere(given) else known.get("regions", {})
        services[kind] = {**known, **given, "regions": {**regions, **given.get("regions", {})}}
    return Prices(doc["date"], doc["currency"], services)


def _is_everywhere(given: dict[str, JSON]) -> bool:
    """True if a kind has prices without a region; these replace the built-in regional prices."""
    return any(name in given for name in RATES)


def _table(where: str, value: JSON) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise PricesError(f"{where} must be a table, not {value!r:.100}")
    return value


def _check(where: str, given: JSON) -> None:
    for name, value in _table(where, given).items():
        if name not in _KNOWN:
            raise PricesError(
                f"{where}.{name} is an unknown field; the fields are {', '.join(_KNOWN)}"
            )
        if name == "architecture":
            if value not in (X86, ARM):
                raise PricesError(f"{where}.{name} must be {X86} or {ARM}, not {value!r:.100}")
            continue
        numbers = value.values() if name == "gb_second" and isinstance(value, dict) else [value]
        if name != "regions" and not all(type(n) in (int, float) and n >= 0 for n in numbers):
            raise PricesError(f"{where}.{name} must be a number of 0 or more, not {value!r:.100}")


# --- cost of runs ------------------------------------------------------------------------------


def priced(steps: Iterable[dict[str, Any]], prices: Prices = LISTED) -> dict[str, JSON]:
    """Computes the cost of steps from the usage that `engine.costs` measures.

    Returns:
        `{"date", "currency", "total", "steps": [{"step", "kind", "amount", "unknown", "assumed"}], "complete"}`: `amount` and
        `total` cover the known quantities; `complete` is true if nothing is unknown.
    """
    found = [_priced(step, prices) for step in steps if step["cloud"] != HERE]
    return {
        "date": prices.date,
        "currency": prices.currency,
        "total": sum(step["amount"] for step in found),
        "steps": found,
        "complete": not any(step["unknown"] for step in found),
    }


def _priced(step: dict[str, Any], prices: Prices) -> dict[str, Any]:
    kind, requests = step["kind"], step["requests"]
    rates = prices.of(kind, step.get("region", ""))
    amount, unknown, assumed = 0.0, [], []
    if rates is None:
        unknown.append(f"the price of '{kind}' (not in the price table)")
        rates = {}
    amount += requests * rates.get("request", 0)
    if "transition" in rates:
        if "transitions" in rates:
            amount += requests * rates["transitions"] * rates["transition"]
            assumed.append(f"{rates['transitions']} state transitions per run")
        else:
            unknown.append("the number of state transitions (not reported by the cloud)")
    if "gb_second" in rates and requests:
        amount += _duration(step, rates, unknown, assumed)
    if kind in _MISSING and requests:
        unknown.append(_MISSING[kind])
    if not step.get("region") and LISTED.services.get(kind, {}).get("regions"):
        assumed.append("the price of most regions (the region is not reported)")
    named = {name: step[name] for name in ("step", "kind", "requests")}
    return {**named, "amount": amount, "unknown": unknown, "assumed": assumed}


def _duration(
    step: dict[str, Any], rates: dict[str, Any], unknown: list[str], assumed: list[str]
) -> float:
    """Cost of the known run time of a step; notes go to `unknown` and `assumed`."""
    memory_mb = step.get("memory")
    if memory_mb is None and "memory_mb" in rates:
        memory_mb = rates["memory_mb"]
        assumed.append(f"{memory_mb} MB of memory")
    if memory_mb is None:
        unknown.append("the memory size (not reported by the cloud)")
        return 0.0
    if step["untold"]:
        count = f"{step['untold']} of {step['requests']} runs"
        if step["untold"] < step["requests"]:
            unknown.append(f"the time of {count} (not reported by the cloud)")
        else:
            assumed.append(f"local time for {count} (not reported by the cloud)")
    rate = rates["gb_second"]
    if isinstance(rate, dict):
        architecture = rates.get("architecture", X86)
        rate = rate.get(architecture, 0)
        assumed.append(f"architecture {architecture}")
    return float(step["billed"] / MS_A_S * memory_mb / MB_A_GB * rate)
