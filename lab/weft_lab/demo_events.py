"""Make the events of the demonstration: a week in a bank, with crimes hidden in it.

Everything is drawn from one seeded generator, column by column, so the same number of events is always
the same events.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]

N_USERS = 5_000
N_DAYS = 7
SECOND = 1_000_000
DAY = 86_400 * SECOND
MONDAY = 1_772_409_600 * SECOND  # 2026-03-02, midnight UTC
COUNTRIES = np.array(["DE", "FR", "ES", "IT", "NL", "PL", "RO", "GB", "US", "BR", "NG", "VN"])
N_HOME_COUNTRIES = 6
SHARES = {  # of the everyday events
    "CardPayment": 0.42,
    "Login": 0.28,
    "Transfer": 0.05,
    "Withdrawal": 0.04,
    "LoginFailed": 0.025,
    "Deposit": 0.02,
    "CardDeclined": 0.012,
    "SupportCall": 0.01,
    "NewPayee": 0.006,
    "PasswordChange": 0.003,
    "LimitRaise": 0.002,
    "PhoneChange": 0.001,
    "SimSwap": 0.001,
}
TYPICAL_AMOUNTS = {  # median, and the spread of the logarithm
    "CardPayment": (25.0, 1.0),
    "CardDeclined": (25.0, 1.0),
    "Transfer": (250.0, 1.3),
    "Withdrawal": (80.0, 0.6),
    "Deposit": (1_500.0, 0.7),
}
HOURLY = np.array(
    [1, 1, 1, 1, 1, 2, 4, 7, 9, 9, 9, 10, 12, 11, 9, 9, 10, 12, 13, 12, 10, 7, 4, 2], dtype=float
)


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a story: seconds after the one before it, its amount, and whether a stranger does it."""

    type: str
    after: tuple[float, float] = (0, 0)
    amount: tuple[float, float] | None = None
    abroad: bool = False
    stranger: bool = False


GUESS = Step("LoginFailed", (3, 20), stranger=True)
CENTS = Step("CardDeclined", (5, 60), (0.1, 1.9), stranger=True)
STORIES: tuple[tuple[int, tuple[Step, ...]], ...] = (  # how often per million events, and what happens
    (
        90,  # guessed password, account emptied from abroad
        (
            *([GUESS] * 4),
            Step("Login", (3, 15), abroad=True, stranger=True),
            Step("PasswordChange", (10, 40)),
            Step("NewPayee", (60, 600), abroad=True, stranger=True),
            Step("Transfer", (60, 900), (2_500, 4_000), abroad=True, stranger=True),
            Step("Transfer", (60, 900), (4_500, 9_500), abroad=True, stranger=True),
        ),
    ),
    (
        60,  # the customer notices and calls
        (
            Step("PasswordChange", stranger=True),
            Step("NewPayee", (60, 300), stranger=True),
            Step("SupportCall", (60, 300)),
            Step("Transfer", (60, 300), (2_500, 5_000), stranger=True),
        ),
    ),
    (
        70,  # SIM swap, higher limit, money gone
        (
            Step("SimSwap"),
            Step("Login", (600, 5_000), stranger=True),
            Step("LimitRaise", (60, 900), stranger=True),
            Step("Transfer", (60, 3_000), (3_000, 12_000), stranger=True),
        ),
    ),
    (
        80,  # stolen card numbers tried with cents
        (*([CENTS] * 3), Step("CardPayment", (30, 200), (600, 1_500), stranger=True)),
    ),
    (
        50,  # a copied card used for cash in two countries
        (
            Step("Withdrawal", amount=(100, 300)),
            Step("Withdrawal", (300, 2_400), (400, 500), abroad=True, stranger=True),
            Step("CardPayment", (30, 400), (60, 90)),
        ),
    ),
    (
        40,  # SIM swap, new keys, cash
        (
            Step("SimSwap"),
            Step("Login", (600, 5_000), stranger=True),
            Step("PasswordChange", (30, 300), stranger=True),
            Step("NewPayee", (30, 300), stranger=True),
            Step("Withdrawal", (300, 1_500), (400, 500), stranger=True),
        ),
    ),
    (
        50,  # a stolen card, each payment bolder than the one before
        (
            Step("CardPayment", amount=(45, 60), stranger=True),
            Step("CardPayment", (60, 300), (130, 180), stranger=True),
            Step("CardPayment", (60, 300), (400, 600), stranger=True),
            Step("CardPayment", (60, 300), (1_300, 2_000), stranger=True),
        ),
    ),
    (
        60,  # a money mule passes on what came in
        (
            Step("Deposit", amount=(5_000, 5_200)),
            Step("Transfer", (300, 2_000), (4_300, 4_500)),
            Step("Withdrawal", (300, 2_000), (400, 500)),
        ),
    ),
    (
        40,  # deposits just below what must be reported
        (
            Step("Deposit", amount=(9_000, 9_900)),
            Step("Deposit", (3_600, 12_000), (9_000, 9_900)),
            Step("Deposit", (3_600, 12_000), (9_000, 9_900)),
            Step("Deposit", (3_600, 12_000), (9_000, 9_900)),
        ),
    ),
)


