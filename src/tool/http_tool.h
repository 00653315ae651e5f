#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "config/tool_config.h"
#include "net/url.h"
#include "tool/tool.h"

namespace kvasir::tool {

// A tool at an HTTP address. The arguments are posted as a JSON object, and the body of the answer is the
// result.
class HttpTool final : public Source {
 public:
  static base::Result<std::unique_ptr<Source>> make(const config::ToolConfig& row, Surroundings surroundings);

  base::Result<std::vector<Definition>> offers() const override { return std::vector{definition_}; }
  boost::asio::awaitable<Outcome> call(Call call, Lifeline& line) override;

 private:
  HttpTool(const config::ToolConfig& row, net::Url url, Definition definition, Surroundings surroundings);

  const net::Url url_;
  const config::ToolConfig::Pairs headers_;
  const std::size_t max_output_bytes_;
  const Definition definition_;
  const Surroundings surroundings_;
};

}  // namespace kvasir::tool
