"""Calls to a DynamoDB table, made in threads and retried when the table is overloaded.

boto3 is loaded when a table is opened: loading is slow, and no other module needs boto3.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from ....adapters import how_to_install
from ..errors import StoreDoubtError, StoreError
from .items import FIELDS, Item, Key, attribute, key_item, key_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
    from contextlib import AbstractAsyncContextManager

T = TypeVar("T")
Gate: TypeAlias = "Callable[[], AbstractAsyncContextManager[None]]"  # the context of a read
Pause: TypeAlias = "Callable[[float], Awaitable[None]]"  # waits for some seconds

READ_AT_ONCE = 100  # items, of BatchGetItem
ATTEMPTS = 10  # before the call fails
FEW = 4  # attempts of a commit: the engine retries it, and informs those who wait
PAUSE_S, MAX_PAUSE_S = 0.025, 1.0  # between attempts: doubles each time
CONNECT_S, ANSWER_S, READY_S = 5, 15, 60
TOKEN_BYTES = 16
SCHEMA = 1
SCHEMA_KEY: Key = ("schema", "schema")
KEYS = {"pk": "HASH", "sk": "RANGE"}
TOO_MUCH = {
    "InternalServerError",
    "LimitExceededException",
    "ProvisionedThroughputExceeded",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ServiceUnavailable",
    "ThrottlingError",
    "ThrottlingException",
    "TransactionConflict",
    "TransactionConflictException",
    "TransactionInProgressException",
}
REFUSED = {
    "AccessDeniedException",
    "ExpiredTokenException",
    "IncompleteSignature",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "MissingAuthenticationToken",
    "UnrecognizedClientException",
}
UNSURE = {  # the call may have taken effect all the same
    "InternalServerError",
    "ServiceUnavailable",
    "TransactionInProgressException",
}
UNMET = {"ConditionalCheckFailed", "ConditionalCheckFailedException"}


class UnmetError(Exception):
    """The condition of a write does not hold; nothing was written."""


class Filter(NamedTuple):
    """A condition on a field."""

    name: str
    test: str
    value: str | int


class Span(NamedTuple):
    """A part of a partition: the keys with a prefix, the keys between two keys, or all keys.

    It holds only the items that match the filters.
    """

    pk: str
    prefix: str = ""
    low: str = ""
    high: str = ""
    filters: Sequence[Filter] = ()


def connected(threads: int) -> Any:
    """Returns a client with the SDK's usual credentials and region.

    Raises:
        StoreError: if boto3 is not installed, or no region is set.
    """
    try:
        import boto3  # noqa: PLC0415  see above
        from botocore.config import Config  # noqa: PLC0415
        from botocore.exceptions import BotoCoreError, NoRegionError  # noqa: PLC0415
    except ImportError as error:
        raise StoreError(
            f"the DynamoDB store needs {error.name}: {how_to_install('aws')}"
        ) from error
    config = Config(
        connect_timeout=CONNECT_S,
        read_timeout=ANSWER_S,
        max_pool_connections=threads,
        retries={"total_max_attempts": 1},  # `Table.call` retries
    )
    try:
        return boto3.client("dynamodb", region_name=_region(), config=config)
    except NoRegionError as error:
        raise StoreError(
            "the DynamoDB store needs a region: set AWS_REGION, or region in ~/.aws/config"
        ) from error
    except (BotoCoreError, ValueError) as error:  # a malformed region or address
        raise StoreError(f"the DynamoDB store cannot be used: {error}") from error


def _region() -> str | None:
    """Returns the region. boto3 ignores AWS_REGION, which all other SDKs and AWS itself set."""
    return os.environ.get("AWS_DEFAULT_REGION") or os.environ.get("AWS_REGION") or None


async def gather(waits: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Awaits all at the same time; raises the first error when all have ended."""
    try:
        async with asyncio.TaskGroup() as tasks:
            made = [tasks.create_task(wait) for wait in waits]
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
    return [task.result() for task in made]


def always() -> AbstractAsyncContextManager[None]:
    """A gate that is always open."""
    return nullcontext()


