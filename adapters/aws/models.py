"""botocore's models of AWS' services, by the names that state machines have for them.

https://docs.aws.amazon.com/step-functions/latest/dg/supported-services-awssdk.html
"""

from __future__ import annotations

import threading
from functools import cache, lru_cache
from typing import Any, NamedTuple

MODEL = "service-2"
KEPT = 16  # services whose models are remembered: the largest takes some 30 MB

# botocore's names of services that a Resource names otherwise, apart from hyphens.
_SERVICES = {
    "applicationdiscovery": "discovery", "cloudwatchlogs": "logs", "cognitoidentityprovider": "cognito-idp",
    "costandusagereport": "cur", "costexplorer": "ce", "databasemigration": "dms", "directory": "ds",
    "elasticloadbalancing": "elb", "elasticloadbalancingv2": "elbv2", "elasticmapreduce": "emr",
    "elasticsearch": "es", "eventbridge": "events", "iotdataplane": "iot-data",
    "iotjobsdataplane": "iot-jobs-data", "lexmodelbuilding": "lex-models", "lexmodelsv2": "lexv2-models",
    "lexruntimev2": "lexv2-runtime", "marketplacemetering": "meteringmarketplace", "migrationhub": "mgh",
    "pinpointsmsvoice": "sms-voice", "serverlessapplicationrepository": "serverlessrepo", "sfn": "stepfunctions",
    "simpledb": "sdb", "states": "stepfunctions",
}  # fmt: skip
_loading = threading.Lock()


class Operation(NamedTuple):
    """An operation of a service, with botocore's models of both, and botocore's name of the service."""

    place: str
    service: Any
    model: Any

    @property
    def called(self) -> str:
        """The service's name in AWS' library for Java: `DynamoDb`, `CloudWatchLogs`."""
        return "".join(as_java(cased(word)) for word in str(self.service.service_id).split())


def operation(service: str, name: str) -> Operation | None:
    """The operation of `aws-sdk:service:name`; None if AWS has none, or botocore is not installed.

    An operation that was not used lately is read from files, in some tens of milliseconds.
    """
    found = place(service)
    if found is None or name not in _names(found):
        return None
    model = _model(found)
    return Operation(found, model, model.operation_model(_names(found)[name]))


def place(service: str) -> str | None:
    """The folder in which botocore keeps a service; None if botocore does not know the service."""
    return _places().get(service.replace("-", ""))


def known(service: str, name: str) -> bool:
    """True if the operation exists. The operations of a service are read from a file once."""
    found = place(service)
    return found is not None and name in _names(found)


@cache
def _places() -> dict[str, str]:
    """The folders of botocore's services, by their names without hyphens; empty without botocore."""
    loader = _loader()
    if loader is None:
        return {}
    found = {name.replace("-", ""): name for name in loader.list_available_services(MODEL)}
    return found | _SERVICES


@cache
def _names(place: str) -> dict[str, str]:
    """The operations of a service by their names in state machines: those of the API, or of the library for Java."""
    names = _model(place).operation_names
    return {
        spelled[0].lower() + spelled[1:]: name
        for name in names
        for spelled in (name, as_java(name))
    }


def _model(place: str) -> Any:
    with _loading:  # called on any thread, for deployments and for requests
        return _loaded(place)


@lru_cache(maxsize=KEPT)
def _loaded(place: str) -> Any:
    from botocore.model import ServiceModel  # noqa: PLC0415  it need not be installed

    return ServiceModel(_loader().load_service_model(place, MODEL), place)


def _loader() -> Any:
    """Reads models. It caches none, so that models that are not used any more are freed."""
    try:
        from botocore.loaders import Loader  # noqa: PLC0415  it need not be installed
    except ImportError:
        return None
    return Loader()


def cased(name: str) -> str:
    """A member's name in state machines: it begins with a capital letter."""
    return name[:1].upper() + name[1:]


def as_java(name: str) -> str:
    """A member's name in AWS' library for Java: `DbInstances` for `DBInstances`."""
    made = []
    for at, letter in enumerate(name):
        inside = at and name[at - 1].isupper() and not name[at + 1 : at + 2].islower()
        made.append(letter.lower() if inside else letter)
    return "".join(made)
