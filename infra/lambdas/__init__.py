"""AWS Lambda's API, for its own clients: a function is an action of its name, in the caller's namespace.

Not supported: versions and aliases (only `$LATEST`), layers, images, code from S3, function URLs, event sources.
A handler has at most five minutes and 512 MB.
"""

from .routes import LAMBDA

__all__ = ["LAMBDA"]