TYPES = np.array([*SHARES, "BalanceCheck", "Chargeback", "Confirmation"])
TYPE_CODES = {name: code for code, name in enumerate(TYPES)}


@dataclass(slots=True)
class Bank:
    """The events made so far, as columns in blocks; an amount that is NaN is NULL."""

    draw: np.random.Generator
    home: Integers  # the country of each user
    times: list[Integers] = field(default_factory=list)
    types: list[Integers] = field(default_factory=list)
    users: list[Integers] = field(default_factory=list)
    amounts: list[Numbers] = field(default_factory=list)
    countries: list[Integers] = field(default_factory=list)
    devices: list[Integers] = field(default_factory=list)  # a user's own, or minus a stranger's

    @property
    def n_events(self) -> int:
        return sum(map(len, self.times))

    def add(
        self,
        times: Integers,
        types: Integers,
        users: Integers,
        amounts: Numbers,
        *,
        countries: Integers | None = None,
        devices: Integers | None = None,
    ) -> None:
        """Add a block of events; by default users are at home, with their own devices."""
        self.times.append(times)
        self.types.append(types)
        self.users.append(users)
        self.amounts.append(np.round(amounts, 2))
        self.countries.append(self.home[users] if countries is None else countries)
        self.devices.append(users if devices is None else devices)

    def everyday(self) -> tuple[Integers, Integers, Integers, Numbers]:
        """Return times, types, users and amounts of the first block."""
        return self.times[0], self.types[0], self.users[0], self.amounts[0]

    def any_users(self, n_events: int) -> Integers:
        return self.draw.integers(0, N_USERS, n_events)

    def any_times(self, n_events: int) -> Integers:
        """Draw times of the week: fewer at night."""
        hours = self.draw.choice(24, n_events, p=HOURLY / HOURLY.sum())
        days = self.draw.integers(0, N_DAYS, n_events)
        return MONDAY + days * DAY + hours * 3_600 * SECOND + self.draw.integers(0, 3_600 * SECOND, n_events)


