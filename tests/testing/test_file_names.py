"""Which files hold tests of rules."""

from pathlib import Path

import pytest

from weft.errors import DataError
from weft.testing.file_names import is_rule_test, rule_test_files

RULES = "# tests\nrules: q.weft\ntests: []\n"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.test.yaml", RULES, True),
        ("a_test.yml", RULES, True),
        ("test_a.yaml", RULES, True),
        ("test_a.yaml", '"rules" : [a]', True),
        ("test_a.yaml", "services:\n  rules: x\n", False),
        ("test_a.yaml", "\xff", False),
        ("a.yaml", RULES, False),
        ("test_a.json", RULES, False),
        ("latest.yaml", RULES, False),
    ],
)
def test_files_are_told_by_name_and_content(tmp_path: Path, name: str, text: str, expected: bool) -> None:
    (tmp_path / name).write_text(text, encoding="latin-1")
    assert is_rule_test(tmp_path / name) == expected


def test_directories_are_searched(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "test_a.yaml").mkdir()
    files = [tmp_path / "a.test.yaml", tmp_path / "deep" / "er" / "b_test.yaml", tmp_path / "odd.txt"]
    for file in files:
        file.write_text(RULES, encoding="utf-8")
    assert rule_test_files([tmp_path]) == files[:2]
    assert rule_test_files([files[2], tmp_path, files[0]]) == [files[2], *files[:2]]


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file or directory of tests"):
        rule_test_files([tmp_path / "absent"])
    with pytest.raises(DataError, match=r"holds no tests of rules\n  hint: name the files test_\*\.yaml"):
        rule_test_files([tmp_path])
