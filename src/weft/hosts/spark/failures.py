"""Tell what went wrong in Spark as a person would: one message, no stack trace."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from weft.errors import BudgetError, DataError, WeftError

SPARK_FAILURES = (PySparkException, Py4JError)

OTHER_PYTHON = (
    "the Python workers of Spark have no {}: set PYSPARK_PYTHON, or spark.pyspark.python, to an interpreter "
    "that has Weft on every machine, before the session starts"
)
_MISSING_MODULE = re.compile(
    r"ModuleNotFoundError: No module named '(weft|numpy|numba|pyarrow|pandas)(?:\.\w+)*'"
)
_RAISED_IN_WORKER = re.compile(
    r"^\s*(?:\w+\.)*weft\.errors\.(?P<kind>\w+): (?P<message>.*(?:\n(?!\s*$|\s*at |\s*Traceback).*)*)", re.M
)
_CLASS = re.compile(r"\A[\w.$]+(?:Exception|Error): ")
_CALL_AND_CLASS = re.compile(r"\AAn error occurred while calling .*\n: [\w.$]+: ")
_STACK = re.compile(r"^\s*(?:at [\w.$/]+\(|Traceback \(|JVM stacktrace:|Caused by: )", re.M)
_QUERIES = re.compile(r"\Aquer(?:y|ies) (\w+(?:, \w+)*?)(?:, which | and \d|:)")
_KINDS: dict[str, type[WeftError]] = {"BudgetError": BudgetError, "DataError": DataError}


@contextmanager
def plain_failures() -> Iterator[None]:
    """Raise what fails in Spark as an error of Weft, without the traces of workers and of the JVM.

    An action on a frame of matches is Spark's, and so are its errors: a `weft.BudgetError` of a worker is one
    here only inside of `with weft.plain_failures():`.
    """
    try:
        yield
    except SPARK_FAILURES as error:
        raise failure_of(error) from None


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
    missing = _MISSING_MODULE.search(text)
    if missing:
        return WeftError(OTHER_PYTHON.format(missing[1]))
    raised = _RAISED_IN_WORKER.search(text)
    if raised:
        failure = _KINDS.get(raised["kind"], WeftError)(raised["message"].rstrip())
        named = _QUERIES.match(str(failure))
        if isinstance(failure, BudgetError) and named:
            failure.queries = tuple(named[1].split(", "))  # those that the message names
        return failure
    return WeftError(f"Spark stopped: {_gist(text)}")


def _gist(text: str) -> str:
    """Return what Spark says before its first stack trace, and the innermost cause if it says more."""
    message = _without_stack(_CALL_AND_CLASS.sub("", text))
    causes = re.split(r"^Caused by: ", text, flags=re.M)[1:]
    cause = _without_stack(_CLASS.sub("", causes[-1])) if causes else ""
    return f"{message}\n  {cause}" if cause and cause not in message else message or "no reason was given"


def _without_stack(text: str) -> str:
    lines = [line.rstrip() for line in _STACK.split(text, maxsplit=1)[0].splitlines() if line.strip()]
    return "\n  ".join(lines[:8])
