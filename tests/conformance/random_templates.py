"""Random templates of the language itself, from a seed. Most of them render."""

import random

VARIABLES = {
    "n": 7, "z": 0, "m": -3, "f": 2.5, "g": -0.125, "big": 123456789, "yes": True, "no": False, "nil": None,
    "s": "Hello World", "e": "", "u": "Grüße, 日本 ß", "w": "  padded\ttext \n", "x": "a-b_c d.e", "ml": "one\ntwo\n\n four\r\nfive",
    "li": [3, 1, 2, 2, 10], "lf": [0.5, 1, -2.25], "ls": ["b", "a", "C", "ä", "a", ""], "lm": [1, "a", None, True, 2.5], "le": [],
    "ll": [[1, 2], [3], []], "lp": [["k", 1], ["q", 2]],
    "d": {"a": 1, "b": "two", "items": [1, 2], "C": None}, "de": {},
    "lo": [{"a": 2, "b": "x", "c": {"d": 1}}, {"a": 1, "b": "Y"}, {"a": 2, "b": "z", "c": {"d": 0}}],
    "tree": [{"v": 1, "kids": [{"v": 2, "kids": []}, {"v": 3, "kids": [{"v": 4, "kids": []}]}]}, {"v": 5, "kids": []}],
}
STRINGS = ["''", "'a'", "'b c'", "'-'", "', '", "'ß'", "'Hello'", "'\\n'", "'<b>'", "'%s'", "'x' 'y'", "'\\u00e9\\x41'", "'l'", "' '"]
INTEGERS = ["0", "1", "2", "3", "-1", "5", "10", "-4", "1_000", "0x1f", "0b101", "00"]
REALS = ["0.5", "1.0", "-2.5", "1e3", "3.14159", "1e-7", "2.675", "1e16", "0.1"]


