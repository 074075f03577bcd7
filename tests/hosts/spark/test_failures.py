"""What Spark's failures say to a person."""

import pytest
from pyspark.errors import PySparkException

from weft.errors import BudgetError, DataError, WeftError
from weft.hosts.spark.failures import failure_of, plain_failures

FROM_WORKER = """Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure:
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 10, in main
    process()
weft.errors.{kind}: query q: more than 5 partial matches
  hint: shorten WITHIN

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
"""


def test_an_error_raised_in_a_worker_is_raised_again() -> None:
    for kind in (BudgetError, DataError):
        failure = failure_of(RuntimeError(FROM_WORKER.replace("{kind}", kind.__name__)))
        assert type(failure) is kind
        assert str(failure) == "query q: more than 5 partial matches\n  hint: shorten WITHIN"
        assert getattr(failure, "queries", ("q",)) == ("q",)


def test_what_fails_in_spark_is_raised_without_its_trace() -> None:
    said = FROM_WORKER.replace("{kind}", "BudgetError").replace("query q", "queries p, q, which share a part")
    with pytest.raises(BudgetError, match="more than 5 partial matches") as caught, plain_failures():
        raise PySparkException(said)
    assert caught.value.queries == ("p", "q")
    assert "org.apache" not in str(caught.value)
    with pytest.raises(ValueError, match="mine"), plain_failures():
        raise ValueError("mine")


def test_other_failures_keep_spark_s_words_without_the_stack() -> None:
    said = "[CANNOT_READ] Cannot read file x.csv.\n\n\tat org.apache.spark.Task.run(Task.scala:1)\n\tat more"
    failure = failure_of(RuntimeError(said))
    assert type(failure) is WeftError
    assert str(failure) == "Spark stopped: [CANNOT_READ] Cannot read file x.csv."
    nested = (
        "An error occurred while calling o7.csv.\n: org.apache.spark.SparkException: Cannot read x.csv.\n"
        "\tat a.b.C.d(C.scala:1)\nCaused by: java.io.IOException: not in GZIP format\n\tat e.f.G.h(G.java:2)"
    )
    expected = "Spark stopped: Cannot read x.csv.\n  not in GZIP format"
    assert str(failure_of(RuntimeError(nested))) == expected
    assert str(failure_of(RuntimeError(""))) == "Spark stopped: no reason was given"


def test_workers_without_weft_are_told_in_one_line_with_the_remedy() -> None:
    for missing in ("weft", "weft.runtime.stages", "numpy"):
        said = f"Traceback\n  File x\nModuleNotFoundError: No module named '{missing}'\n\tat org.apache"
        failure = str(failure_of(RuntimeError(said)))
        assert failure.count("\n") == 0
        assert f"have no {missing.split('.')[0]}: set PYSPARK_PYTHON" in failure
    others = "PythonException: Traceback\nModuleNotFoundError: No module named 'weftless'"
    assert "PYSPARK_PYTHON" not in str(failure_of(RuntimeError(others)))
