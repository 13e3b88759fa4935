"""The examples on a real server: deployed by the command line, invoked over HTTP, as a user would."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.kit.infra.servers import AUTH, XINGQIAO, running

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("data"), "--auth", AUTH) as made:
        yield made


@pytest.fixture(scope="module")
def deployed(server):
    """Deploys an example; returns the names of its actions."""

    def deploy(file):
        done = subprocess.run(
            [XINGQIAO, "deploy", EXAMPLES / file, "--json", "--url", server.url, "--auth", AUTH],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [action["name"] for action in json.loads(done.stdout)["actions"]]

    return deploy


@pytest.fixture
def invoke(server):
    """Invokes an action and waits for its end: the status, and its record."""
    with server.client() as client:

        def send(name, params):
            answer = client.post(f"/actions/{name}", params={"blocking": "true"}, json=params)
            return answer.status_code, answer.json()

        yield send


def steps(server, id):
    """The names of the steps of an execution, in order, with whether each succeeded."""
    with server.client() as client:
        records = [
            client.get(f"/activations/{step}").json()
            for step in client.get(f"/activations/{id}/logs").json()["logs"]
        ]
    return [(record["name"], record["response"]["success"]) for record in records]


def result(answer):
    status, record = answer
    assert status == 200, record
    return record["response"]["result"]


# --- travis to slack ---------------------------------------------------------------------------


@pytest.fixture
def channel():
    spec = importlib.util.spec_from_file_location(
        "xq_slack", EXAMPLES / "travis_to_slack" / "slack.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.slack() as running_slack:
        yield running_slack


@pytest.fixture
def build(channel):
    params = json.loads((EXAMPLES / "travis_to_slack" / "failed.json").read_text())
    return {**params, "webhook": channel.url}


@pytest.fixture(scope="module")
def travis(deployed):
    assert deployed("travis_to_slack/pipeline.py") == [
        "write_message", "post_to_slack", "travis_to_slack",
    ]  # fmt: skip


@pytest.mark.usefixtures("travis")
def test_a_failed_build_is_told_though_slack_fails_twice(server, channel, build, invoke):
    answer = invoke("travis_to_slack", build)

    assert result(answer) == {"id": 728213561, "slack": {"status": 200}}
    assert channel.messages == [
        {
            "text": (
                "<https://app.travis-ci.com/github/starbridge/harbour/builds/728213561|Build #1432> "
                "of harbour failed (main)"
            ),
            "attachments": [
                {
                    "color": "danger",
                    "text": "62aae5f Weigh containers before they are stacked",
                    "footer": "Lin Daiyu",
                }
            ],
        }
    ]
    assert steps(server, answer[1]["activationId"]) == [
        ("write_message", True),
        ("post_to_slack", False),
        ("post_to_slack", False),
        ("post_to_slack", True),
    ]


@pytest.mark.usefixtures("travis")
def test_a_passed_build_is_not_told(server, channel, build, invoke):
    build["payload"]["state"] = "passed"

    answer = invoke("travis_to_slack", build)

    assert result(answer) == {"id": 728213561, "slack": None}
    assert channel.messages == []
    assert len(channel.bad_answers) == 2, "Slack has not been asked"
    assert steps(server, answer[1]["activationId"]) == []


@pytest.mark.usefixtures("travis")
def test_slack_that_stays_out_of_sorts_makes_it_fail_after_four_attempts(
    server, channel, build, invoke
):
    channel.bad_answers = [503] * 10

    status, record = invoke("travis_to_slack", build)

    assert status == 502
    assert record["response"]["result"]["error"]["code"] == "SlackUnavailable"
    assert len(channel.bad_answers) == 6
    assert channel.messages == []


def test_the_demo_shows_it_end_to_end():
    environment = {k: v for k, v in os.environ.items() if not k.startswith("XINGQIAO_")}
    done = subprocess.run(
        [sys.executable, EXAMPLES / "travis_to_slack" / "demo.py"],
        capture_output=True, text=True, check=False, timeout=60, env=environment,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    commands = re.findall(r"^\$ xingqiao (\w+(?: \w+)?)", done.stdout, flags=re.MULTILINE)
    assert [command.split()[0] for command in commands] == [
        "serve", "deploy", "invoke", "execution", "execution",
    ]  # fmt: skip
    timeline = done.stdout.partition("$ xingqiao execution history")[2]
    assert re.search(r"✓ write_message", timeline)
    assert (
        len(re.findall(r"✗ post_to_slack\s+SlackUnavailable: Slack answered 50[03]", timeline)) == 2
    )
    assert re.search(r"… attempt 2 in 100 ms", timeline)
    assert re.search(r"✓ post_to_slack\s+\{\"status\": 200\}", timeline)
    assert re.search(r"✓ succeeded", timeline)
    assert "Slack has got: <https://app.travis-ci.com/" in done.stdout
    assert done.stdout.endswith("the server has stopped\n")


# --- order -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shop(deployed):
    assert deployed("order/order.py")[-1] == "order"


@pytest.fixture
def order():
    return json.loads((EXAMPLES / "order" / "order.json").read_text())


@pytest.mark.usefixtures("shop")
def test_an_order_that_can_be_paid_is_fulfilled(server, order, invoke):
    answer = invoke("order", order)

    assert result(answer) == {
        "status": "fulfilled",
        "tracking": "ship-3",
        "receipt": f"Zheng He: {(2 * 1200 + 10 * 350 + 48000) * 90 // 100}",
    }
    done = Counter(steps(server, answer[1]["activationId"]))
    assert done["reserve", True] == 3
    assert done["charge", True] == 1
    assert not any(name == "release" for name, _ in done)


@pytest.mark.usefixtures("shop")
def test_an_order_that_cannot_be_paid_is_rejected_and_all_is_given_back(server, order, invoke):
    answer = invoke("order", {**order, "limit": 100})

    assert result(answer) == {
        "status": "rejected",
        "returned": [{"released": f"r-{sku}"} for sku in ("lantern", "rope", "sail")],
    }
    done = Counter(steps(server, answer[1]["activationId"]))
    assert done["charge", False] == 1
    assert done["release", True] == 3
    assert not any(name in ("book_shipment", "write_receipt") for name, _ in done)


@pytest.mark.usefixtures("shop")
def test_an_article_that_does_not_exist_fails_the_order(order, invoke):
    order["items"].append({"sku": "kraken", "count": 1})

    status, record = invoke("order", order)

    assert status == 502
    assert record["response"]["result"]["error"] == {"code": "NoSuchArticle", "message": "kraken"}


# --- words -------------------------------------------------------------------------------------


def test_words_counted_by_chapter_are_those_of_the_whole_book(server, deployed, invoke):
    deployed("words/word_count.py")
    book = json.loads((EXAMPLES / "words" / "devils_dictionary.json").read_text())
    titles = re.findall(r"^[A-Z]$", book["text"], flags=re.MULTILINE)
    body = re.sub(r"^[A-Z]$", " ", book["text"], flags=re.MULTILINE)
    words = Counter(re.findall(r"[a-z]+(?:'[a-z]+)?", body.lower()))
    often = sorted((n for word, n in words.items() if len(word) > 5), reverse=True)[:10]

    answer = invoke("word_count", book)

    counted = result(answer)
    assert len(titles) > 1
    assert counted["chapters"] == len(titles)
    assert counted["words"] == words.total()
    assert counted["different"] == len(words)
    assert sorted(counted["most_frequent"].values(), reverse=True) == often
    assert all(words[word] == n for word, n in counted["most_frequent"].items())
    done = Counter(steps(server, answer[1]["activationId"]))
    assert done == {("split", True): 1, ("count", True): len(titles), ("total", True): 1}
