"""schemas.py: JSON schemas at random, and what the package jsonschema says of texts: schemas.py DRIVE NUMBER [OUT.jsonl].

DRIVE is tests/grammar/grammar_drive.c.  For each schema: valid instances, which the grammar must accept; instances that
were changed, which it must refuse if they are not valid; and texts that the grammar allows, drawn at random, which must be
JSON and valid.  OUT gets a line for each schema: [schema, accepted texts, refused texts].  With URL instead of DRIVE, a
running `trainer serve` writes the texts."""
import json
import random
import string
import subprocess
import sys
import urllib.request

import jsonschema

NAMES = ["a", "ab", "abc", "b", "name", "age", "é", "x y", "list"]
PATTERNS = [("^[a-z]{2,4}$", lambda r: "".join(r.choice("abcxyz") for _ in range(r.randint(2, 4)))),
            ("^(ab|c)+-\\d{1,3}$", lambda r: r.choice(["ab", "c", "cab"]) + "-" + str(r.randint(0, 999))),
            ("x\\.y", lambda r: r.choice(["", "é ", "q"]) + "x.y" + r.choice(["", "!"])),
            ("^\"[^\"\\\\]*\"$", lambda r: '"' + r.choice(["", "mm", "z é"]) + '"')]


def scalar(r):
    return r.choice([None, True, False, 0, -7, 12, 1.5, "", "a", "é\n\"q\"", "x\\y"])


class Maker:
    """A random schema, and for each part of it how to make a valid value: (schema, make)."""

    def __init__(self, r):
        self.r, self.defs = r, {}

    def part(self, depth):
        r = self.r
        kinds = ["string", "integer", "number", "boolean", "null", "enum", "const", "pattern", "bounded", "types", "real"]
        if depth > 0:
            kinds += ["object", "object", "object", "array", "array", "tuple", "anyOf", "tree", "any"]
        return getattr(self, "make_" + r.choice(kinds))(depth)

    def make_string(self, depth):
        low, high = self.r.choice([(0, None), (0, 3), (2, 5), (3, None)])
        schema = {"type": "string"} | ({"minLength": low} if low else {}) | ({"maxLength": high} if high else {})
        return schema, lambda r: "".join(r.choice("abé€😀\"\\\n /") for _ in range(r.randint(low, high or low + 4)))

    def make_pattern(self, depth):
        pattern, make = self.r.choice(PATTERNS)
        return {"type": "string", "pattern": pattern}, make

    def make_integer(self, depth):
        return {"type": "integer"}, lambda r: r.choice([0, r.randint(-10, 10), r.randint(-10**12, 10**12)])

    def make_bounded(self, depth):
        r = self.r
        low = r.choice([None, r.randint(-1200, 1200)])
        high = r.choice([None, (low if low is not None else r.randint(-1200, 0)) + r.choice([0, 1, r.randint(0, 3000)])])
        outer = r.random() < 0.3
        schema = {"type": "integer"}
        if low is not None:
            schema |= {"exclusiveMinimum": low - 1} if outer else {"minimum": low}
        if high is not None:
            schema |= {"exclusiveMaximum": high + 1} if outer else {"maximum": high}
        a = low if low is not None else (high if high is not None else 0) - 99999
        b = high if high is not None else a + 10**r.randint(0, 9)
        return schema, lambda r: r.choice([a, b, r.randint(a, b)])

    def make_real(self, depth):
        a = self.r.randint(-40, 40)
        b = a + self.r.choice([0, 1, 25])
        return {"type": "number", "minimum": a, "maximum": b}, lambda r: r.choice([a, b, float(b), min(b, max(a, round(r.uniform(a, b), 3)))])

    def make_number(self, depth):
        return {"type": "number"}, lambda r: r.choice([0, -3, 2.5, 1e-7, -1.25e20, r.uniform(-1, 1)])

    def make_boolean(self, depth):
        return {"type": "boolean"}, lambda r: r.random() < 0.5

    def make_null(self, depth):
        return {"type": "null"}, lambda r: None

    def make_enum(self, depth):
        values = [scalar(self.r) for _ in range(3)] + [{"k": [1, "é"]}]
        return {"enum": values}, lambda r: r.choice(values)

    def make_const(self, depth):
        value = self.r.choice([scalar(self.r), [1, {"a": None}], {}])
        return {"const": value}, lambda r: value

    def make_types(self, depth):
        return {"type": ["string", "null", "integer"], "maxLength": 2, "minimum": 5}, lambda r: r.choice(["é", "", None, 5, 77])

    def make_any(self, depth):
        return self.r.choice([{}, True]), lambda r: r.choice([scalar(r), [scalar(r)], {"q": [scalar(r), {}]}])

    def make_array(self, depth):
        item, make = self.part(depth - 1)
        low, high = self.r.choice([(0, None), (1, None), (2, 4), (0, 2), (3, 3), (0, 0)])
        schema = {"type": "array", "items": item} | ({"minItems": low} if low else {}) | ({"maxItems": high} if high is not None else {})
        return schema, lambda r: [make(r) for _ in range(r.randint(low, low + 3 if high is None else high))]

    def make_tuple(self, depth):
        parts = [self.part(depth - 1) for _ in range(self.r.randint(1, 3))]
        rest, make = self.part(0)
        more, low = self.r.random() < 0.5, self.r.randint(0, len(parts))
        schema = {"type": "array", "prefixItems": [p[0] for p in parts], "items": rest if more else False, "minItems": low}

        def value(r):
            n = r.randint(low, len(parts) + (2 if more else 0))
            return [parts[i][1](r) if i < len(parts) else make(r) for i in range(n)]
        return schema, value

    def make_object(self, depth):
        r = self.r
        names = r.sample(NAMES, r.randint(0, 4))
        parts = {n: self.part(depth - 1) for n in names}
        required = [n for n in names if r.random() < 0.5]
        rest, make = self.part(0)
        more = r.random() < 0.4
        schema = {"type": "object", "properties": {n: p[0] for n, p in parts.items()}, "required": required, "additionalProperties": rest if more else False}

        def value(r):
            all_ = {n: p[1](r) for n, p in parts.items() if n in required or r.random() < 0.5}
            for _ in range(r.randint(0, 2) if more else 0):
                name = "".join(r.choice("abnlé") for _ in range(r.randint(0, 5)))
                if name not in parts and name not in all_:
                    all_[name] = make(r)
            return all_
        return schema, value

    def make_anyOf(self, depth):
        parts = [self.part(depth - 1) for _ in range(self.r.randint(1, 3))]
        return {"anyOf": [p[0] for p in parts]}, lambda r: r.choice(parts)[1](r)

    def make_tree(self, depth):
        self.defs["tree/~"] = {"type": "object", "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/tree~1~0"}}},
                               "required": ["v"], "additionalProperties": False}

        def value(r, depth=3):
            return {"v": r.randint(0, 9)} | ({"kids": [value(r, depth - 1) for _ in range(r.randint(0, 2))]} if depth and r.random() < 0.6 else {})
        return {"$ref": "#/$defs/tree~1~0"}, value


