#include "app/help_formatter.h"

#include <sstream>

namespace kvasir::app {

namespace {

constexpr std::size_t kColumn = 30;
constexpr std::size_t kWidth = 100;

std::string wrapped(const std::string& text, std::size_t width) {
  std::istringstream words(text);
  std::string lines;
  std::size_t used = 0;
  for (std::string word; words >> word;) {
    if (used > 0 && used + 1 + word.size() > width) {
      lines += '\n';
      used = 0;
    } else if (used > 0) {
      lines += ' ';
      used++;
    }
    lines += word;
    used += word.size();
  }
  return lines;
}

}  // namespace

HelpFormatter::HelpFormatter() {
  column_width(kColumn);
  label("OPTIONS", "OPTION...");
  label("SUBCOMMAND", "COMMAND");
  label("Positionals", "Arguments");
  label("REQUIRED", "");
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  if (mode == CLI::AppFormatMode::Sub) return make_expanded(app);
  const std::string footer = make_footer(app);
  return make_usage(app, name) + "\n" + make_description(app) + make_positionals(app) +
         make_groups(app, mode) + make_subcommands(app, mode) + (footer.empty() ? "" : "\n" + footer);
}

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
  std::string name = option->get_name(is_positional, true);
  const std::string_view negation = "{false}";
  for (std::size_t at = name.find(negation); at != std::string::npos; at = name.find(negation))
    name.erase(at, negation.size());
  for (std::size_t at = name.find(",-"); at != std::string::npos; at = name.find(",-", at + 2))
    name.insert(at + 1, " ");
  return name;
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return "";
  // The type's name is followed by the allowed values, which are left out here. Errors show them.
  const std::string type = option->get_type_name();
  std::string opts = " " + type.substr(0, type.find(':'));
  if (!option->get_default_str().empty()) opts += "=" + option->get_default_str();
  if (!option->get_envname().empty()) opts += " ($" + option->get_envname() + ")";
  return opts;
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  return wrapped(option->get_description(), kWidth - kColumn);
}

}  // namespace kvasir::app
