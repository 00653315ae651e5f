"""Random JSON schemas that mostly have a valid value, from a seed."""

import random

WORDS = ["id", "name", "tags", "größe", "a b", "x/y", 'q"t', "note", "items", "z", "na", "nam"]
PATTERNS = ["^[a-z]{2,5}$", "^\\d+-\\d+$", "[0-9]$", "^x", "(?:foo|bar)+", '^[^"\\\\]*$', "^\\S{1,8}$", "^é+$"]
FORMATS = ["date", "time", "date-time", "email", "uuid", "ipv4", "ipv6", "uri", "hostname", "duration"]
FORMATS += ["uri-reference", "iri", "iri-reference", "json-pointer"]
CONSTANTS = ["red", "Grün", 'a"b\\c\n', 1, -7, 2.5, None, True, [1, "x"], {"k": 1}, "", 1e20, 12345678901234567890]
SIMPLE = [{"type": "boolean"}, {"type": "null"}, {"type": ["string", "null"]}, True, {}, {"type": ["integer", "array"]}]


class RandomSchemas:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.defs = {}

    def schema(self):
        root = self.object(3) if self.random.random() < 0.8 else self.any(3)
        if self.defs:
            root = {**root, "$defs": self.defs} if isinstance(root, dict) else root
        return root

    def chance(self, probability):
        return self.random.random() < probability

    def any(self, depth):
        kinds = [self.string, self.number, self.integer, self.constant, self.simple]
        if depth > 0:
            kinds += [self.object, self.array, self.union, self.object, self.array, self.combined, self.reference]
        return self.random.choice(kinds)(depth)

    def simple(self, _):
        return self.random.choice(SIMPLE)

    def constant(self, _):
        if self.chance(0.3):
            return {"const": self.random.choice(CONSTANTS)}
        return {"enum": self.random.sample(CONSTANTS, self.random.randint(1, 5))}

    def string(self, _):
        roll = self.random.random()
        out = {"type": "string"}
        if roll < 0.2:
            out["pattern"] = self.random.choice(PATTERNS)
        elif roll < 0.35:
            out["format"] = self.random.choice(FORMATS)
        elif roll < 0.6:
            out["minLength"] = self.random.randint(0, 5)
            out["maxLength"] = out["minLength"] + self.random.randint(0, 12)
        elif roll < 0.7:
            out["minLength"] = self.random.randint(0, 30)
        elif roll < 0.78:
            out.update(pattern="^[a-z0-9-]+$", minLength=3, maxLength=self.random.randint(3, 12))
        return out

    def bounds(self, digits):
        roll = self.random.random()
        scale = 10 ** self.random.randint(0, 4)
        low = round(self.random.uniform(-scale, scale), digits)
        high = round(low + self.random.uniform(1, 2 * scale) + 2, digits)
        if digits == 0:
            low, high = int(low), int(high)
        out = {}
        if roll < 0.7:
            out["exclusiveMinimum" if self.chance(0.3) else "minimum"] = low
        if roll > 0.3:
            out["exclusiveMaximum" if self.chance(0.3) else "maximum"] = high
        return out

    def number(self, _):
        out = {"type": "number"}
        if self.chance(0.5):
            out.update(self.bounds(self.random.choice([0, 1, 2, 3])))
        elif self.chance(0.2):
            out["multipleOf"] = self.random.choice([1, 2, 7, 0.5, 0.25])
        return out

    def integer(self, _):
        out = {"type": "integer"}
        roll = self.random.random()
        if roll < 0.5:
            out.update(self.bounds(0))
        elif roll < 0.6:
            out.update(self.bounds(1))
        elif roll < 0.75:
            out["multipleOf"] = self.random.choice([1, 2, 3, 7, 10, 25, 144])
            if self.chance(0.3):
                out["minimum"] = 0
            elif self.chance(0.3):
                out.update(minimum=-50, maximum=900)
        return out

    def array(self, depth):
        out = {"type": "array"}
        if self.chance(0.8):
            out["items"] = self.any(depth - 1)
        if self.chance(0.3):
            out["prefixItems"] = [self.any(depth - 1) for _ in range(self.random.randint(1, 3))]
            if self.chance(0.3):
                out["items"] = False
                return out
        if self.chance(0.5):
            out["minItems"] = self.random.randint(0, 3)
        if self.chance(0.5):
            out["maxItems"] = out.get("minItems", 0) + self.random.randint(0, 4)
        return out

    def object(self, depth):
        names = self.random.sample(WORDS, self.random.randint(0, 5))
        out = {"type": "object", "properties": {name: self.any(depth - 1) for name in names}}
        out["required"] = [name for name in names if self.chance(0.5)]
        roll = self.random.random()
        if roll < 0.5:
            out["additionalProperties"] = False
        elif roll < 0.7:
            out["additionalProperties"] = self.any(depth - 1)
        if self.chance(0.15):
            out["patternProperties"] = {"^x-": self.any(depth - 1), "_id$": {"type": "integer"}}
        if self.chance(0.15) and names:
            out["minProperties"] = self.random.randint(0, len(names))
        if self.chance(0.15):
            out["maxProperties"] = len(names) + self.random.randint(0, 2)
        if self.chance(0.05) and roll >= 0.5:
            out["required"].append("undeclared")
        return out

    def union(self, depth):
        if self.chance(0.3):
            return {
                "oneOf": [
                    {
                        "type": "object",
                        "properties": {"kind": {"const": kind}, "v": self.any(depth - 1)},
                        "required": ["kind"],
                    }
                    for kind in self.random.sample(["cat", "dog", "fish"], 2)
                ]
            }
        return {"anyOf": [self.any(depth - 1) for _ in range(self.random.randint(1, 3))]}

    def combined(self, depth):
        return {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "string"}, "b": self.any(depth - 1)}},
                {"properties": {"a": {"minLength": 2}, "c": self.any(depth - 1)}, "required": ["a"]},
            ]
        }

    def reference(self, depth):
        done = [name for name, body in sorted(self.defs.items()) if body is not None]
        if done and self.chance(0.5):
            return {"$ref": f"#/$defs/{self.random.choice(done)}"}
        name = f"d{len(self.defs)}"
        self.defs[name] = None  # not finished yet; a bare reference to it would never end
        body = self.any(depth - 1)
        if self.chance(0.5):
            body = {
                "type": "object",
                "properties": {"next": {"anyOf": [{"$ref": f"#/$defs/{name}"}, {"type": "null"}]}, "v": body},
                "required": ["next"],
            }
        self.defs[name] = body
        return {"$ref": f"#/$defs/{name}"}
