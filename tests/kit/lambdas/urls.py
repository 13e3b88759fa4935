"""A function with a URL for everybody."""

from __future__ import annotations

from tests.kit.lambdas.clients import archive, create

PUBLIC = {
    "StatementId": "url", "Action": "lambda:InvokeFunctionUrl", "Principal": "*", "FunctionUrlAuthType": "NONE",
}  # fmt: skip


def public(aws, name, text=None, **options):
    """A function with a URL for everybody. Returns the URL."""
    create(aws, name, None if text is None else archive(text))
    aws.add_permission(FunctionName=name, **PUBLIC)
    return aws.create_function_url_config(FunctionName=name, AuthType="NONE", **options)[
        "FunctionUrl"
    ]
