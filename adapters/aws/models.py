"""botocore's models of AWS' services, by the names that state machines have for them.

https://docs.aws.amazon.com/step-functions/latest/dg/supported-services-awssdk.html
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

MODEL = "service-2"
KEPT = 64  # operations that are remembered

# Where botocore keeps a service whose name in a Resource is another; hyphens apart.
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


class Operation(NamedTuple):
    """An operation of a service, with botocore's models of both, and botocore's name of the service."""

    place: str
    service: Any
    model: Any

    @property
    def called(self) -> str:
        """What AWS' library for Java calls the service: `DynamoDb`, `CloudWatchLogs`."""
        return "".join(as_java(cased(word)) for word in str(self.service.service_id).split())


@lru_cache(maxsize=KEPT)
def operation(service: str, name: str) -> Operation | None:
    """The operation that `aws-sdk:service:name` asks for; None when AWS has none, or botocore is not here."""
    found = _service(service)
    if found is None:
        return None
    place, model = found
    names = {name.lower(): name for name in model.operation_names}
    called = names.get(name.lower())
    return None if called is None else Operation(place, model, model.operation_model(called))


@lru_cache(maxsize=KEPT // 4)
def _service(name: str) -> tuple[str, Any] | None:
    try:
        from botocore.loaders import Loader  # noqa: PLC0415  it need not be installed
        from botocore.model import ServiceModel  # noqa: PLC0415
    except ImportError:
        return None
    loader = Loader()
    known = {name.replace("-", ""): name for name in loader.list_available_services(MODEL)}
    place = _SERVICES.get(name) or known.get(name.replace("-", ""))
    return place and (place, ServiceModel(loader.load_service_model(place, MODEL), place))


def cased(name: str) -> str:
    """A member's name as state machines have it: it begins with a capital letter."""
    return name[:1].upper() + name[1:]


def as_java(name: str) -> str:
    """The same as AWS' library for Java has it: `DbInstances` for `DBInstances`."""
    made = []
    for at, letter in enumerate(name):
        inside = at and name[at - 1].isupper() and not name[at + 1 : at + 2].islower()
        made.append(letter.lower() if inside else letter)
    return "".join(made)
