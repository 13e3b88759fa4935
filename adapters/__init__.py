"""Functions on clouds as actions, one module a cloud."""

from .aws import Answer as AwsAnswer
from .aws import AwsServices, Completions, ParameterError, RegionError, Tally
from .aws import Refused as AwsRefused
from .aws import models as aws_models
from .channel import Channel
from .clouds import MISSING, adapters, aws_services, objects_on_s3, queued_completions
from .credentials import AMBIENT, SecretError, Tokens
from .egress import Egress, EgressError, Rules
from .extras import how_to_install
from .invoker import CloudInvoker, outcome_of_answer
from .objects import MAX_PAGE, ObjectEntry, ObjectPart, Objects, Page
from .port import Adapter, Answer, Done, Fault, HttpRequest, Pending, Report, Request, Response
from .reading import parsed as parsed_json
from .retrying import POLL_MS, wait_before_poll, wait_before_retry
from .secrets import Authorizers, Secrets

__all__ = [
    "AMBIENT",
    "MAX_PAGE",
    "MISSING",
    "POLL_MS",
    "Adapter",
    "Answer",
    "Authorizers",
    "AwsAnswer",
    "AwsRefused",
    "AwsServices",
    "Channel",
    "CloudInvoker",
    "Completions",
    "Done",
    "Egress",
    "EgressError",
    "Fault",
    "HttpRequest",
    "ObjectEntry",
    "ObjectPart",
    "Objects",
    "Page",
    "ParameterError",
    "Pending",
    "RegionError",
    "Report",
    "Request",
    "Response",
    "Rules",
    "SecretError",
    "Secrets",
    "Tally",
    "Tokens",
    "adapters",
    "aws_models",
    "aws_services",
    "how_to_install",
    "objects_on_s3",
    "outcome_of_answer",
    "parsed_json",
    "queued_completions",
    "wait_before_poll",
    "wait_before_retry",
]
