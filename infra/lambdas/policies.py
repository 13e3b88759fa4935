"""Permissions of functions: statements that are stored and shown as on AWS.

Functions are called by keys of their own namespace, which need no permission, and at their URLs: there
the statements decide. Statements for AWS' services have no effect, because these services do not call this server.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from ...actions import LATEST
from ..aws import AwsError, Flag, Required, Text, members, read
from .configuration import invalid
from .lookup import arn_in, name_of, target_of
from .protocol import Answer
from .records import Policy
from .revisions import check_revision, new_revision

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...composer import JSON
    from .api import LambdaApi
    from .lookup import Target
    from .protocol import ApiCall

MOST_BYTES = 20_480  # of a policy
CREATED, GONE, CONFLICT, MISSING = 201, 204, 409, 404
URL_ACTION = "lambda:InvokeFunctionUrl"
URL_ACTIONS = (URL_ACTION, "lambda:*", "*")
AUTH_TYPES = ("NONE", "AWS_IAM")
EVERYBODY = "*"
_AUTH, _VIA_URL = "lambda:FunctionUrlAuthType", "lambda:InvokedViaFunctionUrl"
_ACCOUNT = re.compile(r"\d{12}")
GIVEN = members(
    StatementId=Required(Text(least=1, most=100, pattern="([a-zA-Z0-9-_]+)")),
    Action=Required(Text(pattern=r"(lambda:[*]|lambda:[a-zA-Z]+|[*])")),
    Principal=Required(Text(least=1, most=2048, pattern=r"[^\s]+")),
    SourceArn=Text(pattern=r"arn:(aws[a-zA-Z0-9-]*):([a-zA-Z0-9\-])+:([a-z]{2}(-gov)?-[a-z]+-\d{1})?:(\d{12})?:(.*)"),
    FunctionUrlAuthType=Text(among=AUTH_TYPES),
    InvokedViaFunctionUrl=Flag(),
    SourceAccount=Text(most=12, pattern=r"\d{12}"),
    EventSourceToken=Text(most=256, pattern=r"[a-zA-Z0-9._\-]+"),
    RevisionId=Text(),
    PrincipalOrgID=Text(least=12, most=34, pattern="o-[a-z0-9]{10,32}"),
)  # fmt: skip
# The conditions of a statement: the parameter, the operator and the key.
_CONDITIONS = (
    ("SourceArn", "ArnLike", "AWS:SourceArn"),
    ("SourceAccount", "StringEquals", "AWS:SourceAccount"),
    ("FunctionUrlAuthType", "StringEquals", _AUTH),
    ("InvokedViaFunctionUrl", "Bool", _VIA_URL),
    ("EventSourceToken", "StringEquals", "lambda:EventSourceToken"),
    ("PrincipalOrgID", "StringEquals", "aws:PrincipalOrgID"),
)


def allows(statements: Iterable[Mapping[str, Any]], auth: str, caller: str | None) -> bool:
    """True if a statement lets `caller`, a namespace or None for anybody, call a URL with this AuthType."""
    return any(
        statement["Action"] in URL_ACTIONS
        and _means(statement["Principal"], caller)
        and _holds(statement.get("Condition", {}), auth)
        for statement in statements
    )


def _means(principal: Any, caller: str | None) -> bool:
    named = principal.get("AWS") if isinstance(principal, dict) else principal
    return named == EVERYBODY or (caller is not None and named == caller)


def _holds(conditions: Mapping[str, Mapping[str, str]], auth: str) -> bool:
    """True if all conditions hold for a call at a URL: such a call has no source and no organization."""
    facts = {_AUTH: auth, _VIA_URL: "true"}
    wanted = [pair for keys in conditions.values() for pair in keys.items()]
    return all(facts.get(key) == value for key, value in wanted)


async def add_permission(call: ApiCall, api: LambdaApi) -> Answer:
    given = read(GIVEN, call.document)
    if "FunctionUrlAuthType" in given and given["Action"] != URL_ACTION:
        raise invalid(f"FunctionUrlAuthType is only supported for {URL_ACTION} action")
    async with api.lambdas.changing(name_of(call)):
        target = _permitted(call, api)
        before = target.owner.record.policies.get(target.key)
        _check(given.get("RevisionId"), before, target)
        statement = _statement(given, arn_in(target, api))
        statements = () if before is None else before.statements
        if any(one["Sid"] == statement["Sid"] for one in statements):
            raise AwsError(
                "ResourceConflictException",
                f"The statement id ({statement['Sid']}) provided already exists. Please provide a new statement id, "
                "or remove the existing statement.",
                CONFLICT,
            )
        await _keep(target, (*statements, statement), api)
    return Answer({"Statement": orjson.dumps(statement).decode()}, CREATED)


async def remove_permission(call: ApiCall, api: LambdaApi) -> Answer:
    async with api.lambdas.changing(name_of(call)):
        target, id = _permitted(call, api), call.part("statement")
        before = target.owner.record.policies.get(target.key)
        _check(call.query("RevisionId"), before, target)
        if before is None:
            raise _missing("No policy is associated with the given resource.")
        left = tuple(one for one in before.statements if one["Sid"] != id)
        if len(left) == len(before.statements):
            raise _missing(f"Statement {id} is not found in resource policy.")
        await _keep(target, left, api)
    return Answer(b"", GONE)


async def get_policy(call: ApiCall, api: LambdaApi) -> Answer:
    target = target_of(call, api)
    policy = target.owner.record.policies.get(target.key)
    if policy is None:
        raise _missing("The resource you requested does not exist.")
    return Answer({"Policy": _spelled(policy.statements), "RevisionId": policy.revision})


# --- steps ---------------------------------------------------------------------------------------


def _permitted(call: ApiCall, api: LambdaApi) -> Target:
    target = target_of(call, api)
    if target.qualifier == LATEST:
        raise invalid("We currently do not support adding policies for $LATEST.")
    return target


def _check(given: str | None, policy: Policy | None, target: Target) -> None:
    """Checks a RevisionId: that of the policy, or that of the function or alias as long as there is no policy."""
    if policy is not None:
        check_revision(given, policy.revision)
    else:
        alias = target.alias
        check_revision(given, target.function["RevisionId"] if alias is None else alias.revision)


def _statement(given: Mapping[str, Any], arn: str) -> dict[str, Any]:
    statement = {
        "Sid": given["StatementId"],
        "Effect": "Allow",
        "Principal": _principal(given["Principal"]),
        "Action": given["Action"],
        "Resource": arn,
    }
    conditions: dict[str, dict[str, str]] = {}
    for name, operator, key in _CONDITIONS:
        if name in given:
            value = given[name]
            text = str(value).lower() if isinstance(value, bool) else value
            conditions.setdefault(operator, {})[key] = text
    return {**statement, "Condition": conditions} if conditions else statement


def _principal(text: str) -> JSON:
    if text == EVERYBODY:
        return EVERYBODY
    if _ACCOUNT.fullmatch(text):
        return {"AWS": f"arn:aws:iam::{text}:root"}
    return {"Service": text} if text.endswith((".amazonaws.com", ".amazon.com")) else {"AWS": text}


def _spelled(statements: Iterable[dict[str, Any]]) -> str:
    policy = {"Version": "2012-10-17", "Id": "default", "Statement": [*statements]}
    return orjson.dumps(policy).decode()


async def _keep(target: Target, statements: tuple[dict[str, Any], ...], api: LambdaApi) -> None:
    size = len(_spelled(statements))
    if size > MOST_BYTES:
        raise AwsError(
            "PolicyLengthExceededException",
            f"The final policy size ({size}) is bigger than the limit ({MOST_BYTES}).",
        )
    record = target.owner.record
    policies = {key: policy for key, policy in record.policies.items() if key != target.key}
    if statements:
        policies[target.key] = Policy(revision=new_revision(), statements=statements)
    await api.lambdas.keep(target.owner, replace(record, policies=policies))


def _missing(message: str) -> AwsError:
    return AwsError("ResourceNotFoundException", message, MISSING)
