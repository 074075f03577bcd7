"""Find a Java that can run Spark: in JAVA_HOME, on the PATH, or in the usual places.

Run as a script it prints the home of the Java found and fails when there is none; set-up uses that,
so the module needs the standard library only.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

OLDEST_JAVA = 17
USUAL_PLACES = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
)


def find_java(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the home of the first Java that is new enough, or None."""
    return next((home for home in _candidates(environment) if _is_new_enough(home)), None)


def java_version(text: str) -> int | None:
    """Return the major version from a `release` file or from the words of `java -version`.

    >>> java_version('JAVA_VERSION="17.0.15"'), java_version('openjdk version "1.8.0_412"')
    (17, 8)
    """
    version = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    return int(version.group(1)) if version else None


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    if environment.get("JAVA_HOME"):
        yield Path(environment["JAVA_HOME"])
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path:
        yield Path(on_path).resolve().parent.parent
    for place in USUAL_PLACES:
        pattern = Path(place).expanduser()
        yield from sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))


def _is_new_enough(home: Path) -> bool:
    if not (home / "bin" / "java").is_file():
        return False
    version = _version_in_release_file(home) or _version_said_by_java(home)
    return version is not None and version >= OLDEST_JAVA


def _version_in_release_file(home: Path) -> int | None:
    try:
        return java_version((home / "release").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None


def _version_said_by_java(home: Path) -> int | None:
    try:
        said = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return java_version(said.stderr + said.stdout)


if __name__ == "__main__":
    java_home = find_java()
    if java_home is None:
        sys.exit(1)
    print(java_home)
