"""Cases whose queries ask for TIMEOUTS, drawn from a seed."""

import random
from dataclasses import replace

from tests.helpers.engine import Timeouts, expected_timeouts, is_supported
from tests.helpers.mutations import queries_in, with_window
from tests.helpers.random_policies import may_time_out
from tests.helpers.strategies import SEED_STEP, Case, random_case

STRATEGIES = ("ANY", "NEXT", "NEXT", "STRICT")
WALKS = (
    "",
    "",
    "\nAFTER MATCH SKIP TO NEXT",
    "\nAFTER MATCH SKIP PAST LAST PREFER LONGEST",
    "\nSUPPRESS 1 s",
)


def timeout_case(seed: int) -> Case:
    """Return the first case from a seed on, in large steps, with timeouts.

    All of its queries ask for them that may, others are left out; each has a strategy.
    """
    while True:
        case = random_case(seed, most_queries=4, most_events=16)
        dice = random.Random(seed)
        texts = []
        for text in queries_in(case.text):
            timed = text if "\nWITHIN " in text else with_window(text, dice.choice(["1 second", "5 seconds"]))
            (query,) = replace(case, text=timed).queries
            if may_time_out(query):
                clauses, returned, columns = timed.partition("\nRETURN ")
                chosen = f"STRATEGY {dice.choice(STRATEGIES)}{dice.choice(WALKS)}"
                texts.append(f"{clauses}\n{chosen}\nTIMEOUTS{returned}{columns}")
        if texts:
            case = replace(case, text="\n\n".join(texts))
            if is_supported(case) and any(expected_timeouts(case).values()):
                return case
        seed += SEED_STEP


def filled(timeouts: dict[str, Timeouts]) -> dict[str, Timeouts]:
    return {name: own for name, own in timeouts.items() if own}
