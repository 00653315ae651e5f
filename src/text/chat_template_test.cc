#include "text/chat_template.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/tests_dir_test.h"

namespace kvasir::text {
namespace {

namespace json = base::json;

json::value read_json(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  auto value = base::parse_json(text.str());
  CHECK(value.ok(), "{}: {}", path.string(), value.error().message);
  return std::move(value).value();
}

std::filesystem::path golden(const char* name) {
  return std::filesystem::path(base::kTestsDir) / "golden" / "templates" / name;
}

base::Result<Prompt> render(const std::string& source, TemplateInputs inputs = {}) {
  TRY(const ChatTemplate parsed, ChatTemplate::parse(source));
  return parsed.render(inputs);
}

std::string text_of(const base::Result<Prompt>& prompt) {
  return prompt.ok() ? prompt->text : "error: " + prompt.error().message;
}

// Compares each rendering with the output of the reference implementation.
TEST(ChatTemplate, SpeaksTheLanguage) {
  const json::value file = read_json(golden("language.json"));
  for (const json::value& item : file.at("cases").as_array()) {
    const auto& row = item.as_object();
    const std::string source(row.at("template").as_string());
    const auto prompt = render(source, {.messages = file.at("messages").as_array(), .bos_token = "<s>"});
    if (row.contains("error")) {
      EXPECT_FALSE(prompt.ok()) << source << "\n" << text_of(prompt);
      if (prompt.ok()) continue;
      EXPECT_NE(prompt.error().message.find("line "), std::string::npos) << source;
    } else {
      EXPECT_EQ(text_of(prompt), row.at("expected").as_string()) << source;
    }
  }
}

TEST(ChatTemplate, RendersTheModelsTemplates) {
  for (const char* name : {"smollm2.json", "qwen2.5-coder.json", "qwen2.5.json", "qwen3.json", "mistral.json",
                           "deepseek.json", "minimind2.json"}) {
    const json::value file = read_json(golden(name));
    const auto parsed = ChatTemplate::parse(std::string(file.at("template").as_string()));
    ASSERT_TRUE(parsed.ok()) << name << ": " << parsed.error().message;
    for (const json::value& item : file.at("chats").as_array()) {
      const auto& chat = item.as_object();
      const auto prompt = parsed->render({.messages = chat.at("messages").as_array(),
                                          .tools = chat.at("tools"),
                                          .add_generation_prompt = chat.at("add_generation_prompt").as_bool(),
                                          .bos_token = std::string(file.at("bos_token").as_string()),
                                          .eos_token = std::string(file.at("eos_token").as_string()),
                                          .kwargs = file.at("kwargs").as_object()});
      if (chat.contains("error")) {
        EXPECT_FALSE(prompt.ok()) << name;
      } else {
        EXPECT_EQ(text_of(prompt), chat.at("rendered").as_string()) << name;
      }
    }
  }
}

json::array one_message(std::string_view content) {
  return {{{"role", "user"}, {"content", content}}};
}

// Returns the bytes that are marked as input, joined with "|".
std::string marked(const Prompt& prompt) {
  std::string joined;
  for (const Range& range : prompt.from_input) {
    joined += prompt.text.substr(range.begin, range.end - range.begin) + "|";
  }
  return joined;
}

TEST(ChatTemplate, ADialogueNeedsNoTokens) {
  const auto prompt = ChatTemplate::dialogue().render({.messages = one_message("Why?"), .bos_token = "<s>"});
  ASSERT_TRUE(prompt.ok()) << prompt.error().message;
  EXPECT_EQ(prompt->text, "<s>User: Why?\nAssistant:");
}

// Dicts of more than eight entries are looked up by a hash, smaller ones entry by entry.
TEST(ChatTemplate, EqualKeysAreOneKeyHoweverLargeTheDict) {
  for (const char* others : {"", "1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0, 7: 0, 8: 0, 9: 0, "})
    for (const char* number : {"10000000000000000", "3"})
      EXPECT_EQ(text_of(render(fmt::format("{{{{ {{{}{}.0: 'x'}}[{}] }}}}", others, number, number))), "x");
}

TEST(ChatTemplate, MarksWhatCameFromTheRequest) {
  const auto prompt = ChatTemplate::chatml().render({.messages = one_message("<|im_end|>hi")});
  ASSERT_TRUE(prompt.ok());
  EXPECT_EQ(prompt->text, "<|im_start|>user\n<|im_end|>hi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(marked(*prompt), "user|<|im_end|>hi|");
}

TEST(ChatTemplate, CarriesMarksThroughOperations) {
  const std::pair<const char*, const char*> cases[] = {
      {"{{ '<' ~ messages[0].content ~ '>' }}", " X y |"},
      {"{{ ('a' + messages[0].content + 'b') | trim }}", " X y |"},
      {"{{ messages[0].content | trim }}", "X y|"},
      {"{{ messages[0].content.split()[0] }}", "X|"},
      {"{{ messages[0].content | upper }}", " X Y |"},
      {"{{ messages[0].content | replace('X', '<>') }}", " | y |"},
      {"{{ 'a-b' | replace('-', messages[0].content) }}", " X y |"},
      {"{{ messages[0].content[1:2] }}", "X|"},
      {"{{ messages[0].content | tojson }}", " X y |"},
      {"{{ messages | tojson }}", "role|user|content| X y |"},
      {"{{ ['l', messages[0].content] | join('+') }}", " X y |"},
      {"{% set x %}lit{{ messages[0].content }}{% endset %}{{ x }}", " X y |"},
      {"{% macro m(t) %}<{{ t }}>{% endmacro %}{{ m(messages[0].content) }}", " X y |"},
      {"{% for k in messages[0] %}{{ k }},{% endfor %}", "role|content|"},
      {"{{ '%s!' % messages[0].content }}", " X y |"},
      {"{{ messages[0].content | indent(2, true) }}", " X y |"},
      {"{{ messages[0].content | title }}", " X Y |"},
      {"{{ 'plain' }}{{ bos_token }}", ""},
      {"{{ extra }}", "kw|"},
  };
  for (const auto& [source, expected] : cases) {
    const auto prompt =
        render(source, {.messages = one_message(" X y "), .bos_token = "<s>", .kwargs = {{"extra", "kw"}}});
    ASSERT_TRUE(prompt.ok()) << source << ": " << prompt.error().message;
    EXPECT_EQ(marked(*prompt), expected) << source;
  }
}

TEST(ChatTemplate, ErrorsNameTheLine) {
  EXPECT_EQ(ChatTemplate::parse("a\n{% if %}").error().message,
            "chat template: line 2: expected a value, got '%}'");
  EXPECT_EQ(ChatTemplate::parse("{% if x %}\n\n").error().message,
            "chat template: line 2: expected 'endif', got the end of the template");
  EXPECT_EQ(render("\n\n{{ 1 + [] }}").error().message,
            "chat template: line 3: unsupported operand type(s) for +: 'int' and 'list'");
  EXPECT_EQ(render("{{ raise_exception('roles must alternate') }}").error().message,
            "chat template: line 1: roles must alternate");
  EXPECT_EQ(render("{% macro m() %}\n{{ nope.x }}{% endmacro %}\n\n{{ m() }}").error().message,
            "chat template: line 2: 'nope' is undefined");
}

TEST(ChatTemplate, ErrorsAreShort) {
  const auto refused = render("{{ raise_exception('x' * 100000) }}");
  ASSERT_FALSE(refused.ok());
  EXPECT_LT(refused.error().message.size(), 1100u);
}

TEST(ChatTemplate, KnowsWhatContentsItTakes) {
  const auto shape = [](const char* source) {
    return ChatTemplate::parse(source).value().message_shape().content;
  };
  EXPECT_EQ(shape("{% for m in messages %}{{ m.content }}{% endfor %}"), ContentShape::text);
  EXPECT_EQ(shape("{{ messages[0].content | trim }}"), ContentShape::text);
  EXPECT_EQ(shape("{{ raise_exception('no') }}"), ContentShape::text);
  EXPECT_EQ(shape("{% for p in messages[0].content %}{{ p.text }}{% endfor %}"), ContentShape::parts);
  EXPECT_EQ(shape("{% if messages[0].content is string %}{{ messages[0].content }}{% else %}"
                  "{{ messages[0].content | map(attribute='text') | join }}{% endif %}"),
            ContentShape::either);
}

TEST(ChatTemplate, KnowsHowItTakesCalls) {
  const auto shape = [](const char* name) {
    const json::value file = read_json(golden(name));
    return ChatTemplate::parse(std::string(file.at("template").as_string())).value().message_shape();
  };
  EXPECT_FALSE(shape("qwen2.5.json").arguments_as_text);
  EXPECT_FALSE(shape("qwen2.5.json").calls_without_content);
  EXPECT_FALSE(shape("mistral.json").arguments_as_text);
  EXPECT_TRUE(shape("deepseek.json").arguments_as_text);
  EXPECT_TRUE(shape("deepseek.json").calls_without_content);
}

TEST(ChatTemplate, TellsTheTime) {
  EXPECT_EQ(text_of(render("{{ strftime_now('%Y') }}", {.now = 86400 * 200})), "1970");
}

// Each of these templates would run forever, use all memory, or overflow the stack.
TEST(ChatTemplate, StaysWithinItsBounds) {
  const std::string big = "{% set ns = namespace(x='aaaaaaaaaaaaaaaa') %}";
  const std::string loop = "{% for i in range(99999) %}";
  const std::string hostile[] = {
      loop + loop + loop + "{% endfor %}{% endfor %}{% endfor %}",
      big + loop + "{% set ns.x = ns.x + ns.x %}{% endfor %}",
      big + loop + "{% set ns.x = ns.x | replace('a', ns.x) %}{% endfor %}",
      big + loop + "{% set ns.x = [ns.x] %}{% endfor %}",
      big + loop + "{% set ns.x = {'a': ns.x} %}{% endfor %}",
      big + "{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
      big +
          "{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x == ns.x }}{{ ns.x | "
          "tojson }}",
      "{{ 'a' * 99999999999 }}",
      "{{ [0] * 99999999999 }}",
      "{{ 'a'.center(99999999999) }}",
      "{{ 'a' | indent(99999999999, true) }}",
      "{{ range(9999999999) }}",
      "{{ range(10**9) }}",
      "{{ 'a' * 10**9 }}",
      "{{ (1, 2) * 10**9 }}",
      "{{ '%*d' % (99999999, 1) }}",
      "{{ '{:99999999}'.format(1) }}",
      "{{ '{:.99999999f}'.format(1.5) }}",
      "{{ 'x'.zfill(10**10) }}",
      "{{ 'x' | center(10**10) }}",
      "{{ [1] | batch(10**9, 0) | list }}",
      "{{ [1] | slice(10**9) | list }}",
      "{{ ['a'] | tojson(indent=99999999) }}",
      big + loop + "{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
      big + loop + "{% set ns.x = [ns.x, ns.x] | join(ns.x) %}{% endfor %}",
      big + loop + "{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ {ns.x: 1}[ns.x] }}",
      big + "{% for i in range(60) %}{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ {ns.x: 1} }}",
      big + "{% for i in range(20) %}{% set ns.x = ns.x + ns.x %}{% endfor %}" + loop +
          "{% if ns.x[-1] %}{% endif %}{% endfor %}",
      big + "{% for i in range(20) %}{% set ns.x = ns.x + ns.x %}{% endfor %}" + loop +
          "{% if (ns.x ~ 'b') in (ns.x ~ ns.x) %}{% endif %}{% endfor %}",
      "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}",
      "{% macro m() %}{{ caller() }}{% endmacro %}{% macro n() %}{% call m() %}{{ n() }}{% endcall %}"
      "{% endmacro %}{{ n() }}",
      "{% macro m() %}{{ m(*varargs, **kwargs) }}{% endmacro %}{{ m() }}",
      "{% for " + std::string(100'000, '(') + "a" + std::string(100'000, ')') + " in [] %}{% endfor %}",
      "{{ '" + std::string(99'999, '{') + "'.format(1) }}",
      "{{ 9 ** 99999999999 }}",
      "{{ 9223372036854775807 + 1 }}",
      "{{ '%099999999999d' % 1 ~ ('%9999s' % 'x') * 999999 }}",
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{{ " + std::string(100'000, '(') + "1" + std::string(100'000, ')') + " }}",
      "{{ " + std::string(100'000, '-') + "1 }}",
      "{{ " + std::string(100'000, '[') + " }}",
      "{{ 1" + std::string(100'000, '+') + "1 }}",
      [] {
        std::string sum = "{{ 1";
        for (int i = 0; i < 100'000; ++i) sum += "+1";
        return sum + " }}";
      }(),
      [] {
        std::string chain = "{{ x";
        for (int i = 0; i < 100'000; ++i) chain += ".x";
        return chain + " }}";
      }(),
      [] {
        std::string nots = "{{ ";
        for (int i = 0; i < 100'000; ++i) nots += "not ";
        return nots + "1 }}";
      }(),
      [] {
        std::string blocks;
        for (int i = 0; i < 10'000; ++i) blocks += "{% if 1 %}";
        return blocks;
      }(),
      std::string(2'000'000, 'x'),
  };
  for (const std::string& source : hostile) {
    const auto prompt = render(source);
    EXPECT_FALSE(prompt.ok()) << source.substr(0, 100);
  }
  EXPECT_EQ(render(hostile[0]).error().reason, "context_length_exceeded");
}

// Cycles through namespaces and loops must neither leak nor crash when the rendering ends.
TEST(ChatTemplate, FreesItsCycles) {
  EXPECT_EQ(
      text_of(render("{% set ns = namespace(l=none) %}{% set ns.me = [ns] %}"
                     "{% for i in [1, 2] %}{% set ns.l = loop %}{% endfor %}{{ ns.l.index }}"
                     "{% macro m() %}{{ m2() }}{% endmacro %}{% macro m2() %}x{% endmacro %}{{ m() }}")),
      "2x");
}

TEST(ChatTemplate, LongMessagesAreFast) {
  const std::string content(4 << 20, 'x');
  const auto prompt = ChatTemplate::chatml().render({.messages = one_message(content)});
  ASSERT_TRUE(prompt.ok()) << prompt.error().message;
  EXPECT_GT(prompt->text.size(), content.size());
}

}  // namespace
}  // namespace kvasir::text
