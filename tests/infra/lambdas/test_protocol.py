"""Lambda's protocol: who signs, and what there is."""

from __future__ import annotations

import pytest

from tests.kit.infra.servers import KEY, USER
from tests.kit.lambdas.clients import client_of, refused


@pytest.mark.parametrize(
    ("user", "key", "code"),
    [
        (USER, "another", "InvalidSignatureException"),
        ("nobody", KEY, "UnrecognizedClientException"),
    ],
)
def test_who_does_not_sign_is_refused(server, user, key, code):
    stranger = client_of(server, "lambda", user, key)

    assert refused(stranger.list_functions)[:2] == (code, 403)


def test_an_operation_that_is_not_here_is_named(aws):
    assert refused(aws.get_function_recursion_config, FunctionName="any") == (
        "UnknownOperationException",
        404,
        "This operation of Lambda is not supported: GET /2024-08-31/functions/any/recursion-config",
    )
    assert refused(aws.list_layers)[2].endswith("GET /2018-10-31/layers")
