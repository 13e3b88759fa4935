"""Azure Durable Functions' HTTP API on a strict host.

Paths, status codes and bodies: https://learn.microsoft.com/azure/azure-functions/durable/durable-functions-http-api
"""

from __future__ import annotations

import re
import urllib.parse
from dataclasses import dataclass, field

from tests.rigs.answers import answer

ROOT = "/runtime/webhooks/durabletask"
ENDED = {"Completed", "Failed", "Terminated"}
HUB = {"taskHub": "rig", "connection": "Storage"}
TIME = "2026-01-01T00:00:00Z"


@dataclass(slots=True)
class Instance:
    """An orchestration: it runs for some polls, or until an event it waits for, then it ends so."""

    name: str
    input: object
    polls: int
    awaits: str | None
    ends: str
    output: object
    status: str = "Pending"
    events: list = field(default_factory=list)

    def step(self):
        """What a look at it finds."""
        if self.status not in ENDED:
            self.status = "Running" if self.polls or self.awaits else self.ends
            self.polls = max(self.polls - 1, 0)


class Durable:
    """The API of one task hub, behind a system key in the query (`code`), as Azure has it.

    An orchestration that is to run is announced by `expect`; any other is 404, as an orchestrator
    that is not there.
    """

    def __init__(self, host, *, key="a-system-key", retry_after=0):
        self.host, self.key, self.instances = host, key, {}
        self._expected, self._retry_after = {}, retry_after
        host.handlers.append((re.compile(re.escape(ROOT) + "/.*"), self._play))

    def expect(self, name, *, output=None, polls=1, awaits=None, ends="Completed"):
        """The next orchestrations of this name: pending for `polls` looks, or until an event."""
        self._expected[name] = {"polls": polls, "awaits": awaits, "ends": ends, "output": output}

    def start(self, name, instance, value):
        """Starts one, as the client function of an app does. The answer of CreateCheckStatusResponse."""
        self.instances[instance] = Instance(name=name, input=value, **self._expected[name])
        root = f"{self.host.url}{ROOT}/instances/{instance}"
        query = urllib.parse.urlencode({**HUB, "code": self.key})
        uris = {
            "id": instance,
            "statusQueryGetUri": f"{root}?{query}",
            "sendEventPostUri": f"{root}/raiseEvent/{{eventName}}?{query}",
            "terminatePostUri": f"{root}/terminate?reason={{text}}&{query}",
            "rewindPostUri": f"{root}/rewind?reason={{text}}&{query}",
            "purgeHistoryDeleteUri": f"{root}?{query}",
        }
        return answer(uris, 202, self._later(uris["statusQueryGetUri"]))

    def starter(self, name, instance):
        """An answer for the script of an HTTP route that starts an orchestration."""

        async def play(host, seen, writer):
            value = seen.json() if seen.body else None
            return await self.start(name, instance, value)(host, seen, writer)

        return play

    def _later(self, uri):
        return {"Location": uri, "Retry-After": self._retry_after}

    def _play(self, seen):
        if self.key not in (seen.query.get("code"), seen.headers.get("x-functions-key")):
            return answer(None, 401)
        match seen.method, *seen.path.removeprefix(f"{ROOT}/").split("/"):
            case "POST", "orchestrators", name, *rest if name in self._expected:
                instance = rest[0] if rest else f"{len(self.instances) + 1:032x}"
                if instance in self.instances and self.instances[instance].status not in ENDED:
                    return answer({"Message": f"An instance {instance} already exists."}, 409)
                return self.start(name, instance, seen.json() if seen.body else None)
            case "POST", "orchestrators", name, *_:
                return answer({"Message": f"The function '{name}' doesn't exist."}, 404)
            case method, "instances", instance, *verb if instance in self.instances:
                return self._on_instance(seen, method, self.instances[instance], verb)
            case _:
                return answer(None, 404)

    def _on_instance(self, seen, method, found, verb):
        match method, *verb:
            case ("GET",):
                found.step()
                return self._status(seen, found)
            case ("POST", "raiseEvent" | "terminate", *_) if found.status in ENDED:
                return answer(None, 410)
            case "POST", "raiseEvent", event:
                found.events.append((event, seen.json() if seen.body else None))
                found.awaits = None if found.awaits == event else found.awaits
                return answer(None, 202)
            case "POST", "terminate":
                found.status, found.output = "Terminated", seen.query.get("reason")
                return answer(None, 202)
            case _:
                return answer(None, 405)

    def _status(self, seen, found):
        body = {
            "name": found.name, "instanceId": seen.path.rpartition("/")[2],
            "runtimeStatus": found.status, "input": found.input, "customStatus": None,
            "output": found.output if found.status in ENDED else None,
            "createdTime": TIME, "lastUpdatedTime": TIME,
        }  # fmt: skip
        if found.status not in ENDED:
            query = urllib.parse.urlencode(seen.query)
            return answer(body, 202, self._later(f"{self.host.url}{seen.path}?{query}"))
        asked = seen.query.get("returnInternalServerErrorOnFailure") == "true"
        return answer(body, 500 if asked and found.status == "Failed" else 200)
