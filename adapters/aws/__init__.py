"""AWS: `functions` are Lambda's, `machines` Step Functions', `completions` come by SQS, objects are on `s3`, anything else is one of its `services`; `wire` is the way there."""

from .completions import Completions, Tally
from .functions import LambdaAdapter
from .machines import StatesAdapter
from .s3 import S3Objects
from .services import Answer, AwsServices, ParameterError, Refused
from .signing import Chain
from .wire import Aws, RegionError, located

__all__ = [
    "Answer",
    "Aws",
    "AwsServices",
    "Chain",
    "Completions",
    "LambdaAdapter",
    "ParameterError",
    "Refused",
    "RegionError",
    "S3Objects",
    "StatesAdapter",
    "Tally",
    "located",
]