class Table:
    """Reads and writes a table's items.

    Args:
        client: boto3's, of DynamoDB.
        name: of the table.
        threads: calls at the same time.
        pause: awaited between attempts.
    """

    def __init__(self, client: Any, name: str, threads: int, pause: Pause) -> None:
        self.name = name
        self._client, self._pause = client, pause
        self._chance = random.Random()  # noqa: S311  jitter is not secret
        self._threads = ThreadPoolExecutor(threads, "dynamodb")
        self._attempts = ATTEMPTS

    def close(self) -> None:
        self._threads.shutdown()

    @contextmanager
    def hurried(self) -> Iterator[None]:
        """Calls within the block make few attempts: the caller retries."""
        self._attempts = FEW
        try:
            yield
        finally:
            self._attempts = ATTEMPTS

    # --- reading -----------------------------------------------------------------------------

    async def get(self, keys: Sequence[Key], *, bodies: bool = True) -> dict[Key, Item]:
        """Returns the items under some keys, those that exist; a consistent read."""
        parts = [keys[at : at + READ_AT_ONCE] for at in range(0, len(keys), READ_AT_ONCE)]
        found = await gather(self._get(part, bodies) for part in parts)
        return {key_of(item): item for items in found for item in items}

    async def _get(self, keys: Sequence[Key], bodies: bool) -> list[Item]:
        found: list[Item] = []
        shown = {} if bodies else _shown()
        asked: Any = {self.name: {"Keys": [*map(key_item, keys)], "ConsistentRead": True, **shown}}
        attempt = 0
        while asked:
            answer = await self.call("batch_get_item", RequestItems=asked)
            found += answer["Responses"].get(self.name, [])
            left = answer.get("UnprocessedKeys")
            if left and not answer["Responses"].get(
                self.name
            ):  # not a single item: the table is overloaded
                attempt += 1
                await self._back_off(attempt, "the table answers only a part of the request")
            asked = left
        return found

    async def page(
        self,
        span: Span,
        start: Any = None,
        *,
        backward: bool = False,
        size: int | None = None,
        bodies: bool = True,
    ) -> tuple[list[Item], Any]:
        """Returns a page of the items in a span, in order of their keys, and the start of the next page."""
        asked: dict[str, Any] = {**_asked(span), "ScanIndexForward": not backward}
        if size is not None:
            asked["Limit"] = size
        if start is not None:
            asked["ExclusiveStartKey"] = start
        if not bodies:
            shown = _shown()
            asked["ExpressionAttributeNames"] |= shown.pop("ExpressionAttributeNames")
            asked |= shown
        answer = await self.call("query", TableName=self.name, **asked)
        return answer["Items"], answer.get("LastEvaluatedKey")

    async def first(
        self, span: Span, most: int | None = None, *, gate: Gate = always, **options: Any
    ) -> list[Item]:
        """Returns the first `most` items in a span, or all of them; each page is read in the gate."""
        found: list[Item] = []
        start = None
        while True:
            async with gate():
                page, start = await self.page(span, start, **options)
            found += page
            if start is None or (most is not None and len(found) >= most):
                return found[:most]

    async def count(self, span: Span, gate: Gate = always) -> int:
        """Counts the items in a span."""
        asked, count = {**_asked(span), "Select": "COUNT"}, 0
        while True:
            async with gate():
                answer = await self.call("query", TableName=self.name, **asked)
            count += int(answer["Count"])
            if "LastEvaluatedKey" not in answer:
                return count
            asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    # --- writing -----------------------------------------------------------------------------

    async def put(self, item: Item) -> None:
        await self.call("put_item", TableName=self.name, Item=item)

    async def delete(self, key: Key) -> None:
        await self.call("delete_item", TableName=self.name, Key=key_item(key))

    async def transact(self, operations: Sequence[Any]) -> None:
        """Makes all writes or none, and only once, even if the request is sent again.

        Raises:
            UnmetError: if a condition does not hold.
        """
        token = secrets.token_hex(TOKEN_BYTES)
        await self.call("transact_write_items", TransactItems=operations, ClientRequestToken=token)

    # --- calling -----------------------------------------------------------------------------

    async def call(self, method: str, **arguments: Any) -> Any:
        """Calls the client, and retries while the table is overloaded.

        Raises:
            UnmetError: if a condition does not hold.
            StoreError: if the call fails; a StoreDoubtError if it may have taken effect.
        """
        from botocore import exceptions  # noqa: PLC0415  see above

        attempt, sure = 0, True
        while True:
            attempt += 1
            try:
                return await self._threaded(partial(getattr(self._client, method), **arguments))
            except exceptions.ClientError as error:
                if UNMET & _codes(error.response):
                    raise UnmetError from None
                if not _codes(error.response) <= TOO_MUCH:
                    raise StoreError(self._refusal(error.response["Error"])) from error
                sure = sure and not _codes(error.response) & UNSURE
                await self._back_off(attempt, str(error), sure=sure)
            except (exceptions.ConnectTimeoutError, exceptions.EndpointConnectionError) as error:
                await self._back_off(attempt, str(error), sure=sure)
            except (exceptions.HTTPClientError, exceptions.ConnectionError) as error:
                sure = False
                await self._back_off(attempt, str(error), sure=sure)
            except exceptions.BotoCoreError as error:
                raise StoreError(f"table {self.name} cannot be used: {error}") from error

    async def _threaded(self, call: Callable[[], Any]) -> Any:
        """Calls in a thread. A caller that is cancelled still waits until the call has ended."""
        calling = asyncio.get_running_loop().run_in_executor(self._threads, call)
        try:
            return await asyncio.shield(calling)
        except asyncio.CancelledError:
            await asyncio.wait([calling])
            calling.exception()  # retrieved, or asyncio logs it
            raise

    async def _back_off(self, attempt: int, why: str, *, sure: bool = True) -> None:
        if attempt >= self._attempts:
            kind = StoreError if sure else StoreDoubtError
            raise kind(f"table {self.name} cannot be used now: {why}")
        longest = min(MAX_PAUSE_S, PAUSE_S * 2 ** (attempt - 1))
        await self._pause(self._chance.uniform(0, longest))

    def _refusal(self, error: dict[str, str]) -> str:
        code, text = error.get("Code", ""), error.get("Message", "")
        if code in REFUSED:
            return (
                f"table {self.name} cannot be used, the credentials are refused: {code}: {text}. "
                "The SDK takes them from the environment, ~/.aws or the machine's role"
            )
        return f"table {self.name} cannot be used: {code}: {text}"

    # --- opening -----------------------------------------------------------------------------

    async def prepare(self) -> None:
        """Creates the table if there is none, and checks that it is one of ours.

        Raises:
            StoreError: if the table is not ours, is of another version, or cannot be used.
        """
        if await self._described() is None:
            await self.call(
                "create_table",
                TableName=self.name,
                BillingMode="PAY_PER_REQUEST",
                KeySchema=[{"AttributeName": n, "KeyType": kind} for n, kind in KEYS.items()],
                AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in KEYS],
            )
        self._check_keys(await self._ready())
        found = (await self.get([SCHEMA_KEY])).get(SCHEMA_KEY)
        if found is None:
            await self._check_empty()
            await self.put({**key_item(SCHEMA_KEY), "version": attribute(SCHEMA)})
        else:
            self._check_version(int(found["version"]["N"]))

    async def _described(self) -> Any:
        """Returns the table's description; None if there is no table. A single attempt."""
        from botocore import exceptions  # noqa: PLC0415  see above

        try:
            found = await self._threaded(partial(self._client.describe_table, TableName=self.name))
        except exceptions.ClientError as error:
            if error.response["Error"]["Code"] == "ResourceNotFoundException":
                return None
            raise StoreError(self._refusal(error.response["Error"])) from error
        except exceptions.BotoCoreError as error:
            raise StoreError(f"table {self.name} cannot be used: {error}") from error
        return found["Table"]

    async def _ready(self) -> Any:
        """Returns the table's description once the table is active; a new table takes some seconds."""
        for _ in range(READY_S):
            table = await self._described()
            if table is not None and table["TableStatus"] not in ("CREATING", "DELETING"):
                return table
            await self._pause(1)
        raise StoreError(f"table {self.name} is not ready after {READY_S} s: start again later")

    def _check_keys(self, table: Any) -> None:
        kinds = {d["AttributeName"]: d["AttributeType"] for d in table["AttributeDefinitions"]}
        found = {key["AttributeName"]: key["KeyType"] for key in table["KeySchema"]}
        if found != KEYS or any(kinds[name] != "S" for name in found):
            raise StoreError(
                f"table {self.name} has another schema: its keys are {', '.join(found)}, and must be "
                "the strings pk and sk. Name a table that does not exist yet; it is made"
            )

    async def _check_empty(self) -> None:
        found = await self.call("scan", TableName=self.name, Limit=1, ConsistentRead=True)
        if found["Items"]:
            raise StoreError(
                f"table {self.name} is used by something else: it has items, but no schema of ours. "
                "Name a table that does not exist yet; it is made"
            )

    def _check_version(self, version: int) -> None:
        if version != SCHEMA:
            raise StoreError(
                f"table {self.name} was written by another version of this program (schema "
                f"{version}, this one knows {SCHEMA}): use that version"
            )


