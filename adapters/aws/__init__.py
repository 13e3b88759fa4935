"""AWS: `functions` are Lambda's, `machines` Step Functions', `completions` come by SQS, objects are on `s3`; `wire` is the way there."""

from .completions import Completions, Tally
from .functions import LambdaAdapter
from .machines import StatesAdapter
from .s3 import S3Objects
from .signing import Chain
from .wire import Aws, located

__all__ = [
    "Aws",
    "Chain",
    "Completions",
    "LambdaAdapter",
    "S3Objects",
    "StatesAdapter",
    "Tally",
    "located",
]
