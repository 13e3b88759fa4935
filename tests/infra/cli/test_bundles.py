"""`xingqiao bundle`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

XINGQIAO = Path(sys.executable).with_name("xingqiao")
ROOT = Path(__file__).parents[3]
GREETING = """
from xingqiao import composer

@composer.action
def hello(params):
    return {"text": "Hello, " + params.get("name", "world")}

greet = composer.sequence(hello, lambda params: params["text"])
"""


def bundle(*arguments):
    return subprocess.run(
        [XINGQIAO, "bundle", *arguments], capture_output=True, text=True, check=False
    )


def test_it_writes_the_folder_and_says_what_comes_next(tmp_path):
    file = ROOT / "examples/travis_to_slack/pipeline.py"

    done = bundle(file, "--target", "aws", "--out", tmp_path / "out")

    assert done.returncode == 0, done.stderr
    assert f"cd {tmp_path / 'out'} && npx osls deploy" in done.stdout.replace("\n", " ")
    assert (tmp_path / "out/serverless.yml").read_text().startswith("service: pipeline\n")


def test_openwhisk_takes_commands_for_each_action(tmp_path):
    file = tmp_path / "greeting.py"
    file.write_text(GREETING)

    done = bundle(file, "--target", "openwhisk", "--out", tmp_path / "out")

    assert done.returncode == 0, done.stderr
    assert "wsk action update hello hello.py --kind python:3.11" in done.stdout
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        ".xingqiao-bundle", "README.md", "greet.zip", "hello.py",
    }  # fmt: skip


def test_azure_takes_a_function_app(tmp_path):
    file = tmp_path / "greeting.py"
    file.write_text(GREETING)

    done = bundle(file, "--target", "azure", "--out", tmp_path / "out")

    assert done.returncode == 0, done.stderr
    assert "func azure functionapp publish APP" in done.stdout
    assert {"function_app.py", "host.json", "requirements.txt", "deployed.json"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }


def test_google_takes_functions_and_terraform(tmp_path):
    file = tmp_path / "greeting.py"
    file.write_text(GREETING)

    done = bundle(file, "--target", "google", "--out", tmp_path / "out")

    assert done.returncode == 0, done.stderr
    assert "terraform apply -var project=PROJECT" in done.stdout
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        ".xingqiao-bundle", "README.md", "actions", "actions.zip", "conductor", "conductor.zip", "main.tf.json",
    }  # fmt: skip


def test_it_has_a_name_of_its_own(tmp_path):
    file = ROOT / "examples/travis_to_slack/pipeline.py"

    bundle(file, "--target", "aws", "--out", tmp_path, "--name", "Builds in Slack")

    assert (tmp_path / "serverless.yml").read_text().startswith("service: builds-in-slack\n")


FAR = """
from xingqiao import composer

charge = composer.action("charge", kind="http", function="https://example.com/charge", credentials="shop")
main = composer.sequence(charge)
"""


def test_a_file_says_where_secrets_are_and_an_option_which_processor_runs(tmp_path):
    file, config, out = tmp_path / "far.py", tmp_path / "bundle.toml", tmp_path / "out"
    file.write_text(FAR)
    config.write_text('[secrets]\nshop = {ssm = "/prod/shop"}\n')

    refused = bundle(file, "--target", "aws", "--out", out)
    done = bundle(file, "--target", "aws", "--out", out, "--config", config, "--platform", "arm64")

    assert refused.returncode == 1
    assert "the place of its credentials 'shop' is not known" in refused.stderr
    assert done.returncode == 0, done.stderr
    template = (out / "serverless.yml").read_text()
    assert "architecture: arm64" in template
    assert "/prod/shop" in template


def test_what_is_refused_says_why(tmp_path):
    file = tmp_path / "lonely.py"
    file.write_text("from xingqiao import composer\nmain = composer.sequence('elsewhere')\n")

    done = bundle(file, "--target", "aws", "--out", tmp_path / "out")

    assert done.returncode == 1
    assert "composition main: the code of /_/elsewhere is missing" in done.stderr


def test_a_target_is_needed(tmp_path):
    done = bundle(tmp_path / "x.py", "--out", tmp_path)

    assert done.returncode == 2
    assert "--target" in done.stderr
