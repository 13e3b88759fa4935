"""Posts a message to Slack when a build on Travis CI fails.

The example comes from the paper on the serverless trilemma.

The input is `{"payload": the body of Travis CI's webhook, "webhook": the URL of a Slack webhook}`.
"""

from xingqiao import composer
from xingqiao.composer import path


@composer.action
def write_message(build):
    """Returns the Slack message about a failed build."""
    commit = f"{build['commit'][:7]} {build['subject'].splitlines()[0]}"
    title = f"<{build['url']}|Build #{build['number']}> of {build['repository']} failed"
    return {
        "webhook": build["webhook"],
        "message": {
            "text": f"{title} ({build['branch']})",
            "attachments": [{"color": "danger", "text": commit, "footer": build["author"]}],
        },
    }


@composer.action
def post_to_slack(params):
    """Posts a message to an incoming webhook. Fails unless Slack accepts the message."""
    import json
    import urllib.error
    import urllib.request

    request = urllib.request.Request(
        params["webhook"],
        data=json.dumps(params["message"]).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return {"status": response.status}
    except urllib.error.HTTPError as error:
        print(f"Slack answered {error.code}")
        return {"error": {"code": "SlackUnavailable", "message": f"Slack answered {error.code}"}}


build = {
    "id": path("$.payload.id"),
    "number": path("$.payload.number"),
    "state": path("$.payload.state"),
    "url": path("$.payload.build_url"),
    "repository": path("$.payload.repository.name"),
    "branch": path("$.payload.branch"),
    "commit": path("$.payload.commit"),
    "subject": path("$.payload.message"),
    "author": path("$.payload.author_name"),
    "webhook": path("$.webhook"),
}

travis_to_slack = composer.sequence(
    composer.select(build),
    composer.eca(
        path("$.state") == "failed",
        composer.forward(
            path("$"),
            write_message,
            composer.retry(3, post_to_slack, delay=0.1, backoff=2, errors="SlackUnavailable"),
            carry=["id"],
            into="slack",
        ),
        otherwise=composer.select({"id": path("$.id"), "slack": None}),
    ),
)
