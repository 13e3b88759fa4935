"""Money between accounts as a transaction: both accounts have changed, or neither.

`transfer` takes `{"from": key, "to": key, "amount": ...}`. `audit` reads all accounts at one instant of
the transfers: it sees each of them whole, or not at all.
"""

from dataclasses import dataclass

from composer import call, path, select, sequence, transaction
from transactions import entity

ACCOUNTS = ("anna", "bela", "chen", "dora")


@entity
@dataclass
class Account:
    """Money; never less than none."""

    balance: int = 0

    def deposit(self, amount):
        """Puts money in."""
        if amount <= 0:
            raise ValueError(f"an amount must be above 0, not {amount}")
        self.balance += amount
        return {"balance": self.balance}

    def withdraw(self, amount):
        """Takes money out, if there is enough."""
        if amount > self.balance:
            raise ValueError(f"there are only {self.balance}, not {amount}")
        self.balance -= amount
        return {"balance": self.balance}

    def look(self):
        """The balance."""
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
