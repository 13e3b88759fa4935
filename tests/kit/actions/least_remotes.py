"""The least that each kind of function elsewhere needs."""

from __future__ import annotations

URL = "https://api.example.com/orders"
LEAST = {
    "aws:lambda": {"function": "charge"},
    "aws:states": {"function": "arn:aws:states:eu-west-1:123456789012:stateMachine:Order"},
    "openwhisk:action": {"function": "shop/charge", "host": "https://whisk.example.com"},
    "azure:function": {"function": "charge", "host": "https://app.azurewebsites.net"},
    "azure:durable": {"function": "Order", "host": "https://app.azurewebsites.net"},
    "gcp:function": {"function": "https://f-1.run.app"},
    "http": {"function": URL},
    "cloudevents": {"function": URL, "type": "shop.order"},
}


def doc(kind, **options):
    return {"kind": kind, **LEAST[kind], **options}
