#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "grammar/json_schema.h"
#include "grammar/pushdown.h"

namespace kvasir::grammar {

// A compiled schema, or the error if it could not be compiled.
class Schema {
 public:
  explicit Schema(std::string_view text, JsonSchemaOptions options = {.max_whitespace = 2}) {
    auto schema = base::parse_json(text);
    CHECK(schema.ok(), "{}", schema.error().message);
    auto grammar = grammar_of_json_schema(*schema, options);
    if (!grammar.ok()) {
      error_ = grammar.error();
      return;
    }
    auto automaton = Automaton::build(*grammar);
    if (automaton.ok()) {
      pushdown_ = std::make_unique<Pushdown>(*automaton, Pushdown::Limits{});
    } else {
      error_ = automaton.error();
    }
  }

  bool takes(std::string_view text) {
    CHECK(pushdown_ != nullptr, "{}", error_.message);
    pushdown_->set_work(10'000'000);
    ConfigId c = pushdown_->start();
    for (const char b : text) {
      c = pushdown_->step(c, static_cast<std::uint8_t>(b));
      if (c == Pushdown::kDead) return false;
    }
    return pushdown_->is_complete(c);
  }
  const base::Error& error() const {
    CHECK(pushdown_ == nullptr);
    return error_;
  }

 private:
  std::unique_ptr<Pushdown> pushdown_;
  base::Error error_;
};

}  // namespace kvasir::grammar
