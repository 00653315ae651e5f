#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/tests_dir_test.h"
#include "config/environment.h"
#include "config/load.h"
#include "config/settings.h"

namespace kvasir::config {
namespace {

using Variables = std::map<std::string, std::string>;

Environment of(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

FlagValues parse(const std::string& line, const std::vector<std::string>& only = {}) {
  FlagValues flags;
  CLI::App app;
  add_flags(app, flags, only);
  app.parse(line);
  return flags;
}

std::string message_of(const base::Result<Settings>& result) {
  return result.ok() ? "no error" : result.error().message;
}

class ConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / fmt::format("kvasir_config_test_{}.toml", getpid());
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string file(const std::string& text) {
    std::ofstream(path_) << text;
    return path_.string();
  }
  base::Result<Settings> load_file(const std::string& text) {
    FlagValues flags;
    flags.config_path = file(text);
    return load(flags, of({}));
  }

  std::filesystem::path path_;
};

TEST_F(ConfigTest, DefaultsWhereNobodySaysAnything) {
  const auto settings = load({}, of({}));
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->host, "127.0.0.1");
  EXPECT_EQ(settings->port, 8080);
  EXPECT_EQ(settings->model, (StringList{"smollm2", "qwen2.5-coder"}));
  EXPECT_EQ(settings->max_body_bytes, 16777216);
  EXPECT_TRUE(settings->prefix_cache);
}

TEST_F(ConfigTest, FlagBeatsEnvironmentBeatsFile) {
  FlagValues flags = parse("--port 3");
  flags.config_path = file("port = 1\nmax_queue = 1\nhost = \"file\"\n");
  const auto settings = load(flags, of({{"KVASIR_PORT", "2"}, {"KVASIR_MAX_QUEUE", "2"}}));
  ASSERT_TRUE(settings.ok()) << message_of(settings);
  EXPECT_EQ(settings->port, 3);
  EXPECT_EQ(settings->max_queue, 2);
  EXPECT_EQ(settings->host, "file");
}

TEST_F(ConfigTest, EveryTypeFromEverySource) {
  const auto from_file = load_file(
      "model = [\"a\", \"b\"]\noffline = true\nheader_timeout_s = 0.5\nbody_timeout_s = 7\n"
      "max_body_bytes = 4000000000\nkv_type = \"bf16\"\n");
  ASSERT_TRUE(from_file.ok()) << message_of(from_file);
  EXPECT_EQ(from_file->model, (StringList{"a", "b"}));
  EXPECT_TRUE(from_file->offline);
  EXPECT_EQ(from_file->header_timeout_s, 0.5);
  EXPECT_EQ(from_file->body_timeout_s, 7);
  EXPECT_EQ(from_file->max_body_bytes, 4'000'000'000);
  EXPECT_EQ(from_file->kv_type, "bf16");

  const auto from_environment = load(
      {}, of({{"KVASIR_MODEL", "a,b"}, {"KVASIR_PREFIX_CACHE", "off"}, {"KVASIR_HEADER_TIMEOUT_S", "0.5"}}));
  ASSERT_TRUE(from_environment.ok()) << message_of(from_environment);
  EXPECT_EQ(from_environment->model, (StringList{"a", "b"}));
  EXPECT_FALSE(from_environment->prefix_cache);
  EXPECT_EQ(from_environment->header_timeout_s, 0.5);

  const auto from_flags =
      load(parse("--model a --offline --no-prefix-cache --model b --header-timeout-s 0.5 --port 1 --port 2"),
           of({}));
  ASSERT_TRUE(from_flags.ok()) << message_of(from_flags);
  EXPECT_EQ(from_flags->model, (StringList{"a", "b"}));
  EXPECT_TRUE(from_flags->offline);
  EXPECT_FALSE(from_flags->prefix_cache);
  EXPECT_EQ(from_flags->header_timeout_s, 0.5);
  EXPECT_EQ(from_flags->port, 2);
}

TEST_F(ConfigTest, OpenTelemetrysVariablesAreTheWeakest) {
  const Variables variables{{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4318"},
                            {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:4318"},
                            {"OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20abc, x=1"},
                            {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"},
                            {"OTEL_TRACES_SAMPLER", "parentbased_traceidratio"},
                            {"OTEL_TRACES_SAMPLER_ARG", "0.25"}};
  const auto settings = load(parse("--otlp-protocol http/protobuf"), of(variables));
  ASSERT_TRUE(settings.ok()) << message_of(settings);
  EXPECT_EQ(settings->otlp_endpoint, "http://traces:4318");
  EXPECT_EQ(settings->otlp_headers, (StringList{"authorization=Basic abc", "x=1"}));
  EXPECT_EQ(settings->otlp_protocol, "http/protobuf");
  EXPECT_EQ(settings->trace_sample_rate, 0.25);
  EXPECT_EQ(load({}, of({{"OTEL_TRACES_SAMPLER", "always_off"}}))->trace_sample_rate, 0);
  EXPECT_EQ(message_of(load({}, of({{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}}))),
            "OTEL_EXPORTER_OTLP_PROTOCOL: must be one of http/protobuf, http/json, and is 'grpc'");
  Variables off = variables;
  off["OTEL_SDK_DISABLED"] = "true";
  EXPECT_EQ(load({}, of(off))->otlp_endpoint, "");
}

TEST_F(ConfigTest, SecretsAreNeverShown) {
  Settings settings;
  settings.otlp_headers = {"x-key=hush"};
  EXPECT_EQ(settings_toml(settings).find("hush"), std::string::npos);
  EXPECT_EQ(message_of(load(parse("--otlp-headers hush"), of({}))), "--otlp-headers: must be NAME=VALUE");
}

TEST_F(ConfigTest, ErrorsNameWhereTheValueStands) {
  EXPECT_EQ(message_of(load(parse("--port 70000"), of({}))), "--port: must be from 0 to 65535, and is 70000");
  EXPECT_EQ(message_of(load(parse("--port 80x"), of({}))), "--port: expected a whole number, and got '80x'");
  EXPECT_EQ(message_of(load(parse("--port 99999999999"), of({}))), "--port: '99999999999' is out of range");
  EXPECT_EQ(message_of(load({}, of({{"KVASIR_KV_TYPE", "f8"}}))),
            "KVASIR_KV_TYPE: must be one of f32, f16, bf16, int8, and is 'f8'");
  EXPECT_EQ(message_of(load({}, of({{"KVASIR_OFFLINE", "maybe"}}))),
            "KVASIR_OFFLINE: expected true or false, and got 'maybe'");
  EXPECT_EQ(message_of(load({}, of({{"KVASIR_IDLE_TIMEOUT_S", "nan"}}))),
            "KVASIR_IDLE_TIMEOUT_S: must be from 0.001 to 86400, and is nan");
  EXPECT_EQ(message_of(load({}, of({{"KVASIR_MODEL", ","}}))), "KVASIR_MODEL: must not be empty");
  EXPECT_EQ(message_of(load({}, of({{"KVASIR_PORT", ""}}))),
            "KVASIR_PORT: expected a whole number, and got ''");
  EXPECT_EQ(message_of(load_file("\n\nport = 70000\n")),
            path_.string() + ":3: port: must be from 0 to 65535, and is 70000");
}

TEST_F(ConfigTest, ACertificateAndItsKeyGoTogether) {
  EXPECT_EQ(message_of(load(parse("--tls-cert c.pem"), of({}))),
            "tls_cert and tls_key go together: tls_key is missing");
  EXPECT_EQ(message_of(load({}, of({{"KVASIR_TLS_KEY", "k.pem"}}))),
            "tls_cert and tls_key go together: tls_cert is missing");
  const auto both = load(parse("--tls-cert c.pem"), of({{"KVASIR_TLS_KEY", "k.pem"}}));
  ASSERT_TRUE(both.ok()) << message_of(both);
  EXPECT_EQ(both->tls_cert, "c.pem");
  EXPECT_EQ(both->tls_key, "k.pem");
}

TEST_F(ConfigTest, AFileIsCheckedAgainstTheTable) {
  const std::string at = path_.string();
  EXPECT_EQ(message_of(load_file("host = \"h\"\nmax_que = 3\n")),
            at + ":2: 'max_que' is not a setting; did you mean 'max_queue'?");
  EXPECT_TRUE(
      message_of(load_file("[server]\nport = 1\n")).starts_with(at + ":1: 'server' is not a setting"));
  EXPECT_EQ(message_of(load_file("port = \"80\"\n")), at + ":1: port: expected a whole number");
  EXPECT_EQ(message_of(load_file("model = [1]\n")), at + ":1: model: expected an array of strings");
  EXPECT_EQ(message_of(load_file("host = 1\n")), at + ":1: host: expected a string");
  EXPECT_TRUE(message_of(load_file("port = 1\nport = \n")).starts_with(at + ":2: "));
  EXPECT_EQ(message_of(load_file("port = 1\n")), "no error");
  FlagValues missing;
  missing.config_path = at + ".none";
  EXPECT_EQ(message_of(load(missing, of({}))), "cannot read the settings file " + at + ".none");
}

TEST_F(ConfigTest, TheFileMayBeNamedByTheEnvironment) {
  const auto settings = load({}, of({{"KVASIR_CONFIG", file("port = 9\n")}}));
  ASSERT_TRUE(settings.ok()) << message_of(settings);
  EXPECT_EQ(settings->port, 9);
}

TEST_F(ConfigTest, ASwitchTakesAWordToo) {
  const auto with = [&](const std::string& flags) { return load(parse(flags), of({})); };
  EXPECT_TRUE(with("--offline=yes")->offline);
  EXPECT_FALSE(with("--offline=false")->offline);
  EXPECT_FALSE(with("--offline --no-offline")->offline);
  EXPECT_TRUE(with("--no-offline --offline --offline")->offline);
  EXPECT_EQ(message_of(with("--offline=maybe")), "--offline: expected true or false, and got 'maybe'");
  EXPECT_EQ(message_of(with("--no-prefix-cache=maybe")),
            "--prefix-cache: expected true or false, and got 'maybe'");
}

TEST_F(ConfigTest, ACommandMayTakeAFewFlagsOnly) {
  EXPECT_EQ(parse("--offline", {"offline", "model_dir"}).values.size(), 1u);
  EXPECT_THROW(parse("--port 1", {"offline", "model_dir"}), CLI::ParseError);
}

TEST_F(ConfigTest, ModelsLiveWhereTheSettingSays) {
  Settings settings;
  EXPECT_EQ(model_dir(settings), default_model_dir());
  settings.model_dir = "/m";
  EXPECT_EQ(model_dir(settings), "/m");
  EXPECT_EQ(tokenizer_dir(settings), "/m/.tokenizers");
}

TEST_F(ConfigTest, TheDocumentedSettingsAreTheTable) {
  std::ifstream in(std::filesystem::path(base::kTestsDir).parent_path() / "docs" / "settings.md");
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(), settings_markdown()) << "run: kvasir settings --markdown > docs/settings.md";
}

TEST_F(ConfigTest, WhatIsWrittenAsAFileReadsBackTheSame) {
  Settings settings;
  settings.port = 1;
  settings.model = {"a", "with \"quotes\" and \\"};
  settings.public_prompts = {"Two, with a comma\nand lines.", "Another."};
  settings.model_dir = "/tab\tand newline\n";
  settings.header_timeout_s = 3;
  settings.ping_interval_s = 0.125;
  settings.offline = true;
  const auto read = load_file(settings_toml(settings));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(settings_toml(*read), settings_toml(settings));
  EXPECT_EQ(read->model, settings.model);
  EXPECT_EQ(read->public_prompts, settings.public_prompts);
  EXPECT_EQ(read->model_dir, settings.model_dir);
  EXPECT_EQ(read->ping_interval_s, settings.ping_interval_s);
}

TEST_F(ConfigTest, APublicPromptHasText) {
  const auto read = load_file("public_prompts = [\"Be kind.\", \"\"]");
  ASSERT_FALSE(read.ok());
  EXPECT_TRUE(read.error().message.ends_with("public_prompts: must not have an empty text"));
}

TEST_F(ConfigTest, ToolsAreRead) {
  const auto settings = load_file(R"(
port = 1

[[tools]]
name = "weather"
description = "Tells the weather."
url = "https://weather.invalid/now"
headers = { Authorization = "Bearer x" }
timeout_s = 5
max_output_kb = 2
[tools.parameters]
type = "object"
required = ["city"]
properties = { city = { type = "string" } }

[[tools]]
name = "sum"
description = "Adds."
url = "http://127.0.0.1:1/"
parameters = '{"type": "object"}'

[[tools]]
name = "files"
command = "files-server"
args = ["--root", "/srv"]
env = { TOKEN = "t" }

[[tools]]
name = "far"
type = "mcp"
url = "http://127.0.0.1:2/mcp"
)");
  ASSERT_TRUE(settings.ok()) << message_of(settings);
  using Kind = ToolConfig::Kind;
  const std::vector<ToolConfig>& tools = settings->tools;
  ASSERT_EQ(tools.size(), 4u);
  EXPECT_EQ(tools[0].kind, Kind::http);
  EXPECT_EQ(tools[0].parameters,
            R"({"properties":{"city":{"type":"string"}},"required":["city"],"type":"object"})");
  EXPECT_EQ(tools[0].headers, (ToolConfig::Pairs{{"Authorization", "Bearer x"}}));
  EXPECT_EQ(tools[0].timeout_s, 5);
  EXPECT_EQ(tools[0].max_output_bytes, 2048u);
  EXPECT_EQ(tools[1].parameters, R"({"type":"object"})");
  EXPECT_EQ(tools[2].kind, Kind::mcp_stdio);
  EXPECT_EQ(tools[2].args, (StringList{"--root", "/srv"}));
  EXPECT_EQ(tools[3].kind, Kind::mcp_http);
  EXPECT_EQ(settings_toml(*settings).find("Bearer"), std::string::npos);
}

TEST_F(ConfigTest, ABadToolIsNamedWithItsLine) {
  struct Case {
    const char* row;
    const char* complaint;
  };
  const Case cases[] = {
      {"url = 'http://h/'\ndescription = 'd'", "name: expected"},
      {"name = 'a b'\nurl = 'http://h/'\ndescription = 'd'", "name: expected"},
      {"name = 'a__b'\nurl = 'http://h/'\ndescription = 'd'", "name: expected"},
      {"name = 'a_'\nurl = 'http://h/'\ndescription = 'd'", "name: expected"},
      {"name = 'a'", "url: expected either this or \"command\""},
      {"name = 'a'\nurl = 'http://h/'\ncommand = 'c'", "url: expected either"},
      {"name = 'a'\nurl = 'ftp://h/'\ndescription = 'd'", "url: expected an address"},
      {"name = 'a'\nurl = 'http://h/'", "description: expected"},
      {"name = 'a'\ncommand = 'c'\ntype = 'http'", "url: expected the address"},
      {"name = 'a'\ncommand = 'c'\ntype = 'grpc'", "type: expected"},
      {"name = 'a'\ncommand = 'c'\nheaders = {}", "headers: only a tool with a url has it"},
      {"name = 'a'\ncommand = 'c'\ntimeout_s = 0", "timeout_s: expected a number from"},
      {"name = 'a'\ncommand = 'c'\ntimeout_s = 'x'", "timeout_s: expected a number from"},
      {"name = 'a'\ncommand = 'c'\nargs = [1]", "args: expected"},
      {"name = 'a'\ncommand = 'c'\nenv = {A = 1}", "env: expected"},
      {"name = 'a'\ncommand = 'c'\nsecret = 1", "'secret' is not a key of a tool"},
      {"name = 'a'\nurl = 'http://h/'\ndescription = 'd'\nparameters = '{'", "parameters: expected"},
      {"name = 'a'\nurl = 'http://h/'\ndescription = 'd'\nparameters = 3", "parameters: expected"},
      {"name = 'a'\nurl = 'http://h/'\ndescription = 'd'\nheaders = {A = \"x\\ny\"}", "headers: expected"},
  };
  for (const Case& c : cases) {
    const std::string message = message_of(load_file("port = 1\n[[tools]]\n" + std::string(c.row)));
    EXPECT_NE(message.find(fmt::format(".toml:2: tools: {}", c.complaint)), std::string::npos) << message;
  }
  EXPECT_NE(message_of(load_file("tools = 3")).find("expected [[tools]]"), std::string::npos);
  const std::string row = "[[tools]]\nname = 'a'\ncommand = 'c'\n";
  EXPECT_NE(message_of(load_file(row + row)).find(":4: tools: two are called 'a'"), std::string::npos);
}

TEST_F(ConfigTest, UpstreamsAreRead) {
  const auto settings = load_file(R"(
[[upstream]]
name = "m"
url = "http://127.0.0.1:1/v1"

[[upstream]]
name = "m"
url = "https://h/v1"
model = "theirs"
api_key_env = "KEY"
read_timeout_s = 7
max_in_flight = 3
weight = 0.5
)");
  ASSERT_TRUE(settings.ok()) << message_of(settings);
  const std::vector<UpstreamConfig>& upstreams = settings->upstreams;
  ASSERT_EQ(upstreams.size(), 2u);
  EXPECT_EQ(upstreams[0].model, "m");
  EXPECT_EQ(upstreams[0].label, "m-1");
  EXPECT_EQ(upstreams[1].label, "m-2");
  EXPECT_EQ(upstreams[1].model, "theirs");
  EXPECT_EQ(upstreams[1].api_key_env, "KEY");
  EXPECT_EQ(upstreams[1].read_timeout_s, 7);
  EXPECT_EQ(upstreams[1].max_in_flight, 3);
  EXPECT_EQ(upstreams[1].weight, 0.5);
}

TEST_F(ConfigTest, ABadUpstreamIsNamedWithItsLine) {
  const std::string good = "name = 'a'\nurl = 'http://h/v1'\n";
  const std::pair<std::string, const char*> cases[] = {
      {"url = 'http://h/v1'", "name: expected"},
      {"name = 'a'", "url: expected"},
      {"name = 'a'\nurl = 'ftp://h/'", "url: expected"},
      {"name = 'a'\nurl = 'http://me:secret@h/'", "url: expected"},
      {good + "key = 'x'", "'key' is not a key of an upstream"},
      {good + "api_key_env = 'A'\napi_key_file = 'b'", "api_key_file: expected either this"},
      {good + "max_in_flight = 0", "max_in_flight: expected a whole number"},
      {good + "max_in_flight = 1.5", "max_in_flight: expected a whole number"},
      {good + "weight = 0", "weight: expected a number"},
      {good + "read_timeout_s = nan", "read_timeout_s: expected a number"},
      {good + "health_path = 'x'", "health_path: expected"},
      {good + "max_tokens_field = 'x'", "max_tokens_field: expected"},
      {good + "model = \"a\\nb\"", "model: expected a line"},
  };
  for (const auto& [row, complaint] : cases) {
    const std::string message = message_of(load_file("port = 1\n[[upstream]]\n" + row));
    EXPECT_NE(message.find(fmt::format(".toml:2: upstream: {}", complaint)), std::string::npos) << message;
  }
  const std::string labelled = "[[upstream]]\n" + good + "label = 'l'\n";
  EXPECT_NE(message_of(load_file(labelled + labelled)).find("two are labelled 'l'"), std::string::npos);
}

TEST_F(ConfigTest, PricesAreExact) {
  const auto settings = load_file(R"(
[[prices]]
model = "m"
tier = "pro"
prompt = 0.15
cached = 0.0125
completion = 2
currency = "USD"

[[prices]]
prompt = 1e-9
currency = "EUR"
)");
  ASSERT_TRUE(settings.ok()) << message_of(settings);
  const std::vector<PriceConfig>& prices = settings->prices;
  ASSERT_EQ(prices.size(), 2u);
  EXPECT_EQ(prices[0].model, "m");
  EXPECT_EQ(prices[0].tier, "pro");
  EXPECT_EQ(prices[0].prompt_nano, 150'000'000);
  EXPECT_EQ(prices[0].cached_nano, 12'500'000);
  EXPECT_EQ(prices[0].completion_nano, 2'000'000'000);
  EXPECT_EQ(prices[0].currency, "USD");
  EXPECT_EQ(prices[1].model, "");
  EXPECT_EQ(prices[1].cached_nano, 1) << "a cached token costs as much as any, unless it is said";
}

TEST_F(ConfigTest, AWrongPriceIsNamedWithItsLine) {
  struct Case {
    const char* row;
    const char* complaint;
  };
  for (const Case& c : {Case{"prompt = 1", "currency: expected a name"},
                        Case{"currency = 'USD'\ncompletion = 1", "prompt: expected the price"},
                        Case{"currency = 'USD'\nprompt = '1'", "prompt: expected a price"},
                        Case{"currency = 'USD'\nprompt = -1", "prompt: expected a price"},
                        Case{"currency = 'USD'\nprompt = nan", "prompt: expected a price"},
                        Case{"currency = 'USD'\nprompt = 1e6", "prompt: expected a price"},
                        Case{"currency = 'USD'\nprompt = 1\nmodel = ''", "model: expected a string"},
                        Case{"currency = 'USD'\nprompts = 1", "'prompts' is not a key of a price"}}) {
    const std::string message = message_of(load_file("port = 1\n[[prices]]\n" + std::string(c.row)));
    EXPECT_NE(message.find(fmt::format(".toml:2: prices: {}", c.complaint)), std::string::npos) << message;
  }
  EXPECT_NE(message_of(load_file("prices = 3")).find("expected [[prices]]"), std::string::npos);
  const std::string row = "[[prices]]\nmodel = 'm'\nprompt = 1\ncurrency = 'USD'\n";
  EXPECT_NE(message_of(load_file(row + row)).find(":5: prices: two are of model 'm' and tier 'any'"),
            std::string::npos);
}

}  // namespace
}  // namespace kvasir::config
