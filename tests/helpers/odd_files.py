"""Files of events with all that can be odd about them, and random ones."""

import gzip
import random
from collections.abc import Mapping
from pathlib import Path

HEAD = "ts,type,a,b\n"
LINE = '{"ts":1,"type":"A"'


def lines_of(*rests: str) -> str:
    """Lines of JSON that go on after a time and a type."""
    return "".join(f"{LINE}{rest}}}\n" for rest in rests)


CSV: Mapping[str, str | bytes] = {
    "quotes": HEAD
    + '1,A,"x,y",2\n2,A,"open,3\n3,A,"mu\nlti",4\n4,A,"a"b,5\n5,A,x"y,6\n6,A, "s",7\n7,A,"q""q",8\n8,A,"",9\n'
    + '9,A,"a"b"c,10\n10,A,"a" ,11\n12,"A,x",\n13,A,"a""\n14,A,"un"closed,"x"y,"\n'
    + '16,A,"ab"",c",3\n17,A,""a,3\n'
    + '18,A,"a""b"c,2\n19,A,"a"b""c,3\n20,A,"a,""b"c",14\n21,A,"\n22,A,,"\n23,A,"x" y" ,6\n24,A,"x"\t,7\n',
    "lines of any length": HEAD + "1,A,x,1\n\n   \n2,B,y,\n,,,\n\t\n3\n4,C,z,1,surplus,more\n",
    "whole numbers": "ts,type,a,b,c,d,e,f,g\n1,A,+5, 5,5 ,1_0,-0,05,99999999999999999999\n"
    "1,A,1,1,1,1,1,3000000000,1\n",
    "doubles": "ts,type,a,b,c,d,e,f,g,h,i,j\n1,A,1.5f,1d,NaN,Infinity,Inf,-Inf,.5,1.,nan,1e400\n"
    "2,A,+1.5,1.,1,1e5, 2 ,-Infinity,-.5,2,1,1\n",
    "decimals": "ts,type,a,b,c,d\n1,A,99999999999999999999,1,123456789012345678901234567890123456789,5\n"
    "2,A,007,1.5,1,9223372036854775808\n",
    "booleans": "ts,type,a,b,c\n1,A,true,TRUE,t\n2,A,false,False,f\n",
    "dates": "ts,type,a,b,c,d,e,f,g,h\n"
    "1,A,2024-01-01,2024-1-1,2024-01,2024-01-01T10:00:00,2024-01-01 10:00,2024-02-30,2024-01-01T10Z,"
    "2024-01-01\n"
    "2,A,2024-01-02,2024-1-2,2024,2024-01-01,2024-01-01T10:00:00.5,2024-01-01,2024-01-01,2024\n",
    "zones": "ts,type,a,b,c,d,e\n"
    "1,A,2024-01-01T10:00:00Z,2024-01-01T10:00:00 Europe/Paris,2024-01-01T10:00:00PST,"
    "2024-01-01T10:00:00UTC+1,"
    "2024-01-01t10:00:00\n"
    "2,A,2024-01-01 10:00:00.123456789+02:00,2024-03-31T02:30:00 Europe/Paris,2024-01-01T1:2:3-0130,"
    "2024-01-01T10:00:00 +1,2024-01-01\n",
    "no names": ",ts,type,a,a,A\n0,1,A,x,y,z\n",
    "the header again": "ts,type,a\n1,A,1\nts,type,a\n2,B,2\n",
    "no rows": "ts,type,a\n",
    "no line end": "ts,type,a",
    "carriage returns": "ts,type,a\r1,A,x\r2,B,y\r\n3,C,z\n",
    "a quoted header": '\ufeff\n\n"ts","type","a,b"\r\n1,A,1\r\n',
    "no UTF-8": b"ts,type,a\n1,A,\xff\xfex\n2,\xe9t\xe9,y\n",
    "times": "ts,type\n2026-01-01T12:00:00,5Z,A\n20260101T120000Z,A\n1.5,A\n,A\nsoon,A\n"
    "2026-01-01T12:00+01,A\n",
}
IDENTITIES: Mapping[str, str] = {  # columns of identities, which stay text where Spark spells them otherwise
    "1\n2\n\n3": "int",
    "1\n02": "string",
    "1\n1.0": "string",
    "0.1\n1.0": "double",
    "1.0E8\n2.0": "double",
    "1e8\n2.0": "string",
    "true\nfalse": "boolean",
    "TRUE\nfalse": "string",
    "2024-01-01": "date",
    "2024-01-01 10:00:00": "timestamp",
    "2024-01-01T10:00:00": "string",
    "99999999999999999999": "decimal(20,0)",
}
JSON: Mapping[str, str | bytes] = {
    "all kinds": lines_of(
        ',"z":1,"b":1.5,"c":true,"d":null,"e":"x","f":{"y":1,"x":null},"g":[1,2],"h":[],"i":{},"j":[{}],"":1'
    ),
    "several kinds": lines_of(
        ',"a":1,"b":1,"c":{"x": 1,  "y":[1, 2]},"d":[1, {"q": 1.50}],"e":1.10,"f":true,'
        '"g":[1,[2]],"h":{"x":1}',
        ',"a":"x","b":1.5,"c":"s","d":["x"],"e":"y","f":1,"g":[1],"h":{"x":"t","y":2}',
    ),
    "large numbers": lines_of(
        ',"a":99999999999999999999,"b":99999999999999999999,"c":9223372036854775807,"d":1e400',
        ',"a":1,"b":1.5,"c":-9223372036854775808,"d":123456789012345678901234567890123456789',
    ),
    "empty texts": lines_of(',"a":"","b":"","c":"","d":""', ',"a":5,"b":1.5,"c":{"x":1}'),
    "texts like times": lines_of(
        ',"a":"2024-01-01T00:00:00","c":["2024-01-01"],"d":{"t":"2024-01-01 10:00:00"}'
    ),
    "no numbers": lines_of(',"a":NaN,"b":Infinity,"c":-Infinity,"d":+INF,"e":-INF'),
    "malformed": lines_of("")
    + '{"ts":2\nnonsense\n5\nnull\n[]\n[{"ts":3},{"ts":4}]\n{}\n  {"ts":6}  \n{"ts":7} trailing\n'
    + '{"ts":8}{"ts":9}\n'
    + '\n   \n{"ts":012}\n{ts:3}\n{"ts":5,}\n{"ts":"A\tB"}\n',
    "nothing malformed but odd": lines_of("")
    + "null\n{}\n[]\n{'ts':1,'type':'A', 'a':'it\"s'}\n"
    + lines_of(',"a":"\\ud800"'),
    "a byte order mark": "\ufeff" + lines_of(',"é":1,"Z":2,"a":3,"_b":4'),
    "types of several kinds": '{"ts":1,"type":true}\n{"ts":1.5,"type":1.0}\n{"ts":"2024-01-01","type":"A"}\n',
    "types that are doubles": '{"ts":1,"type":5.0}\n{"ts":1.5,"type":1e10}\n{"ts":2,"type":1.5e-7}\n',
    "types that are objects": '{"ts":1,"type":{"x": 1,"y":[1.5,null]}}\n',
}
DIRECTORIES: Mapping[str, Mapping[str, str | bytes]] = {
    "flat": {
        "a.csv": HEAD + "1,A,1,1\n",
        "b.csv.gz": gzip.compress((HEAD + "2,B,1.5,x\n").encode()),
        "_c.csv": "no",
    },
    "nested": {"x/a.jsonl": lines_of(',"n":1'), "y/day=3/b.json": lines_of(',"n":1.5')},
    "days": {"day=3/a.csv": "ts,type\n1,A\n", "day=04/b.csv": "ts,type\n2,B\n"},
    "days in JSON": {
        "day=2024-01-01/h=x%20y/a.jsonl": lines_of(',"day":5'),
        "day=__HIVE_DEFAULT_PARTITION__/h=z/a.jsonl": lines_of(""),
    },
    "types": {"type=01/a.csv": "ts\n1\n", "type=2/a.csv": "ts\n1\n"},
    "types in JSON": {"type=01/a.jsonl": '{"ts":1}\n', "type=2/a.jsonl": '{"ts":1}\n'},
    "numbers": {"p=1/a.csv": "ts,type\n1,A\n", "p=1.5/a.csv": "ts,type\n2,B\n"},
    "numbers and texts": {"p=01/a.csv": "ts,type\n1,A\n", "p=true/a.csv": "ts,type\n2,B\n"},
    "an empty file": {"a.csv": "ts,type\n1,A\n", "b.csv": ""},
}  # fmt: skip


