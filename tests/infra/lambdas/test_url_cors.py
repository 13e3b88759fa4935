"""What a URL tells to pages of other origins."""

from __future__ import annotations

import pytest

from xingqiao.infra.lambdas.url_cors import asks, cors_headers

SITE = {"origin": "https://a.example"}
RULES = {
    "AllowOrigins": ["https://a.example"], "AllowMethods": ["GET", "PUT"], "AllowHeaders": ["x-a", "x-b"],
    "ExposeHeaders": ["x-c"], "MaxAge": 60, "AllowCredentials": True,
}  # fmt: skip


ALLOWED = ("access-control-allow-origin", "https://a.example")
CREDENTIALS = ("access-control-allow-credentials", "true")
VARY = ("vary", "Origin")


def test_a_preflight_is_answered_by_the_rules():
    assert cors_headers(RULES, SITE, preflight=True) == [
        ALLOWED, CREDENTIALS, ("access-control-allow-methods", "GET, PUT"),
        ("access-control-allow-headers", "x-a, x-b"), ("access-control-max-age", "60"), VARY,
    ]  # fmt: skip


def test_other_answers_tell_what_a_page_may_read():
    expected = [ALLOWED, CREDENTIALS, ("access-control-expose-headers", "x-c"), VARY]

    assert cors_headers(RULES, SITE, preflight=False) == expected


@pytest.mark.parametrize(
    ("rules", "headers", "origin"),
    [
        ({"AllowOrigins": ["*"]}, SITE, "*"),
        ({"AllowOrigins": ["*"], "AllowCredentials": True}, SITE, "https://a.example"),
        ({"AllowOrigins": ["https://b.example"]}, SITE, None),
        ({"AllowOrigins": ["*"]}, {}, None),
        ({}, SITE, None),
    ],
)
def test_an_origin_is_allowed_by_its_name_or_by_a_star(rules, headers, origin):
    found = dict(cors_headers(rules, headers, preflight=False))

    assert found.get("access-control-allow-origin") == origin


def test_a_preflight_names_its_origin_and_its_method():
    full = {**SITE, "access-control-request-method": "PUT"}

    assert asks("OPTIONS", full)
    assert not any((asks("GET", full), asks("OPTIONS", SITE)))
