"""What the runs of an execution cost in money: list prices, without free tiers, discounts and taxes.

The built-in table was compiled on the date that it names, from what could be found then, and was not checked against a bill:

- AWS Lambda: requests and GB-seconds of the first tier in us-east-1, as aws.amazon.com/lambda/pricing and guides that quote it have
  them; regions whose GB-seconds cost more, as a table in open-source software has them that cites the same page. All other
  regions are taken to cost what us-east-1 does.
- Step Functions, standard workflows: state transitions by region, aws.amazon.com/step-functions/pricing.
- Azure Functions, consumption plan, East US: modal.com/blog/azure-function-pricing-guide (Azure's own page shows its prices
  by script only).
- Cloud Functions, first generation: invocations and GB-seconds, cloud.google.com/functions/pricing and
  modal.com/blog/google-cloud-function-pricing-guide.

Prices change: `xingqiao execution cost ID --prices FILE` puts your own in place of these. What a cloud does not tell (memory,
architecture, transitions) is listed as unknown, or assumed where the table says what to assume; then that is listed, too.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..composer import Error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..composer import JSON

HERE = "here"
MB_A_GB, MS_A_S = 1024, 1000
X86, ARM = "x86_64", "arm64"
RATES = ("request", "gb_second", "transition")
ASSUMED = ("memory_mb", "transitions")
_KNOWN = (*RATES, *ASSUMED, "architecture", "regions")


def _lambda_in(x86: float, arm: float) -> dict[str, JSON]:
    return {"gb_second": {X86: x86, ARM: arm}}


BUILT_IN: dict[str, JSON] = {
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
    "azure:durable": "the functions that the orchestration runs are not told",
    "gcp:function": "GHz-seconds are not told",
}


class PricesError(Error):
    """A file of prices that cannot be used; the text names the field, and says what it must be."""


@dataclass(frozen=True, slots=True)
class Prices:
    """A table of prices: of its date, by kind of action."""

    date: str
    currency: str
    services: dict[str, dict[str, Any]]

    def of(self, kind: str, region: str) -> dict[str, Any] | None:
        """The prices of a kind in a region; None when there are none."""
        service = self.services.get(kind)
        if service is None:
            return None
        regional = service.get("regions", {}).get(region, {})
        return {**service, **regional}


LISTED = Prices(BUILT_IN["date"], BUILT_IN["currency"], BUILT_IN["services"])


def read_prices(text: str) -> Prices:
    """A table of one's own, over the built-in one, in TOML or JSON: `{"date", "currency", "services": {kind: {...}}}`.

    A kind has prices of a `request`, a `gb_second` (a number, or one by architecture) and a `transition`, by `regions` where they
    differ; and what is to be assumed where the cloud does not tell: `memory_mb`, `transitions` of a run, `architecture`.

    Raises:
        PricesError: naming the field that is malformed.
    """
    try:
        doc = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except ValueError as error:
        raise PricesError(f"the file of prices is neither TOML nor JSON: {error}") from error
    for name in ("date", "currency"):
        if not isinstance(doc.get(name), str):
            raise PricesError(f'{name}: must be a text, such as {name} = "{BUILT_IN[name]}"')
    if (
        doc["currency"] != LISTED.currency
        and doc.get("services", {}).keys() < LISTED.services.keys()
    ):
        raise PricesError(
            f"currency: the built-in prices are in {LISTED.currency}: give prices of all of "
            f"{', '.join(LISTED.services)} with another currency"
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
    """Whether prices are given for everywhere: then the built-in ones of regions do not count any more."""
    return any(name in given for name in RATES)


def _table(where: str, value: JSON) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise PricesError(f"{where}: must be a table, not {value!r:.100}")
    return value


def _check(where: str, given: JSON) -> None:
    for name, value in _table(where, given).items():
        if name not in _KNOWN:
            raise PricesError(f"{where}.{name}: is not known; there are {', '.join(_KNOWN)}")
        if name == "architecture":
            if value not in (X86, ARM):
                raise PricesError(f"{where}.{name}: must be {X86} or {ARM}, not {value!r:.100}")
            continue
        numbers = value.values() if name == "gb_second" and isinstance(value, dict) else [value]
        if name != "regions" and not all(type(n) in (int, float) and n >= 0 for n in numbers):
            raise PricesError(f"{where}.{name}: must be a number of 0 or more, not {value!r:.100}")


# --- what runs cost ----------------------------------------------------------------------------


def priced(steps: Iterable[dict[str, Any]], prices: Prices = LISTED) -> dict[str, JSON]:
    """What steps cost, by the usage that `engine.costs` tells.

    Returns:
        `{"date", "currency", "total", "steps": [{"step", "kind", "amount", "unknown", "assumed"}], "complete"}`: `amount` and
        `total` are what is known; `complete` says whether that is all.
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
        unknown.append(f"there is no price for '{kind}'")
        rates = {}
    amount += requests * rates.get("request", 0)
    if "transition" in rates:
        if "transitions" in rates:
            amount += requests * rates["transitions"] * rates["transition"]
            assumed.append(f"{rates['transitions']} state transitions a run")
        else:
            unknown.append("the number of state transitions is not told")
    if "gb_second" in rates and requests:
        amount += _duration(step, rates, unknown, assumed)
    if kind in _MISSING and requests:
        unknown.append(_MISSING[kind])
    if not step.get("region") and LISTED.services.get(kind, {}).get("regions"):
        assumed.append("the region is not told: the price of most regions")
    named = {name: step[name] for name in ("step", "kind", "requests")}
    return {**named, "amount": amount, "unknown": unknown, "assumed": assumed}


def _duration(
    step: dict[str, Any], rates: dict[str, Any], unknown: list[str], assumed: list[str]
) -> float:
    """What the time of a step's runs costs, as far as that is known."""
    memory_mb = step.get("memory")
    if memory_mb is None and "memory_mb" in rates:
        memory_mb = rates["memory_mb"]
        assumed.append(f"{memory_mb} MB of memory")
    if memory_mb is None:
        unknown.append("the memory is not told")
        return 0.0
    if step["untold"]:
        text = f"the time of {step['untold']} of {step['requests']} runs is not told"
        (unknown if step["untold"] < step["requests"] else assumed).append(text)
    rate = rates["gb_second"]
    if isinstance(rate, dict):
        architecture = rates.get("architecture", X86)
        rate = rate.get(architecture, 0)
        assumed.append(f"architecture {architecture}")
    return float(step["billed"] / MS_A_S * memory_mb / MB_A_GB * rate)
