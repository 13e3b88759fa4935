"""The recordings' own checker, over boto3, against a real server: outcomes, causes and histories as on AWS.

What cannot agree is argued case by case in docs/states-language.md.
"""

from __future__ import annotations

import subprocess
import sys

from tests.kit.asl.recorded import CORPUS
from tests.kit.infra.servers import AUTH, KEY, USER, running

RESULTS = {  # what the recording has lost, or what needs a call before it
    "base.base.TestSnfBase_test_query_context_object_values",
    "base.wait.TestSfnWait_test_wait_timestamppath_.000000Z",
    "base.wait.TestSfnWait_test_wait_timestamppath_.00Z",
    "context_object.context_object.TestSnfBase_test_input_path",
    "intrinsic_functions.unique_id_generation.TestUniqueIdGeneration_test_uuid",
    "sfn_api.TestSnfApi_test_create_duplicate_definition_format_sm.001",
    # The checker looks for an error's code where these have none, whatever it is answered.
    "state.state_context_object.TestStateContextObject_test_state_context_object_invalid_states_INVALID_STATE_PASS",
    "state.state_machine_scenarios.TestStateMachineScenarios_test_base_state_name_validation_failures_empty",
    "state.state_machine_scenarios.TestStateMachineScenarios_test_base_state_name_validation_failures_invalid",
}
HISTORIES = 3  # whose events are left out by the recorder, or stand in reverse


def test_all_that_was_recorded_on_aws_agrees(tmp_path):
    with running(tmp_path, "--auth", AUTH, "--isolation", "none") as server:
        command = [
            sys.executable, CORPUS / "check.py", CORPUS / "cases.json", "--endpoint", server.url,
            "--verbose", "--access-key", USER, "--secret-key", KEY, "--jobs", "4",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=True)

    *differing, total = [line for line in done.stdout.splitlines() if " cases " not in line]
    assert {line.partition(": ")[0] for line in differing} == RESULTS, done.stdout
    agree = 506 - len(RESULTS)
    assert f": {agree} of 506 results agree" in total
    assert f"{agree} with their text, {agree - HISTORIES} with their history" in total
