#include "api/answer/shape/custom_input.h"

namespace kvasir::api {

namespace json = boost::json;

json::object custom_arguments(std::string_view input) {
  return {{kCustomInput, input}};
}

std::string custom_input(std::string_view arguments) {
  const auto value = base::parse_json(arguments);
  const json::value* input =
      value.ok() && value->is_object() ? value->get_object().if_contains(kCustomInput) : nullptr;
  return input != nullptr && input->is_string() ? std::string(input->get_string()) : std::string();
}

}  // namespace kvasir::api