def _shown() -> dict[str, Any]:
    names = {f"#{name}": name for name in FIELDS}
    return {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names}


def _asked(span: Span) -> dict[str, Any]:
    names, values, where = {"#pk": "pk"}, {":pk": attribute(span.pk)}, "#pk = :pk"
    if span.prefix:
        names["#sk"], values[":prefix"] = "sk", attribute(span.prefix)
        where += " AND begins_with(#sk, :prefix)"
    elif span.high:
        names["#sk"] = "sk"
        values |= {":low": attribute(span.low), ":high": attribute(span.high)}
        where += " AND #sk BETWEEN :low AND :high"
    asked = {
        "KeyConditionExpression": where,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
        "ConsistentRead": True,
    }
    tests = []
    for number, (name, test, value) in enumerate(span.filters):
        names[f"#{name}"], values[f":f{number}"] = name, attribute(value)
        tests.append(f"#{name} {test} :f{number}")
    if tests:
        asked["FilterExpression"] = " AND ".join(tests)
    return asked


def _codes(response: Any) -> set[str]:
    """Returns the error codes: of a transaction, one for each failed write."""
    if response["Error"]["Code"] == "TransactionCanceledException":
        reasons = response.get("CancellationReasons", [])
        found = {reason.get("Code", "None") for reason in reasons} - {"None"}
        if found:
            return found
    return {response["Error"]["Code"]}
