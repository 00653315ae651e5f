#pragma once

namespace kvasir::api {

// The times that a request was promised or predicted when it was admitted. 0 means: none.
struct Promise {
  double ttft_s = 0;            // the first token should come within this time
  double tpot_s = 0;            // each further token of an answer should take this long at most, on average
  double predicted_ttft_s = 0;  // when the first token was expected
};

}  // namespace kvasir::api
