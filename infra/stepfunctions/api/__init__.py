"""The API of AWS Step Functions, for its own clients."""

from .api import StepFunctionsApi
from .service import STEP_FUNCTIONS, operations

__all__ = ["STEP_FUNCTIONS", "StepFunctionsApi", "operations"]
