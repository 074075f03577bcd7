"""Finding a Java that can run Spark."""

from pathlib import Path

import pytest

from weft.hosts.spark import java
from weft.hosts.spark.java import find_java, java_version


def make_java(home: Path, version: str, *, release_file: bool = True) -> Path:
    """Make what looks like an installed Java; `java -version` speaks on standard error."""
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    if release_file:
        (home / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n')
    return home


def test_java_home_then_path_then_usual_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = make_java(tmp_path / "named", "21.0.1")
    on_path = make_java(tmp_path / "on_path", "17", release_file=False)
    usual = make_java(tmp_path / "jvm" / "b", "25.0.3")
    make_java(tmp_path / "jvm" / "a", "11.0.2")
    monkeypatch.setattr(java, "USUAL_PLACES", (str(tmp_path / "jvm" / "*"),))
    path = str(on_path / "bin")
    assert find_java({"JAVA_HOME": str(named), "PATH": path}) == named
    assert find_java({"PATH": path}) == on_path
    assert find_java({"PATH": str(tmp_path)}) == usual


def test_an_old_or_broken_java_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "USUAL_PLACES", ())
    old = make_java(tmp_path / "old", "1.8.0_412", release_file=False)
    assert find_java({"JAVA_HOME": str(old), "PATH": ""}) is None
    assert find_java({"JAVA_HOME": str(tmp_path / "absent"), "PATH": ""}) is None
    assert java_version("no version here") is None
