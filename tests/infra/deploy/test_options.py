"""The options of a bundle: the file `--config`."""

from __future__ import annotations

import pytest

from xingqiao.infra.deploy import BundleError, read_options

ROLE, POLICY = (
    "arn:aws:iam::123456789012:role/charge",
    "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess",
)


def read(tmp_path, text):
    file = tmp_path / "bundle.toml"
    file.write_text(text)
    return read_options(file)


def test_a_file_is_read(tmp_path):
    given = read(
        tmp_path,
        f"""
        [vpc]
        subnets = ["subnet-1"]
        security_groups = ["sg-1", "sg-2"]

        [secrets]
        azure = {{secretsmanager = "prod/azure"}}

        [action.a]
        policies = ["{POLICY}"]
        environment = {{CURRENCY = "EUR", KEY = {{ssm = "/prod/key"}}}}

        [action."p/b"]
        role = "{ROLE}"
        """,
    )

    assert (given.vpc.subnets, given.vpc.security_groups) == (["subnet-1"], ["sg-1", "sg-2"])
    assert given.secrets == {"azure": {"secretsmanager": "prod/azure"}}
    assert given.of("a").policies == [POLICY]
    assert given.of("a").environment == {"CURRENCY": "EUR", "KEY": {"ssm": "/prod/key"}}
    assert given.of("p/b").role == ROLE
    assert given.of("another").role == ""


def test_no_file_is_no_settings():
    given = read_options(None, platform="arm64")

    assert (given.platform, given.vpc, given.secrets) == ("arm64", None, {})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[", "the file cannot be read as TOML"),
        ("[vpcs]", "'vpcs' is unknown: the file may have vpc, secrets, action"),
        ("vpc = 1", "'vpc' must be a table"),
        ("[vpc]\nsubnets = ['s']", "'vpc.security_groups' is missing"),
        ("[vpc]\nsubnets = []\nsecurity_groups = ['g']", "'vpc.subnets' must be a list of one or more ids"),
        ("[secrets]\nazure = 'secret'", "'secrets.azure' must say where the secret is"),
        ("[secrets]\nazure = {vault = 'x'}", "'secrets.azure' must say where the secret is"),
        ("[action.a]\nroles = 1", "'action.a.roles' is unknown"),
        ("[action.a]\nrole = 'admin'", "'action.a.role' must be the ARN of a role"),
        ("[action.a]\npolicies = ['admin']", "'action.a.policies' must be a list of ARNs"),
        ("[action.a]\npolicies = 'admin'", "'action.a.policies' must be a list of ARNs"),
        (f"[action.a]\nrole = '{ROLE}'\npolicies = ['{POLICY}']", "attach the policies to that role"),
        ("[action.a]\nenvironment = {AWS_REGION = 'x'}", "'action.a.environment.AWS_REGION' is not an allowed name"),
        ("[action.a]\nenvironment = {'a-b' = 'x'}", "'action.a.environment.a-b' is not an allowed name"),
        ("[action.a]\nenvironment = {A = 1}", "'action.a.environment.A' must say where the secret is"),
    ],
)  # fmt: skip
def test_what_is_malformed_names_the_field(tmp_path, text, says):
    with pytest.raises(BundleError) as refused:
        read(tmp_path, text)

    assert says in str(refused.value)
    assert "bundle.toml" in str(refused.value)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(BundleError, match="the file cannot be read"):
        read_options(tmp_path / "none.toml")
