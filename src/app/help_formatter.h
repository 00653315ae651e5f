#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace kvasir::app {

// Formats help like manual pages: usage first, then the description, then the options wrapped to 100 columns.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace kvasir::app