def write_events(directory: Path, n_events: int, *, n_files: int = 4) -> None:
    """Write events as Parquet files into a directory."""
    table = make_events(n_events)
    rows = -(-table.num_rows // n_files)
    for number in range(n_files):
        pq.write_table(table.slice(number * rows, rows), directory / f"events-{number}.parquet")


def make_events(n_events: int) -> pa.Table:
    """Return events in order of time: id, ts, type, user, amount, country, device.

    >>> make_events(20_000).num_rows
    20000
    """
    draw = np.random.default_rng(2026)
    bank = Bank(draw, draw.integers(0, N_HOME_COUNTRIES, N_USERS))
    _add_everyday(bank, n_events * 86 // 100)
    _add_confirmations(bank)
    _add_disputes(bank, n_events // 2_500)
    for per_million, steps in STORIES:
        _add_story(bank, max(3, per_million * n_events // 1_000_000), steps)
    _add_stuffing(bank, max(2, n_events // 50_000))
    _add_balance_checks(bank, n_events - bank.n_events)
    return _as_table(bank)


def _add_everyday(bank: Bank, n_events: int) -> None:
    shares = np.array(list(SHARES.values()))
    types = bank.draw.choice(len(shares), n_events, p=shares / shares.sum())
    amounts = np.full(n_events, np.nan)
    for name, (median, spread) in TYPICAL_AMOUNTS.items():
        rows = np.flatnonzero(types == TYPE_CODES[name])
        amounts[rows] = median * np.exp(spread * bank.draw.standard_normal(len(rows)))
    bank.add(bank.any_times(n_events), types, bank.any_users(n_events), amounts)


def _add_confirmations(bank: Bank) -> None:
    """Let customers confirm most large transfers within a few minutes."""
    times, types, users, amounts = bank.everyday()
    large = np.flatnonzero((types == TYPE_CODES["Transfer"]) & (amounts > 9_000))
    large = large[bank.draw.random(len(large)) < 0.8]
    later = times[large] + bank.draw.integers(20 * SECOND, 400 * SECOND, len(large))
    bank.add(later, np.full(len(large), TYPE_CODES["Confirmation"]), users[large], amounts[large])


def _add_disputes(bank: Bank, n_disputes: int) -> None:
    """Let customers dispute some payments a day or so later, half of them after a call."""
    times, types, users, amounts = bank.everyday()
    paid = np.flatnonzero(types == TYPE_CODES["CardPayment"])
    paid = bank.draw.choice(paid[amounts[paid] > 100], n_disputes, replace=False)
    calls, disputes = np.sort(bank.draw.integers(DAY // 24, 2 * DAY, (2, n_disputes)), axis=0)
    bank.add(
        times[paid] + disputes, np.full(n_disputes, TYPE_CODES["Chargeback"]), users[paid], amounts[paid]
    )
    called = paid[: n_disputes // 2]
    no_amounts = np.full(len(called), np.nan)
    bank.add(
        times[called] + calls[: len(called)],
        np.full(len(called), TYPE_CODES["SupportCall"]),
        users[called],
        no_amounts,
    )


def _add_story(bank: Bank, n_stories: int, steps: tuple[Step, ...]) -> None:
    draw = bank.draw
    users, strangers = bank.any_users(n_stories), draw.integers(1, 1_000, n_stories)
    abroad = draw.integers(N_HOME_COUNTRIES, len(COUNTRIES), n_stories)
    times = bank.any_times(n_stories)
    for step in steps:
        times = times + (draw.uniform(*step.after, n_stories) * SECOND).astype(np.int64)
        amounts = np.full(n_stories, np.nan) if step.amount is None else draw.uniform(*step.amount, n_stories)
        bank.add(
            times,
            np.full(n_stories, TYPE_CODES[step.type]),
            users,
            amounts,
            countries=abroad if step.abroad else None,
            devices=-strangers if step.stranger else None,
        )


def _add_stuffing(bank: Bank, n_attacks: int) -> None:
    """Let one device try the passwords of many users, until one opens."""
    starts, devices = bank.any_times(n_attacks), -bank.draw.integers(1_000, 2_000, n_attacks)
    victims = np.sort(bank.draw.integers(0, N_USERS, (4, n_attacks)), axis=0)
    for number, name in enumerate(("LoginFailed", "LoginFailed", "LoginFailed", "Login")):
        bank.add(
            starts + number * 7 * SECOND,
            np.full(n_attacks, TYPE_CODES[name]),
            victims[number],
            np.full(n_attacks, np.nan),
            devices=devices,
        )


def _add_balance_checks(bank: Bank, n_events: int) -> None:
    types = np.full(n_events, TYPE_CODES["BalanceCheck"])
    bank.add(bank.any_times(n_events), types, bank.any_users(n_events), np.full(n_events, np.nan))


def _as_table(bank: Bank) -> pa.Table:
    order = np.argsort(np.concatenate(bank.times), kind="stable")
    amounts = np.concatenate(bank.amounts)[order]
    devices = np.concatenate(bank.devices)[order]
    names = np.where(devices < 0, "stranger-", "phone-")
    return pa.table(
        {
            "id": np.arange(len(order)),
            "ts": pa.array(np.concatenate(bank.times)[order], pa.timestamp("us", tz="UTC")),
            "type": TYPES[np.concatenate(bank.types)[order]],
            "user": np.concatenate(bank.users)[order],
            "amount": pa.array(amounts, mask=np.isnan(amounts)),
            "country": COUNTRIES[np.concatenate(bank.countries)[order]],
            "device": np.char.add(names, np.abs(devices).astype(str)),
        }
    )
