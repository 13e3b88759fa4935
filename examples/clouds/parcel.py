"""Sends a parcel with functions on three clouds and one local function.

The composition does not depend on where its functions run. AWS Lambda checks the address. Two
carriers return their prices in parallel: one on Azure, which throttles requests now and then, and
one on an OpenWhisk host. A local function picks the cheaper offer. Lambda prints the label; while
Lambda is down, the OpenWhisk host prints it.

The environment variables below set the region and the hosts when you deploy this file. The
credentials are secrets of the server:

    xingqiao secret set azure    # {"type": "functions-key", "key": "..."}
    xingqiao secret set whisk    # uuid:key
"""

import os

from xingqiao import composer

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
    annotations={"idempotent": True},  # a retry is safe even if it may have run
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
    """Returns the parcel together with the cheaper offer."""
    offers = params["result"]["value"]
    return {**params["params"], **min(offers, key=lambda offer: offer["price"])}


send_parcel = composer.sequence(
    check_address,
    composer.retain(composer.parallel(price_air, price_rail)),
    cheapest,
    composer.fallback(
        print_label,
        print_label_too,
        errors=[
            "Unavailable",
            "Throttled",
            "Permission",
        ],  # after these errors no label was printed
    ),
)
