#pragma once

#include <cstddef>
#include <vector>

#include "base/ids.h"
#include "router/answer_listener.h"
#include "wire/generate_request.h"
#include "wire/token_event.h"

namespace kvasir::audit {

// Stands for a token where the answer ends.
inline constexpr TokenId kEnd = -1;

// A place where another worker continues the same beginning differently.
struct Dispute {
  std::size_t at = 0;  // tokens of the answer before this place
  TokenId given = kEnd;
  TokenId other = kEnd;
};

// Makes a request, of lowest priority, to continue the first `num_known` tokens of the answer by at most
// `num_more` tokens.
wire::GenerateRequest request_after(const router::GivenAnswer& answer, std::size_t num_known, int num_more);

// Compares the beginning of an answer with another worker's answer to the same request. After each token on
// which they differ, the other worker is asked again to continue from the answer's token, so that one
// difference counts once. Only decides; docs/decisions/027 says what counts as a disagreement and why.
class Comparison {
 public:
  static constexpr std::size_t kMostTokens = 256;
  // Kernels may swap two tokens whose logprobs differ by no more than this.
  static constexpr float kNear = 0.5F;

  // The answer outlives the comparison.
  explicit Comparison(const router::GivenAnswer& answer);

  // The next request to the other worker.
  wire::GenerateRequest request() const;
  enum class Then { more, ask_again, over };
  // Takes an event of the other worker. `more`: the next event is needed; `ask_again`: a new request is
  // needed; `over`: the comparison is complete.
  Then take(const wire::TokenEvent& event);

  bool disagrees() const;
  const std::vector<Dispute>& disputes() const { return disputes_; }

 private:
  Then dispute(TokenId other);
  bool is_far(const wire::Token& other) const;
  std::size_t most_disputes() const { return 1 + num_compared_ / 16; }

  const router::GivenAnswer& answer_;
  const bool is_greedy_;            // whether the likeliest token is the right one
  const std::size_t num_compared_;  // number of tokens to compare
  const bool compares_end_;         // whether the end after these tokens is compared, too
  std::size_t at_ = 0;
  bool is_far_ = false;
  std::vector<Dispute> disputes_;
};

// A third worker's opinion on the disputes: how it continues the same beginnings.
class Vote {
 public:
  explicit Vote(const std::vector<Dispute>& disputes) : disputes_(disputes) {}

  // The next dispute to ask about; null: there are no more.
  const Dispute* next() const { return at_ < disputes_.size() ? &disputes_[at_] : nullptr; }
  // Takes the third worker's token, or kEnd.
  void take(TokenId said);

  enum class Wrong { given, other, undecided };
  // Decided if one side has at least three times as many votes as the other.
  Wrong result() const;

 private:
  const std::vector<Dispute>& disputes_;
  std::size_t at_ = 0;
  int num_for_given_ = 0;
  int num_for_other_ = 0;
};

}  // namespace kvasir::audit
