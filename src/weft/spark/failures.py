"""Tell what went wrong in Spark as a person would: one message, no stack trace."""

import re

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from weft.errors import BudgetError, DataError, WeftError

SPARK_FAILURES = (PySparkException, Py4JError)

_RAISED_IN_WORKER = re.compile(
    r"^\s*(?:\w+\.)*weft\.errors\.(?P<kind>\w+): (?P<message>.*(?:\n(?!\s*$|\s*at |\s*Traceback).*)*)", re.M
)
_KINDS: dict[str, type[WeftError]] = {"BudgetError": BudgetError, "DataError": DataError}


def failure_of(error: BaseException) -> WeftError:
    """Return a failure of Spark as an error of Weft: the one a worker raised, or Spark's own words.

    >>> failure = failure_of(
    ...     ValueError('''An exception was thrown from the Python worker:
    ... Traceback (most recent call last):
    ...   File "execute.py", line 1, in run
    ... weft.errors.BudgetError: query q: too many lists
    ...   hint: narrow the window
    ...
    ...    at org.apache.spark.Task.run''')
    ... )
    >>> print(failure)
    query q: too many lists
      hint: narrow the window
    """
    text = str(error)
    raised = _RAISED_IN_WORKER.search(text)
    if raised:
        return _KINDS.get(raised["kind"], WeftError)(raised["message"].rstrip())
    return WeftError(f"Spark stopped: {_gist(text)}")


def _gist(text: str) -> str:
    """Return the lines before the first stack trace, without blank ones, at most eight."""
    before = re.split(r"^\s*(?:at [\w.$]+\(|Traceback \(|JVM stacktrace:)", text, maxsplit=1, flags=re.M)[0]
    lines = [line.rstrip() for line in before.splitlines() if line.strip()]
    return "\n  ".join(lines[:8]) or "no reason was given"
