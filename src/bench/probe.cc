#include "bench/probe.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/json.h"
#include "bench/answer_event.h"
#include "bench/answer_reader.h"
#include "net/http_client.h"
#include "net/sse_reader.h"

namespace kvasir::bench {

namespace json = boost::json;
using base::ErrorCode;

namespace {

constexpr std::size_t kMaxBodyBytes = 4 * 1024 * 1024;
constexpr int kFewWords = 16;
constexpr int kManyWords = 144;

class Prober {
 public:
  Prober(Target& target, std::stop_token stop)
      : target_(target), stop_(std::move(stop)), client_(blocking(target.origin->options)) {}

  base::Result<Probe> run() {
    TRY_OK(choose_model());
    TRY_OK(choose_dialect());
    TRY_OK(measure_scale());
    return std::move(probe_);
  }

 private:
  struct Answer {
    int status = 0;
    std::string words;  // the server's message, if it refused the request
    bool finished = false;
    std::optional<Usage> usage;
  };

  static net::HttpClientOptions blocking(net::HttpClientOptions options) {
    options.keep_alive = false;
    return options;
  }

  base::Status choose_model() {
    const auto answer = client_.text(target_.get("/v1/models"), kMaxBodyBytes, stop_);
    if (!answer.ok()) return answer.error();
    std::vector<std::string> names;
    const auto parsed = base::parse_json(answer->body);
    const json::value* data =
        parsed.ok() && parsed->is_object() ? parsed->as_object().if_contains("data") : nullptr;
    if (answer->reply.status == 200 && data != nullptr && data->is_array())
      for (const json::value& one : data->as_array())
        if (const json::object* object = one.if_object())
          if (const json::value* id = object->if_contains("id"); id != nullptr && id->is_string())
            names.emplace_back(id->as_string());
    if (!target_.model.empty()) return base::ok();
    if (answer->reply.status == 401 || answer->reply.status == 403)
      return base::error(ErrorCode::invalid_argument, "--api-key: the server answered {}: {}",
                         answer->reply.status, error_text(answer->body));
    if (names.empty())
      return base::error(ErrorCode::not_found, "the server lists no models; name one with --model");
    target_.model = names.front();
    if (names.size() > 1)
      probe_.notes.push_back(
          fmt::format("model {}, the first of {}; --model names another", names.front(), names.size()));
    return base::ok();
  }

  base::Result<Answer> ask(int num_words, std::uint64_t seed) {
    Random random(seed);
    const std::vector<Message> messages{{"user", random_words(random, num_words)}};
    Answer answer;
    std::string refusal;
    net::SseReader events(kMaxBodyBytes, [&](std::string_view data) -> base::Status {
      TRY(const AnswerEvent event, parse_answer_event(data));
      if (!event.error.empty()) return base::error(ErrorCode::unavailable, "{}", event.error);
      if (event.usage) answer.usage = event.usage;
      answer.finished = answer.finished || event.done || !event.finish_reason.empty();
      return base::ok();
    });
    net::ReplySink sink;
    sink.head = [&](const net::HttpReply& reply) {
      answer.status = reply.status;
      return base::ok();
    };
    sink.body = [&](std::string_view bytes) -> base::Status {
      if (answer.status == 200) return events.feed(bytes);
      refusal += bytes.substr(0, kMaxBodyBytes - std::min(kMaxBodyBytes, refusal.size()));
      return base::ok();
    };
    TRY_OK(client_.call(target_.ask(messages, 1), sink, stop_));
    answer.words = error_text(refusal);
    return answer;
  }

  base::Status choose_dialect() {
    constexpr std::array<Dialect, 6> kDialects = {{{true, true, false},
                                                   {true, false, false},
                                                   {false, true, false},
                                                   {false, true, true},
                                                   {false, false, false},
                                                   {false, false, true}}};
    std::string first_words;
    int first_status = 0;
    for (std::size_t i = 0; i < kDialects.size(); ++i) {
      target_.dialect = kDialects[i];
      TRY(const Answer answer, ask(kFewWords, target_seed(i)));
      if (answer.status == 200) {
        if (!answer.finished)
          return base::error(ErrorCode::unsupported,
                             "the answer of {} is no event stream of the OpenAI API: no end was seen",
                             target_.base_url());
        probe_.counts_tokens = answer.usage.has_value();
        return note_dialect();
      }
      if (i == 0) {
        first_words = answer.words;
        first_status = answer.status;
      }
      if (answer.status != 400 && answer.status != 422) break;
    }
    return base::error(ErrorCode::unavailable, "the server answered {}: {}", first_status, first_words);
  }

  base::Status note_dialect() {
    if (!target_.dialect.ignore_eos)
      probe_.notes.emplace_back("the server does not know ignore_eos: answers may end early");
    if (!probe_.counts_tokens)
      probe_.notes.emplace_back("the server sends no usage: output tokens are counted as chunks");
    return base::ok();
  }

  base::Status measure_scale() {
    if (!probe_.counts_tokens) return base::ok();
    TRY(const Answer few, ask(kFewWords, target_seed(100)));
    // A small context may not have room for the longer prompt.
    for (const int num_words : {kManyWords, kManyWords / 3}) {
      TRY(const Answer many, ask(num_words, target_seed(101)));
      if (!few.usage || !many.usage) continue;
      const double slope =
          static_cast<double>(many.usage->prompt_tokens - few.usage->prompt_tokens) / (num_words - kFewWords);
      // A made-up word is one token or a few bytes. Any other slope means that the server counts tokens in an
      // unusual way.
      if (slope < 0.5 || slope > 8) continue;
      probe_.scale.tokens_per_word = slope;
      probe_.scale.overhead_tokens = std::max(0.0, few.usage->prompt_tokens - slope * kFewWords);
      break;
    }
    return base::ok();
  }

  static std::uint64_t target_seed(std::size_t number) { return 0x70726f6265u + number; }

  Target& target_;
  std::stop_token stop_;
  net::HttpClient client_;
  Probe probe_;
};

}  // namespace

base::Result<Probe> probe(Target& target, std::stop_token stop) {
  return Prober(target, std::move(stop)).run();
}

}  // namespace kvasir::bench