def write(path: Path, content: str | bytes) -> Path:
    """Write a file, and the directories above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def random_csv(seed: int, n_rows: int) -> str:
    """A file whose columns are mostly of one type each, with fields and lines that are spoiled."""
    draw = random.Random(seed)
    families = [
        ["1", "-5", "+7", "0", "007", "2147483648", "99999999999", "9223372036854775808", "1.", "-0"],
        ["1.5", ".5", "1e3", "NaN", "Inf", "-Inf", " 2 ", "3", "1d", "-1.25E-3", "Infinity"],
        ["true", "false", "TRUE"],
        ["2024-01-01", "2024-02-30", "2024-1-1", "2024-01-01T10:00:00", "2024-01-01 10:00", "2024"],
        [
            "x",
            "a b",
            '"q"',
            '"a,b"',
            '"a""b"',
            '"open',
            'x"y',
            '"a"b',
            '"a" ',
            ' "lead"',
            "é漢",
            '""',
            '"\\"',
        ],
    ]
    fields = [
        ["1", "2024-01-01T10:00:00Z", "x", "1.5"],
        ["A", "01"],
        draw.choice([["1", "2"], ["1", "02"], ["1.5"]]),
    ]
    fields += [
        draw.choice(families) + (draw.choice(families) if draw.random() < 0.2 else []) for _ in range(5)
    ]
    lines = ["ts,type,id,a,b,c,d,e"]
    for _ in range(n_rows):
        row = ["" if draw.random() < 0.1 else draw.choice(own) for own in fields]
        spoiled = draw.random()
        if spoiled < 0.05:
            row = row[: draw.randint(0, len(row))]
        elif spoiled < 0.1:
            row += ["surplus"] * draw.randint(1, 3)
        lines.append(",".join(row))
    return draw.choice(["\n", "\r\n"]).join(lines) + draw.choice(["", "\n"])


def random_json(seed: int, n_rows: int) -> str:
    """Lines of objects whose fields are of one type or of many, some of them malformed."""
    draw = random.Random(seed)

    def value(depth: int = 0) -> str:
        kind = draw.randrange(8 if depth < 2 else 6)
        if kind < 6:
            return draw.choice(
                [
                    ["null", "true", "false"],
                    ["1", "-7", "9223372036854775807", "-0"],
                    ["1.5", "1e3", "-0.0", "1E400", "2.50", "NaN"],
                    ['"x"', '""', '"2024-01-01"', '"a\\"b"', '"\\u00e9"', "'s'"],
                    ["99999999999999999999", "9223372036854775808"],
                    ["5"],
                ][kind]
            )
        if kind == 6:
            return (
                "[" + draw.choice([",", " , "]).join(value(depth + 1) for _ in range(draw.randrange(4))) + "]"
            )
        names = draw.sample("pqr", draw.randrange(4))
        return "{" + ",".join(f'"{name}":{draw.choice(["", " "])}{value(depth + 1)}' for name in names) + "}"

    usual = {
        "number": lambda: str(draw.randint(-5, 10**12)),
        "double": lambda: draw.choice(["1.25", "3", "-0.5"]),
        "text": lambda: draw.choice(['"u"', '"vw"', '""']),
        "object": lambda: f'{{"p":{draw.randint(0, 9)},"q":["x"]}}',
        "any": value,
    }
    kinds = {name: draw.choice(list(usual)) for name in "abcd"}
    lines = []
    for row in range(n_rows):
        line = f'{{"ts":{row},"type":"A"'
        line += (
            "".join(f',"{name}":{usual[kind]()}' for name, kind in kinds.items() if draw.random() < 0.8) + "}"
        )
        if draw.random() < 0.05:
            line = draw.choice(
                [line[:-1], "garbage", f"  {line}  ", "", f"{line} x", "7", "null", "{}", f"[{line}]"]
            )
        lines.append(line)
    return "\n".join(lines) + "\n"