class RandomTemplates:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.locals = []

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, *options):
        return self.random.choice(options)

    # Expressions, by their most likely type.

    def any(self, depth):
        return self.pick(self.string, self.integer, self.number, self.truth, self.list, self.mapping, self.odd)(depth)

    def odd(self, depth):
        return self.pick("nil", "missing", "d.nope", "lo[0].zz", "none", "ll", "lm", "tree", "range(3)", "d.items()", "d.keys()",
                         "d.values()", "()", "(1, 'a')", "{1: 2, none: 3, 1.5: true}", "li[9]", "namespace(a=1).a", "dict(a=1, **d)",
                         "dict([['k', 1]])", "s.nope", "[missing]", "true", "false", "lp|list", "d.get", "d.pop", "range(5, 1, -2)",
                         "range(10)[2:8:3]", "range(0)")

    def wrong(self, depth, otherwise):
        """Sometimes an expression of another type."""
        return self.any(depth) if self.chance(0.06) else otherwise(depth)

    def integer(self, depth):
        leaves = INTEGERS + ["n", "z", "m", "big", "li[0]", "li|length", "s|length", "d.a", "lo[1].a", "loop.index"]
        if depth <= 0:
            return self.random.choice(leaves)
        a, b = (lambda: self.wrong(depth - 1, self.integer)), (lambda: self.wrong(depth - 1, self.integer))
        return self.pick(
            lambda: f"({a()} {self.pick('+', '-', '*', '//', '%')} {b()})", lambda: f"-{a()}", lambda: f"{a()}|abs",
            lambda: f"{self.list(depth - 1)}|length", lambda: f"{self.string(depth - 1)}|length", lambda: f"{self.any(depth - 1)}|int",
            lambda: f"({a()}) ** {self.pick('0', '1', '2', '3')}", lambda: f"{self.numbers(depth - 1)}|sum",
            lambda: f"{self.numbers(depth - 1)}|{self.pick('max', 'min')}", lambda: f"{self.string(depth - 1)}.find({self.string(0)})",
            lambda: f"{self.string(depth - 1)}.count({self.string(0)})", lambda: f"{self.string(depth - 1)}|int({a()}, {self.pick('10', '16', '2', '0')})",
            lambda: f"{self.string(depth - 1)}|wordcount", lambda: f"({a()} if {self.truth(depth - 1)} else {b()})",
            lambda: f"{self.list(depth - 1)}.index({self.any(0)})", lambda: f"{self.list(depth - 1)}.count({self.any(0)})",
            lambda: f"lo|sum(attribute='a')", lambda: f"{self.number(depth - 1)}|round|int", lambda: f"{a()}|round(-1)",
        )()

    def number(self, depth):
        leaves = REALS + ["f", "g", "n", "lf[0]"]
        if depth <= 0:
            return self.random.choice(leaves)
        a = lambda: self.wrong(depth - 1, self.number)
        return self.pick(
            lambda: f"({a()} {self.pick('+', '-', '*', '/', '//', '%')} {a()})", lambda: f"{a()}|float", lambda: f"{self.string(0)}|float(1.5)",
            lambda: f"{a()}|round", lambda: f"{a()}|round({self.pick('1', '2', '-1', '0')}, {self.pick(chr(39) + 'common' + chr(39), chr(39) + 'ceil' + chr(39), chr(39) + 'floor' + chr(39))})",
            lambda: f"{a()}|round({self.pick('1', '2', '3')})", lambda: f"-{a()}", lambda: f"{self.integer(depth - 1)}", lambda: f"{a()}|abs",
            lambda: f"{self.integer(depth - 1)} / {self.integer(depth - 1)}", lambda: f"'2.50e1'|float",
        )()

    def truth(self, depth):
        leaves = ["true", "false", "yes", "no", "n", "z", "s", "e", "le", "missing", "nil", "loop.first"]
        if depth <= 0:
            return self.random.choice(leaves)
        a = lambda: self.any(depth - 1)
        compared = lambda: self.pick(self.integer, self.number, self.string)
        def comparison():
            kind = compared()
            chain = f"{kind(depth - 1)} {self.pick('==', '!=', '<', '<=', '>', '>=')} {kind(depth - 1)}"
            return f"({chain} {self.pick('<', '==', '>=')} {kind(0)})" if self.chance(0.2) else f"({chain})"
        return self.pick(
            comparison, comparison, lambda: f"({a()} == {a()})", lambda: f"({self.truth(depth - 1)} {self.pick('and', 'or')} {a()})",
            lambda: f"(not {a()})", lambda: f"({self.string(0)} {self.pick('in', 'not in')} {self.wrong(depth - 1, self.string)})",
            lambda: f"({self.any(0)} {self.pick('in', 'not in')} {self.list(depth - 1)})", lambda: f"({self.string(0)} in d)",
            lambda: f"({a()} is {self.test(depth)})", lambda: f"({a()} is not {self.test(depth)})", lambda: f"({a()} is {self.test(depth)})",
            lambda: f"{self.string(depth - 1)}.{self.pick('startswith', 'endswith')}({self.pick(self.string(0), '(' + self.string(0) + ', ' + self.string(0) + ')')})",
            lambda: f"{self.string(depth - 1)}.{self.pick('isdigit', 'isalpha', 'isupper', 'islower', 'isspace', 'istitle', 'isalnum', 'isascii', 'isidentifier', 'isprintable')}()",
        )()

    def test(self, depth):
        return self.pick("defined", "undefined", "none", "boolean", "true", "false", "string", "mapping", "sequence", "iterable", "number",
                         "integer", "float", "callable", "lower", "upper", "odd", "even", f"divisibleby({self.pick('2', '3', '0')})",
                         f"in({self.list(0)})", f"in {self.pick('li', 'ls', 'd', 's')}", f"eq({self.any(0)})", f"ne {self.pick('n', 's')}", f"lt({self.integer(0)})",
                         f"ge({self.integer(0)})", f"sameas({self.pick('none', 'true', 'false', 'nil')})", "filter", "test", f"equalto {self.pick('1', 's', 'nil')}")

    def string(self, depth):
        leaves = STRINGS + ["s", "e", "u", "w", "x", "ml", "ls[0]", "d.b", "lo[0]['b']", "messages[0].content", "messages[0]['role']"]
        if depth <= 0:
            return self.random.choice(leaves)
        s = lambda: self.wrong(depth - 1, self.string)
        i = lambda: self.integer(0)
        return self.pick(
            lambda: f"({s()} + {s()})", lambda: f"({s()} ~ {self.any(depth - 1)} ~ {s()})", lambda: f"{s()} * {self.pick('2', '0', '3', 'yes')}",
            lambda: f"{s()}[{self.slice()}]", lambda: f"{s()}[{i()}]", lambda: f"({s()} if {self.truth(depth - 1)} else {s()})",
            lambda: f"({s()} if {self.truth(depth - 1)})", lambda: f"{s()}|{self.pick('upper', 'lower', 'title', 'capitalize', 'trim', 'reverse', 'string', 'list|join', 'urlencode', 'striptags')}",
            lambda: f"{s()}|trim({self.string(0)})", lambda: f"{s()}|replace({self.string(0)}, {s()}{self.pick('', ', 1', ', 0')})",
            lambda: f"{s()}|default({s()}{self.pick('', ', true')})", lambda: f"{self.any(depth - 1)}|d('dflt', {self.pick('true', 'false')})",
            lambda: f"{s()}|indent({self.pick('', '2', 'first=true', '1, true, true', 'blank=true', chr(39) + '>' + chr(39))})",
            lambda: f"{s()}|truncate({self.pick('5', '8, true', '6, false, ' + chr(39) + '~' + chr(39), '7, leeway=0', '9, true, end=' + chr(39) + chr(39))})",
            lambda: f"{s()}|wordwrap({self.pick('5', '3', '8, false', '4, true, ' + chr(39) + '|' + chr(39), '6, break_on_hyphens=false')})", lambda: f"{s()}|center({self.pick('9', '12', '5')})",
            lambda: f"{self.list(depth - 1)}|join({self.pick('', self.string(0))})", lambda: f"lo|join(',', attribute='b')",
            lambda: f"{self.any(depth - 1)}|tojson{self.pick('', '(indent=2)', '(ensure_ascii=true)', '(sort_keys=true)', '(separators=(' + chr(39) + ',' + chr(39) + ', ' + chr(39) + ':' + chr(39) + '))')}",
            lambda: f"{self.any(depth - 1)}|string", lambda: self.method(depth), lambda: self.method(depth), lambda: self.method(depth), lambda: self.format(depth), lambda: self.format(depth),
            lambda: f"{s()}|{self.pick('first', 'last')}", lambda: f"{self.integer(0)}|filesizeformat{self.pick('', '(true)')}", lambda: f"{self.mapping(0)}|urlencode",
            lambda: f"{self.mapping(0)}|xmlattr{self.pick('', '(false)')}", lambda: f"{s()}|escape", lambda: f"{self.any(depth - 1)}|{self.pick('upper', 'lower', 'title', 'trim', 'length', 'first', 'last', 'list', 'sort', 'float')}",
        )()

    def method(self, depth):
        s, t = self.wrong(depth - 1, self.string), self.string(0)
        return self.pick(
            f"{s}.strip({self.pick('', t)})", f"{s}.lstrip({self.pick('', t)})", f"{s}.rstrip({self.pick('', t)})", f"{s}.upper()", f"{s}.lower()",
            f"{s}.title()", f"{s}.capitalize()", f"{s}.swapcase()", f"{s}.casefold()", f"{s}.zfill({self.pick('3', '9', 'n', 'm')})", f"{s}.ljust({self.pick('5', '9')}, {self.pick(t, chr(39) + '*' + chr(39))})",
            f"{s}.rjust(8)", f"{s}.center({self.pick('7', '8', '11')})", f"{s}.replace({t}, {self.string(0)}{self.pick('', ', 1')})", f"{s}.split({self.pick('', t, 'none, 1', t + ', 1')})",
            f"{s}.rsplit({self.pick('', t, 'none, 1', t + ', 1')})", f"{s}.splitlines({self.pick('', 'true', 'keepends=true')})", f"{s}.partition({t})", f"{s}.rpartition({t})",
            f"{s}.removeprefix({t})", f"{s}.removesuffix({t})", f"{t}.join({self.list(depth - 1)})", f"{s}.expandtabs({self.pick('', '4')})",
            f"{s}.{self.pick('find', 'rfind', 'index', 'rindex', 'count')}({t}{self.pick('', ', 1', ', 1, -1', ', -3')})", f"{s}.split({t})[{self.pick('0', '-1')}]", f"{s}.nope()")

    def format(self, depth):
        spec = f"%{self.pick('', '-', '0', '+', ' ', '#', '-0')}{self.pick('', '5', '12', '3')}{self.pick('', '.2', '.0', '.5')}{self.pick(*'sdrifFeEgGxXoc')}"
        brace = f"{{{self.pick('', '', '0', 'k')}{self.pick('', '', '!r', '!s')}:{self.pick('', '<', '>', '^', '=', '*^', '0>')}{self.pick('', '+', ' ', '-')}{self.pick('', '', '#')}{self.pick('', '0')}" \
                f"{self.pick('', '5', '12')}{self.pick('', '', ',', '_')}{self.pick('', '.2', '.3', '.0')}{self.pick('', 's', 'd', 'f', 'e', 'g', 'x', 'b', 'o', 'c', '%', 'X', 'G', 'n')}}}"
        value = self.pick(self.integer, self.number, self.string, self.any)(depth - 1)
        return self.pick(f"'[{spec}]' % {value}", f"'[{spec}|%s]' % ({value}, {self.any(0)})", f"'{spec}'|format({value})", f"'%(a)s-%(b){self.pick('s', 'r', '5s')}' % d",
                         f"'{brace}'.format({value}, k={self.any(0)})", f"'{brace}'.format({value}, k={self.any(0)})", "'{} {}{{}}'.format(" + value + ", 2)", "'{0[a]} {0.b} {x}'.format(d, x=" + value + ")",
                         "'{:>{}}'.format(" + self.string(0) + ", 9)", "'%s' % (" + value + ",)", "'%*d' % (5, n)", "'100%%' % ()")

    def slice(self):
        bound = lambda: self.pick("", "", "1", "-1", "2", "-3", "0", "9", "n")
        step = self.pick("", "", "", ":", ":2", ":-1", ":-2")
        return f"{bound()}:{bound()}{step}"

    def numbers(self, depth):
        return self.pick("li", "lf", "[1, 2.5, 3]", "range(4)", "lo|map(attribute='a')", "le", f"[{self.integer(depth - 1)}, {self.number(depth - 1)}]")

    def list(self, depth):
        leaves = ["li", "lf", "ls", "lm", "le", "ll", "[1, 2]", "['a', 'b']", "[]", "(1, 2)", "range(4)", "lo", "d|list", "d.values()|list", "messages"]
        if depth <= 0:
            return self.random.choice(leaves)
        l = lambda: self.wrong(depth - 1, self.list)
        return self.pick(
            lambda: f"[{self.any(depth - 1)}, {self.any(depth - 1)}]", lambda: f"({l()} + {l()})", lambda: f"{l()}[{self.slice()}]", lambda: f"{l()} * 2",
            lambda: f"{l()}|{self.pick('sort', 'sort(reverse=true)', 'sort(case_sensitive=true)', 'unique', 'reverse', 'list')}|list", lambda: f"{l()}|map({chr(39)}{self.pick('upper', 'string', 'length', 'abs', 'int', 'tojson', 'trim')}{chr(39)})|list",
            lambda: f"lo|map(attribute={self.pick(chr(39) + 'a' + chr(39), chr(39) + 'c.d' + chr(39), chr(39) + 'b' + chr(39))}{self.pick('', ', default=0')})|list",
            lambda: f"{l()}|{self.pick('select', 'reject')}({self.pick('', chr(39) + 'string' + chr(39), chr(39) + 'odd' + chr(39), chr(39) + 'gt' + chr(39) + ', 1', chr(39) + 'defined' + chr(39), chr(39) + 'in' + chr(39) + ', li')})|list",
            lambda: f"lo|{self.pick('selectattr', 'rejectattr')}({self.pick(chr(39) + 'a' + chr(39), chr(39) + 'c' + chr(39), chr(39) + 'b' + chr(39) + ', ' + chr(39) + 'equalto' + chr(39) + ', ' + chr(39) + 'x' + chr(39), chr(39) + 'c' + chr(39) + ', ' + chr(39) + 'defined' + chr(39), chr(39) + 'a' + chr(39) + ', ' + chr(39) + '>' + chr(39) + ', 1')})|list",
            lambda: f"{l()}|{self.pick('batch(2)', 'batch(3, 0)', 'slice(2)', 'slice(3, 9)')}|list", lambda: f"lo|groupby({self.pick(chr(39) + 'a' + chr(39), chr(39) + 'b' + chr(39), chr(39) + 'c.d' + chr(39) + ', default=9')})",
            lambda: f"{self.mapping(depth - 1)}|dictsort({self.pick('', 'reverse=true', 'by=' + chr(39) + 'value' + chr(39), 'true')})", lambda: f"{self.string(depth - 1)}|list", lambda: f"{self.mapping(depth - 1)}.items()|list",
            lambda: f"{self.mapping(depth - 1)}|items|list", lambda: f"lo|sort(attribute={self.pick(chr(39) + 'a' + chr(39), chr(39) + 'b' + chr(39), chr(39) + 'a,b' + chr(39))})", lambda: f"lo|unique(attribute='a')|list",
            lambda: f"{self.string(depth - 1)}.split({self.pick('', self.string(0))})", lambda: f"{l()}|{self.pick('map(' + chr(39) + 'string' + chr(39) + ')', 'select', 'reverse')}", lambda: f"({l()}, {self.any(depth - 1)})",
        )()

    def mapping(self, depth):
        if depth <= 0:
            return self.pick("d", "de", "{'a': 1}", "{}", "lo[0]", "messages[0]")
        return self.pick("d", "{" + f"{self.string(0)}: {self.any(depth - 1)}, {self.string(0)}: {self.any(depth - 1)}" + "}", f"dict(d, k={self.any(depth - 1)})", "d.copy()", "{'x': d}", "lo|first", "lo|last",
                         f"dict({self.mapping(depth - 1)}, **{self.mapping(0)})")

    # Statements, with random whitespace control.

    def tag(self, inside):
        begin, end = self.pick("{%", "{%", "{%-", "{%+"), self.pick("%}", "%}", "-%}", "+%}")
        return f"{begin} {inside} {end}"

    def out(self, inside):
        return f"{self.pick('{{', '{{-')} {inside} {self.pick('}}', '-}}')}"

    def data(self):
        return self.pick("", " ", "\n", "text", "  \n  ", "\t", "a b", "\n\n", "é", " x\n", "{# note #}", "{#- c -#}", "\n   {# c #}\n", "{", "}}", "%}", "\u00a0", "{% raw %}{{ no }}{% endraw %}",
                         "{%- raw -%} r {%- endraw %}\n", "#")

    def body(self, depth):
        return "".join(self.data() + self.statement(depth) for _ in range(self.random.randint(1, 3))) + self.data()

    def statement(self, depth):
        simple = [lambda: self.out(self.any(2)), lambda: self.out(self.pick("v", "a", "b", "i", "ns.x", "loop.index", "acc")),
                  lambda: self.tag(f"set {self.pick('v', 'a', 'acc')} = {self.any(1)}"), lambda: self.tag(f"set ns.x = {self.any(1)}"), lambda: self.tag(f"set a, b = {self.pick('1, 2', 'lp[0]', '(3, s)', 'li')}"),
                  lambda: self.tag(f"if {self.truth(1)}") + self.tag(self.pick("break", "continue")) + self.tag("endif"), lambda: self.tag(f"print {self.any(1)}"),
                  lambda: self.out(f"{self.pick('mac', 'mic')}({self.pick('', '1', 's, 2', 'y=s', '*li', '1, 2, 3', '**d', 'q=1', 'x=1, y=2')})")]
        if depth <= 0:
            return self.random.choice(simple)()
        d = depth - 1
        return self.pick(
            self.random.choice(simple), self.random.choice(simple), lambda: self.for_block(d), lambda: self.for_block(d), lambda: self.if_block(d), lambda: self.if_block(d),
            lambda: self.tag(f"set {self.pick('v', 'ns.x')}{self.pick('', ' | upper', ' | trim | length')}") + self.body(d) + self.tag("endset"),
            lambda: self.tag(f"filter {self.pick('upper', 'trim', 'indent(2)', 'replace(' + chr(39) + 'a' + chr(39) + ', ' + chr(39) + 'b' + chr(39) + ')|title')}") + self.body(d) + self.tag("endfilter"),
            lambda: self.tag(f"with {self.pick('v = n', 'a = 1, b = a', '', 'a = s')}") + self.body(d) + self.tag("endwith"),
            lambda: self.macro(d), lambda: self.call_block(d), lambda: self.tag("generation") + self.body(d) + self.tag("endgeneration"), lambda: self.recursion(d),
        )()

    def for_block(self, depth):
        target, items = self.pick(("i", self.list(1)), ("i", "li"), ("a, b", "d.items()"), ("a, b", "lp"), ("i", "ls"), ("(a, b)", "lp"), ("i", "d"), ("i", "s"), ("i", "range(3)"), ("i", "missing"),
                                  ("k, (a, b)", "[(1, (2, 3))]"), ("i", self.any(1)), ("i", "1, 2"))
        condition = self.pick("", "", "", f" if {self.truth(1)}", " if i != 2", " if not loop")
        loop = self.pick("index", "index0", "revindex", "revindex0", "first", "last", "length", "depth", "depth0", "previtem", "nextitem", "cycle('a', 'b')", "changed(i)", "changed(n)", "nope")
        otherwise = self.tag("else") + self.body(0) if self.chance(0.2) else ""
        return self.tag(f"for {target} in {items}{condition}") + self.out(f"loop.{loop}") + self.body(depth) + otherwise + self.tag("endfor")

    def if_block(self, depth):
        text = self.tag(f"if {self.truth(2)}") + self.body(depth)
        if self.chance(0.3):
            text += self.tag(f"elif {self.truth(1)}") + self.body(depth)
        if self.chance(0.4):
            text += self.tag("else") + self.body(depth)
        return text + self.tag("endif")

    def macro(self, depth):
        name, signature = self.pick("mac", "mic"), self.pick("()", "(x)", "(x, y=2)", "(x='d', y=x)", "(x, caller=none)")
        inside = self.pick("{{ x }}", "{{ varargs }}{{ x }}", "{{ kwargs }}", "{{ caller() if caller }}", "{{ x }}{{ y }}", "{{ caller(x) }}", "{% set v = 9 %}{{ v }}", "")
        return self.tag(f"macro {name}{signature}") + inside + self.body(min(depth, 1)) + self.tag("endmacro") + self.out(f"{name}({self.pick('', '1', 's, 2', 'y=3')})") + self.out(f"{name}.{self.pick('name', 'arguments', 'catch_kwargs', 'caller')}")

    def call_block(self, depth):
        return "{% macro mac(x=1) %}<{{ caller(x) }}>{% endmacro %}" + self.tag(f"call{self.pick('', '(q)', '(q=5)')} {self.pick('mac()', 'mac(2)', 'mic()')}") + self.body(depth) + self.tag("endcall")

    def recursion(self, depth):
        return self.tag("for t in tree recursive") + "{{ t.v }}{{ loop.depth }}{{ loop.index }}" + self.body(0) + "({{ loop(t.kids) }})" + self.tag("endfor")

    def template(self):
        if self.chance(0.6):
            return self.out(self.any(self.random.randint(1, 4)))
        return "{% set ns = namespace(x=1) %}" + self.body(self.random.randint(1, 3))
