"""The parts of the service that Lambda's endpoints use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..http import Api
from .calls_under_way import CallsUnderWay

if TYPE_CHECKING:
    from .lambdas import Lambdas


@dataclass(kw_only=True)
class LambdaApi(Api):
    """The parts of the service, with those of Lambda.

    Args:
        lambdas: the Lambda functions.
        under_way: counts the calls of functions with reserved concurrency.
    """

    lambdas: Lambdas
    under_way: CallsUnderWay = field(default_factory=CallsUnderWay)
