"""Functions on clouds as actions, one module a cloud."""

from .aws import Completions, Tally
from .clouds import MISSING, adapters, objects_on_s3, queued_completions
from .credentials import AMBIENT, SecretError, Tokens
from .egress import Egress, EgressError, Rules
from .invoker import CloudInvoker
from .objects import MAX_PAGE, ObjectEntry, ObjectPart, Objects, Page
from .port import Adapter, Answer, Done, Fault, Pending, Report, Request
from .secrets import Authorizers, Secrets

__all__ = [
    "AMBIENT",
    "MAX_PAGE",
    "MISSING",
    "Adapter",
    "Answer",
    "Authorizers",
    "CloudInvoker",
    "Completions",
    "Done",
    "Egress",
    "EgressError",
    "Fault",
    "ObjectEntry",
    "ObjectPart",
    "Objects",
    "Page",
    "Pending",
    "Report",
    "Request",
    "Rules",
    "SecretError",
    "Secrets",
    "Tally",
    "Tokens",
    "adapters",
    "objects_on_s3",
    "queued_completions",
]
