#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/key_fixture.h"

namespace kvasir::api {

class OllamaTest : public KeyedApiTest {
 protected:
  using KeyedApiTest::KeyedApiTest;

  static std::string chat(const std::string& more = "") {
    return R"({"model": "m", "messages": [{"role": "user", "content": "hi"}])" + more + "}";
  }
  // Returns the JSON of a stream's lines.
  static std::vector<json::value> lines_of(const std::string& stream) {
    std::vector<json::value> lines;
    std::size_t at = 0;
    while (at < stream.size()) {
      const std::size_t end = stream.find('\n', at);
      EXPECT_NE(end, std::string::npos) << "half a line: " << stream.substr(at);
      if (end == std::string::npos) break;
      lines.push_back(base::parse_json(stream.substr(at, end - at)).value());
      at = end + 1;
    }
    return lines;
  }
  static std::string text_of(const json::value& line) {
    return std::string(line.at("message").at("content").as_string());
  }
  std::string prompt_of(std::size_t number) {
    return router::byte_tokenizer()->decode(worker_->wait_for(number).request.prompt,
                                            text::SpecialOutput::keep);
  }
};

}  // namespace kvasir::api