def changed(r, value):
    """A value like it, which may be wrong somewhere."""
    if isinstance(value, dict) and value and r.random() < 0.7:
        key, copy = r.choice(list(value)), dict(value)
        if r.random() < 0.3:
            del copy[key]
        else:
            copy[key] = changed(r, copy[key])
        return copy
    if isinstance(value, list) and value and r.random() < 0.7:
        copy, i = list(value), r.randrange(len(value))
        copy[i] = changed(r, copy[i])
        return copy + [copy[i]] if r.random() < 0.3 else copy
    if isinstance(value, str) and r.random() < 0.5:
        return value + r.choice(string.ascii_lowercase + "\"")
    if isinstance(value, (int, float)) and r.random() < 0.5:
        return value + r.choice([-1, 1, 1000, 0.5])
    return scalar(r)


class Drive:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(self, **what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def served(url, schema, seed):
    body = {"prompt": "a", "max_tokens": 600, "temperature": 1.0 + seed % 3 * 0.5, "seed": seed,
            "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}}}
    request = urllib.request.Request(url + "/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    choice = json.load(urllib.request.urlopen(request))["choices"][0]
    return choice["text"], choice["finish_reason"] == "stop"


def main():
    url = sys.argv[1] if sys.argv[1].startswith("http") else None
    drive, number = None if url else Drive(sys.argv[1]), int(sys.argv[2])
    out = open(sys.argv[3], "w") if len(sys.argv) > 3 else None
    counts, wrong = dict(accepted=0, refused=0, whole=0, unfinished=0), 0
    for seed in range(number):
        r = random.Random(seed)
        maker = Maker(r)
        schema, make = maker.part(3)
        if maker.defs:
            schema = {"$defs": maker.defs, "allOf": [schema]}
        judge = jsonschema.Draft202012Validator(schema)
        texts = []
        if url:
            texts = [served(url, schema, seed)]
        else:
            said = drive.ask(schema=schema)
            if "error" in said:
                print("refused:", said["error"], json.dumps(schema))
                wrong += 1
                continue
            valid = [make(r) for _ in range(6)]
            invalid = [v for v in (changed(r, make(r)) for _ in range(12)) if not judge.is_valid(v)][:6]
            assert all(judge.is_valid(v) for v in valid), (schema, valid)
            dump = [lambda v, i=i: json.dumps(v, ensure_ascii=False, indent=2 if i % 3 == 2 else None, separators=(",", ":") if i % 3 == 1 else None) for i in range(6)]
            valid, invalid = [[dump[i](v) for i, v in enumerate(vs)] for vs in (valid, invalid)]
            for text, found in zip(valid, drive.ask(texts=valid)):
                if found != 2:
                    print("not accepted:", text, json.dumps(schema))
                    wrong += 1
            for text, found in zip(invalid, drive.ask(texts=invalid)):
                if found == 2:
                    print("not refused:", text, json.dumps(schema))
                    wrong += 1
            counts["accepted"] += len(valid)
            counts["refused"] += len(invalid)
            texts = [(t["text"], t["whole"]) for t in (drive.ask(draw=8 * seed + k + 1, most=2000) for k in range(4))]
            if out:
                out.write(json.dumps([schema, valid, invalid], ensure_ascii=False, separators=(",", ":")) + "\n")
        for text, whole in texts:
            counts["whole" if whole else "unfinished"] += 1
            try:
                if whole:
                    judge.validate(json.loads(text))
            except Exception as e:
                print("written:", repr(text), str(e)[:200], json.dumps(schema))
                wrong += 1
    print(f"{number} schemas: {counts}, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
