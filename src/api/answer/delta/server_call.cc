#include "api/answer/delta/server_call.h"

#include <cmath>

namespace kvasir::api {

namespace json = boost::json;

namespace {

std::string_view status_name(ServerCall::Status status) {
  switch (status) {
    case ServerCall::Status::completed:
      return "completed";
    case ServerCall::Status::failed:
      return "failed";
    case ServerCall::Status::in_progress:
      break;
  }
  return "in_progress";
}

}  // namespace

json::object server_call_object(const ServerCall& call) {
  json::object object{{"id", call.id},
                      {"round", call.round},
                      {"name", call.name},
                      {"arguments", call.arguments},
                      {"status", status_name(call.status)}};
  object["output"] = call.ended() ? json::value(call.output) : json::value(nullptr);
  object["duration_ms"] = call.ended() ? json::value(std::round(call.duration_ms)) : json::value(nullptr);
  return object;
}

json::object function_call_object(const ServerCall& call) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", json::object{{"name", call.name}, {"arguments", call.arguments}}}};
}

}  // namespace kvasir::api
