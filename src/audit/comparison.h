#pragma once

#include <cstddef>
#include <vector>

#include "base/ids.h"
#include "router/answer_listener.h"
#include "wire/generate_request.h"
#include "wire/token_event.h"

namespace kvasir::audit {

// In place of a token: the answer ends there.
inline constexpr TokenId kEnd = -1;

// A place of an answer where another worker says something else after the same beginning.
struct Dispute {
  std::size_t at = 0;  // tokens of the answer before it
  TokenId given = kEnd;
  TokenId other = kEnd;
};

// The answer's request once more, for a worker that nobody else needs: to be continued after the first
// `num_known` tokens of the answer, with so many more at most.
wire::GenerateRequest request_after(const router::GivenAnswer& answer, std::size_t num_known, int num_more);

// Compares the beginning of an answer with what another worker says to the same request. After each token on
// which the two do not agree, the other one is asked to go on with the answer's, so that one of them counts
// once. Only decides; docs/decisions/027 says what counts as a disagreement and why.
class Comparison {
 public:
  static constexpr std::size_t kMostTokens = 256;
  // Logarithms of two probabilities that kernels may put in either order.
  static constexpr float kNear = 0.5F;

  // The answer outlives it.
  explicit Comparison(const router::GivenAnswer& answer);

  // What the other worker is asked next.
  wire::GenerateRequest request() const;
  enum class Then { more, ask_again, over };
  // What it says. `more`: another event follows; `ask_again`: with another request.
  Then take(const wire::TokenEvent& event);

  bool disagrees() const;
  const std::vector<Dispute>& disputes() const { return disputes_; }

 private:
  Then dispute(TokenId other);
  bool is_far(const wire::Token& other) const;
  std::size_t most_disputes() const { return 1 + num_compared_ / 16; }

  const router::GivenAnswer& answer_;
  const bool is_greedy_;            // the likeliest token is the right one
  const std::size_t num_compared_;  // tokens
  const bool compares_end_;         // whether it ends after them is compared, too
  std::size_t at_ = 0;
  bool is_far_ = false;
  std::vector<Dispute> disputes_;
};

// What a third worker says to disputes: it goes on after the same beginning.
class Vote {
 public:
  explicit Vote(const std::vector<Dispute>& disputes) : disputes_(disputes) {}

  // The dispute that it is asked next; null: it was asked of all.
  const Dispute* next() const { return at_ < disputes_.size() ? &disputes_[at_] : nullptr; }
  // Its token, or kEnd.
  void take(TokenId said);

  enum class Wrong { given, other, undecided };
  // Three times as many votes decide.
  Wrong result() const;

 private:
  const std::vector<Dispute>& disputes_;
  std::size_t at_ = 0;
  int num_for_given_ = 0;
  int num_for_other_ = 0;
};

}  // namespace kvasir::audit
