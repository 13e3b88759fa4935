"""`xingqiao activation ...`, against a real server."""

from __future__ import annotations

import json
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor, wait

from tests.kit.infra.servers import AUTH, DEADLINE_S, XINGQIAO
from xingqiao import composer

SPEAK = "def main(params):\n    print('hello')\n    print('again')\n    return params\n"
FAIL = "def main(params):\n    return {'error': 'no luck'}\n"
UNKNOWN = "0" * 32
LOOKS = 5


def invoked(xingqiao, name, *arguments):
    return xingqiao("invoke", name, "--blocking", "--json", *arguments).json["activationId"]


def test_activations_are_listed_for_people_and_for_programs(xingqiao, action):
    action("listed", SPEAK)
    action("listed_failing", FAIL)
    good, bad = invoked(xingqiao, "listed"), invoked(xingqiao, "listed_failing")

    table = xingqiao("activation", "list", "--limit", "2").out.splitlines()
    documents = xingqiao("activation", "list", "listed", "--json").json

    assert table[0].split() == ["start", "activation", "action", "kind", "status", "duration"]
    assert bad in table[1]
    assert "listed_failing" in table[1]
    assert "failed" in table[1]
    assert good in table[2]
    assert "succeeded" in table[2]
    assert table[2].rstrip().endswith("ms")
    assert [document["activationId"] for document in documents] == [good]


def test_a_list_is_of_a_page_and_of_a_time(xingqiao, action):
    action("paged", SPEAK)
    ids = [invoked(xingqiao, "paged") for _ in range(3)][::-1]
    starts = [doc["start"] for doc in xingqiao("activation", "list", "paged", "--json").json]

    def listed(*options):
        found = xingqiao("activation", "list", "paged", "--json", *options).json
        return [document["activationId"] for document in found]

    assert listed("--limit", "1", "--skip", "1") == ids[1:2]
    assert listed("--since", starts[0] + 1) == []
    assert listed("--since", "2h", "--upto", "2099-01-01T00:00") == ids
    assert listed("--upto", "2h") == []
    assert listed("--upto", starts[2] - 1) == []
    assert sorted(listed("--since", starts[2], "--upto", starts[0])) == sorted(ids)


def test_a_time_that_cannot_be_read_is_refused_with_a_remedy(xingqiao):
    for noun in ("activation", "execution"):
        refused = xingqiao(noun, "list", "--since", "soon")
        assert refused.code == 2
        assert "Invalid value for '--since': 'soon' is not a time: give" in refused.err


def test_nothing_to_list_is_said(xingqiao):
    assert xingqiao("activation", "list", "never").out == "no activations\n"
    assert xingqiao("activation", "list", "never", "--json").out == "[]\n"


def test_a_record_its_logs_and_its_result_are_shown(xingqiao, action):
    action("recorded", SPEAK)
    id = invoked(xingqiao, "recorded", "-p", "n", "1")

    assert xingqiao("activation", "get", id).json["activationId"] == id
    assert xingqiao("activation", "get", id, "--json").json["response"]["result"] == {"n": 1}
    assert xingqiao("activation", "result", id).out == '{\n  "n": 1\n}\n'
    assert xingqiao("activation", "result", id, "--json").out == '{"n": 1}\n'
    lines = xingqiao("activation", "logs", id).out.splitlines()
    assert [line.partition(" ")[2] for line in lines] == ["stdout: hello", "stdout: again"]
    assert xingqiao("activation", "logs", id, "--json").json == lines


def test_the_last_one_needs_no_id(xingqiao, action):
    action("latest", SPEAK)
    id = invoked(xingqiao, "latest", "-p", "n", "2")

    assert xingqiao("activation", "get", "--last", "--json").json["activationId"] == id
    assert xingqiao("activation", "result", "-l").json == {"n": 2}
    assert "hello" in xingqiao("activation", "logs", "--last").out


def test_a_compositions_logs_are_the_ids_of_its_steps(xingqiao, action, composition):
    action("logged", SPEAK)
    composition("logged_twice", composer.repeat(2, "logged"))
    id = invoked(xingqiao, "logged_twice")

    steps = xingqiao("activation", "logs", id).out.split()

    assert len(steps) == 2
    for step in steps:
        assert xingqiao("activation", "get", step).json["cause"] == id


def test_one_that_is_not_given_or_given_twice_is_misuse(xingqiao, refused):
    for verb in ("get", "logs", "result"):
        for arguments in ([], [UNKNOWN, "--last"]):
            line = refused("activation", verb, *arguments, code=2)
            assert line.startswith("the activation is not clear: give either ID or --last")


def test_one_that_never_was_is_told(xingqiao, refused):
    for verb in ("get", "logs", "result"):
        missing = refused("activation", verb, UNKNOWN)
        assert missing.startswith(f"the activation '{UNKNOWN}' does not exist in the namespace")
    malformed = refused("activation", "get", "abc")
    assert malformed == "Activation id length is 3 but must be 32. (400)"


def test_polling_shows_what_ends_as_it_ends_until_it_is_interrupted(xingqiao, server, action):
    action("polled", SPEAK)
    command = [XINGQIAO, "activation", "poll", "polled", "--json"]
    poll = subprocess.Popen(
        [*command, "--url", server.url, "--auth", AUTH],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    ids = set()

    with ThreadPoolExecutor(1) as pool:
        line = pool.submit(poll.stdout.readline)
        for number in range(LOOKS):  # the first may come before it looks
            ids.add(invoked(xingqiao, "polled", "-p", "n", number))
            if wait([line], timeout=2).done:
                break
    poll.send_signal(signal.SIGINT)
    rest, errors = poll.communicate(timeout=DEADLINE_S)

    shown = [json.loads(text) for text in [line.result(), *rest.splitlines()]]
    shown_ids = [record["activationId"] for record in shown]
    assert poll.returncode == 130
    assert errors.strip() == ""
    assert set(shown_ids) <= ids
    assert len(shown_ids) == len(set(shown_ids)), "each is shown once"
    numbers = [record["response"]["result"]["n"] for record in shown]
    assert numbers == sorted(numbers), "the oldest first"
    assert len(shown[0]["logs"]) == 2


def test_polling_tells_people_of_each_with_its_log(xingqiao, server, action):
    action("polled_too", SPEAK)
    poll = subprocess.Popen(
        [XINGQIAO, "activation", "poll", "polled_too", "--url", server.url, "--auth", AUTH],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip

    with ThreadPoolExecutor(1) as pool:
        lines = pool.submit(lambda: [poll.stdout.readline() for _ in range(3)])
        for _ in range(LOOKS):
            invoked(xingqiao, "polled_too")
            if wait([lines], timeout=2).done:
                break
    poll.send_signal(signal.SIGINT)
    poll.communicate(timeout=DEADLINE_S)

    first, second, third = lines.result()
    assert "polled_too  succeeded" in first
    assert second.startswith("  ")
    assert second.endswith("stdout: hello\n")
    assert third.endswith("stdout: again\n")


def test_polling_ends_by_itself_when_told_so(xingqiao):
    ended = xingqiao("activation", "poll", "never", "--exit", "1")

    assert (ended.code, ended.out, ended.err) == (0, "", "")
