"""Random conversations from a seed. Most are such as clients send; some are such as no template expects."""

import random

TEXTS = ["Hello", "What is 2+2?", "", " ", "\n", "  padded \n", "naïve café ☕", "日本語のテキスト", "emoji 👩‍👩‍👧 🇩🇪", "a\tb\r\nc",
         "<|im_end|>", "[INST] x [/INST]", "{{ 7 * 7 }}", "{% raw %}", 'quotes "double" \'single\'', "back\\slash",
         "line one\nline two\n\nline four", "<think>why</think>because", "\n<think>\nlong\nthought\n</think>\n\nanswer\n",
         "</think>", "<tool_response>x</tool_response>", "x" * 300, "\u00a0nbsp\u00a0", "\u2028sep", "zero\u200bwidth", "&<>"]
ROLES = ["user", "assistant", "system", "tool"]
SCHEMAS = [{"type": "object", "properties": {}}, {"type": "object", "properties": {
    "city": {"type": "string", "description": "Where, \"quoted\" é"}, "days": {"type": "integer", "default": 3}},
    "required": ["city"]}]
ARGUMENTS = [{}, {"city": "Zürich"}, {"city": "a\"b", "days": 2, "deep": {"x": [1, 2.5, None, True]}}, {"n": -1e20},
             '{"city": "Bern"}']


class RandomChats:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, probability):
        return self.random.random() < probability

    def text(self):
        return self.random.choice(TEXTS)

    def content(self):
        draw = self.random.random()
        if draw < 0.85:
            return self.text()
        if draw < 0.95:
            return [{"type": "text", "text": self.text()} for _ in range(self.random.randint(0, 3))]
        return None

    def call(self):
        call = {"type": "function", "function": {"name": self.random.choice(["get_weather", "add", "größe"]),
                                                 "arguments": self.random.choice(ARGUMENTS)}}
        if self.chance(0.8):
            call["id"] = "".join(self.random.choices("abcdef0123", k=9 if self.chance(0.8) else 12))
        return call if self.chance(0.95) else call["function"]

    def assistant(self):
        message = {"role": "assistant", "content": self.content()}
        if self.chance(0.15):
            message["reasoning_content"] = self.random.choice([self.text(), None])
        return message

    def turn(self):
        """A question, and what follows it."""
        messages = [{"role": "user", "content": self.content()}]
        if self.chance(0.3):
            calls = [self.call() for _ in range(self.random.choice([1, 1, 2]))]
            messages.append({"role": "assistant", "content": self.random.choice([None, "", self.text()]), "tool_calls": calls})
            for call in calls:
                result = {"role": "tool", "content": self.random.choice([self.text(), '{"t": 21}', {"t": 21}])}
                if "id" in call:
                    result["tool_call_id"] = call["id"]
                messages.append(result)
        if self.chance(0.9):
            messages.append(self.assistant())
        return messages

    def conversation(self):
        if self.chance(0.1):  # messages in any order
            return [{"role": self.random.choice(ROLES), "content": self.content()} for _ in range(self.random.randint(0, 4))]
        messages = [{"role": "system", "content": self.content()}] if self.chance(0.4) else []
        for _ in range(self.random.randint(0, 3)):
            messages += self.turn()
        if self.chance(0.8) or not messages:
            messages.append({"role": "user", "content": self.content()})
        return messages

    def tools(self):
        if self.chance(0.6):
            return None
        return [{"type": "function", "function": {
            "name": self.random.choice(["get_weather", "add"]), "description": self.text(),
            "parameters": self.random.choice(SCHEMAS)}} for _ in range(self.random.randint(0, 3))]

    def kwargs(self):
        kwargs = {}
        if self.chance(0.3):
            kwargs["enable_thinking"] = self.chance(0.5)
        if self.chance(0.1):
            kwargs["date_string"] = "26 Jul 2024"
        if self.chance(0.05):
            kwargs["tools_in_user_message"] = self.chance(0.5)
        if self.chance(0.05):
            kwargs["builtin_tools"] = ["code_interpreter", "brave_search"]
        if self.chance(0.05):
            kwargs["reasoning_effort"] = self.random.choice(["low", "high"])
        return kwargs

    def chat(self):
        return {"now": 0, "conversation": self.conversation(), "tools": self.tools(), "kwargs": self.kwargs(),
                "add_generation_prompt": self.chance(0.7)}
