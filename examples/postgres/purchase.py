"""A purchase as one transaction: the payment is an entity here, order and stock are in Postgres.

The input is `{"order": id, "customer": account key, "article": name, "price": ...}`. The three
actions of the participant are in `participant.py`. To deploy all of it, on a server whose workers
can reach the database:

    options="--param database postgresql://... --requirement psycopg[binary]>=3.2,<4"
    for phase in prepare commit abort; do
        xingqiao action create pg_$phase participant.py --main $phase $options
    done
    xingqiao deploy purchase.py
"""

from dataclasses import dataclass

from xingqiao.composer import call, participant, path, transaction
from xingqiao.transactions import entity

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
    """An account whose balance never falls below zero."""

    balance: int = 0

    def deposit(self, amount):
        """Adds an amount to the balance."""
        self.balance += amount
        return {"balance": self.balance}

    def withdraw(self, amount):
        """Takes an amount from the balance, if the balance is large enough."""
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
