"""Files that arrive in a directory, as a stream."""

from pathlib import Path

from pyspark.sql import SparkSession
from tests.helpers.odd_files import write

from weft.io.event_files import EventColumns
from weft.io.spark.stream_sources import read_stream, shape_of


def test_a_stream_of_csv_has_the_delimiter_and_the_unit_that_are_named(
    spark: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path / "in/a.csv", "ts;type;note\n1999;A;x,y\n-1;B;z\n")
    columns = EventColumns(time="ts", type="type", time_unit="ns", delimiter=";")
    source = str(tmp_path / "in")
    shape = shape_of(spark, source, columns, format=None, schema=None, known=None, partitions=1)
    events = read_stream(spark, source, shape, columns)
    query = events.writeStream.format("memory").queryName("delimited").trigger(availableNow=True).start()
    query.awaitTermination()
    rows = spark.sql("SELECT unix_micros(ts) AS ts, type, note FROM delimited ORDER BY ts").collect()
    assert [tuple(row) for row in rows] == [(-1, "B", "z"), (1, "A", "x,y")]
