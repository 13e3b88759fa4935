"""A purchase: money from an account here, an order and an article's stock in Postgres; all or nothing.

Takes `{"order": id, "customer": whose account, "article": name, "price": ...}`. The three actions are in
`participant.py`; to deploy it all, where the server's workers reach the database:

    for phase in prepare commit abort; do
        xingqiao action create pg_$phase participant.py --main $phase --param database postgresql://...
    done
    xingqiao deploy purchase.py
"""

from dataclasses import dataclass

from composer import call, participant, path, transaction
from transactions import entity

TABLES = """
CREATE TABLE articles (name text PRIMARY KEY, stock int NOT NULL CHECK (stock >= 0));
CREATE TABLE orders (
    id text PRIMARY KEY,
    customer text NOT NULL,
    article text NOT NULL REFERENCES articles,
    price int NOT NULL
);
"""


@entity
@dataclass
class Account:
    """Money; never less than none."""

    balance: int = 0

    def deposit(self, amount):
        """Puts money in."""
        self.balance += amount
        return {"balance": self.balance}

    def withdraw(self, amount):
        """Takes money out, if there is enough."""
        if amount > self.balance:
            raise ValueError(f"there are only {self.balance}, not {amount}")
        self.balance -= amount
        return {"balance": self.balance}


purchase = transaction(
    call(Account, path("$.customer"), "withdraw", {"amount": path("$.price")}),
    participant(
        "pg_prepare",
        "pg_commit",
        "pg_abort",
        params={
            "statements": [
                [
                    "UPDATE articles SET stock = stock - 1 WHERE name = %s",
                    [path("$.article")],
                ],
                [
                    "INSERT INTO orders (id, customer, article, price) VALUES (%s, %s, %s, %s)",
                    [path("$.order"), path("$.customer"), path("$.article"), path("$.price")],
                ],
            ],
        },
    ),
)
