"""Moves money between accounts in a transaction: both accounts change, or neither does.

The input of `transfer` is `{"from": key, "to": key, "amount": ...}`. `audit` reads all accounts in
one transaction, and therefore sees each transfer completely or not at all.
"""

from dataclasses import dataclass

from xingqiao.composer import call, path, select, sequence, transaction
from xingqiao.transactions import entity

ACCOUNTS = ("anna", "bela", "chen", "dora")


@entity
@dataclass
class Account:
    """An account whose balance never falls below zero."""

    balance: int = 0

    def deposit(self, amount):
        """Adds an amount to the balance."""
        if amount <= 0:
            raise ValueError(f"an amount must be above 0, not {amount}")
        self.balance += amount
        return {"balance": self.balance}

    def withdraw(self, amount):
        """Takes an amount from the balance, if the balance is large enough."""
        if amount > self.balance:
            raise ValueError(f"there are only {self.balance}, not {amount}")
        self.balance -= amount
        return {"balance": self.balance}

    def look(self):
        """Returns the balance."""
        return {"balance": self.balance}


transfer = sequence(
    transaction(
        call(Account, path("$.from"), "withdraw", {"amount": path("$.amount")}),
        call(Account, path("$.to"), "deposit", {"amount": path("$.amount")}),
        retries=100,
    ),
    select({"from": path("$.value[0].balance"), "to": path("$.value[1].balance")}),
)

audit = sequence(
    transaction(
        *(call(Account, key, "look", {}, read=True) for key in ACCOUNTS),
        retries=100,
    ),
    select({"balances": path("$.value[*].balance")}),
)
