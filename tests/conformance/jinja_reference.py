"""Jinja2 itself, configured as Hugging Face's transformers does for chat templates."""

import copy
import datetime
import json

from jinja2 import nodes
from jinja2.exceptions import TemplateError
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    """{% generation %} marks what the assistant said. Its content is rendered unchanged."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_said"), [], [], body).set_lineno(line)

    def _said(self, caller):
        return caller()


def raise_exception(message):
    raise TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment(now=0):
    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = lambda form: datetime.datetime.fromtimestamp(now).strftime(form)
    return made


def compiled(source):
    """The template, or None if Jinja2 refuses it."""
    try:
        return environment().from_string(source)
    except Exception:  # any exception is a refusal
        return None


def rendered(template, chat, bos_token="", eos_token=""):
    """The text of a chat in the form of the golden files; None if it is refused."""
    if template is None:
        return None
    variables = {"messages": chat["conversation"], "tools": chat.get("tools"),
                 "add_generation_prompt": chat.get("add_generation_prompt", True),
                 "bos_token": bos_token, "eos_token": eos_token, **chat.get("kwargs", {})}
    try:
        return template.render(**copy.deepcopy(variables))  # `|indent` changes a list in place
    except Exception:
        return None
