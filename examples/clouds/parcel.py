"""A parcel is sent by functions on three clouds, and one here: nobody can tell from the composition.

The address is checked on AWS Lambda. Two carriers are asked for their price at once, one on Azure (which throttles
now and then) and one on an OpenWhisk host; the cheaper one is picked here. Its label is printed on Lambda, and
on the OpenWhisk host while Lambda is down.

Where the clouds are is read from the environment when this is deployed; who asks there are secrets of the server:

    xingqiao secret set azure    # {"type": "functions-key", "key": "..."}
    xingqiao secret set whisk    # uuid:key
"""

import os

import composer

REGION = os.environ.get("AWS_REGION", "eu-west-1")
AZURE = os.environ.get("AZURE_HOST", "https://parcels.azurewebsites.net")
WHISK = os.environ.get("WHISK_HOST", "https://openwhisk.example.com")

check_address = composer.action(
    "check_address", kind="aws:lambda", function="check-address", region=REGION
)
price_air = composer.action(
    "price_air",
    kind="azure:function",
    function="price",
    host=AZURE,
    credentials="azure",
    annotations={"idempotent": True},  # so it is also asked again when nobody knows whether it ran
)
price_rail = composer.action(
    "price_rail", kind="openwhisk:action", function="price", host=WHISK, credentials="whisk"
)
print_label = composer.action(
    "print_label", kind="aws:lambda", function="print-label", region=REGION
)
print_label_too = composer.action(
    "print_label_too",
    kind="openwhisk:action",
    function="print-label",
    host=WHISK,
    credentials="whisk",
)


@composer.action
def cheapest(params):
    """The cheaper offer, with what it is an offer for."""
    offers = params["result"]["value"]
    return {**params["params"], **min(offers, key=lambda offer: offer["price"])}


send_parcel = composer.sequence(
    check_address,
    composer.retain(composer.parallel(price_air, price_rail)),
    cheapest,
    composer.fallback(
        print_label,
        print_label_too,
        errors=["Unavailable", "Throttled", "Permission"],  # it surely has not printed
    ),
)
