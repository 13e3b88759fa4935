"""The account that the lambda rig plays: known on both sides, in the tests and in its process."""

REGION = "us-east-1"
ACCOUNT = "123456789012"
ROLE_NAME = "rig"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/{ROLE_NAME}"
KEYS = ("AKIARIG0000000000000", "a-secret-of-the-rig")
FORBIDDEN = ("AKIAFORBIDDEN0000000", "a-secret-without-rights")  # 403 AccessDeniedException
EXPIRED = ("ASIAEXPIRED000000000", "a-secret-of-yesterday")  # 403 ExpiredTokenException
