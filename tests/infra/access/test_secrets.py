"""Secrets by namespace and name; the API's tests are in `tests/infra/http/test_clouds.py`."""

import subprocess
import sys

from xingqiao.adapters import AMBIENT
from xingqiao.infra.access import secrets


def test_the_reserved_name_is_the_one_that_adapters_use():
    assert secrets.AMBIENT == AMBIENT


def test_the_doors_load_no_client_and_no_server_of_http():
    program = (
        "import sys; import xingqiao.infra.access, xingqiao.infra.edge, xingqiao.infra.http; "
        "print({'aiohttp', 'uvicorn'} & set(sys.modules))"
    )

    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )

    assert told.stdout == "set()\n"
