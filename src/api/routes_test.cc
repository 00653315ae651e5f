#include "api/routes.h"

#include <gtest/gtest.h>

#include <set>

#include "api/api_fixture.h"
#include "api/http/json/object_schema.h"
#include "api/operations/openapi.h"

namespace kvasir::api {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

Parameters match(std::string_view pattern, std::string_view path, bool takes_slashes = false) {
  Route route{};
  route.path = pattern;
  route.takes_slashes = takes_slashes;
  Parameters parameters;
  for (const auto& [name, value] : path_parameters(route, path)) parameters.emplace_back(name, value);
  return parameters;
}

TEST(Routes, PathParameters) {
  EXPECT_EQ(match("/v1/conversations/{id}/messages", "/v1/conversations/c-1/messages"),
            (Parameters{{"id", "c-1"}}));
  EXPECT_EQ(match("/a/{x}/{y}", "/a/1/2"), (Parameters{{"x", "1"}, {"y", "2"}}));
  EXPECT_EQ(match("/m/{name}", "/m/org/model", true), (Parameters{{"name", "org/model"}}));
}

TEST(Routes, FindsByMethodAndShape) {
  EXPECT_EQ((*find_route("GET", "/v1/models"))->name(), "/v1/models");
  EXPECT_EQ((*find_route("GET", "/v1/models/a/b"))->name(), "/v1/models/{model}");
  for (const char* path : {"/v1/modelsx", "/v2/models", "/v1", "", "*", "/v1/models/\xff", "/v1/chat"})
    EXPECT_EQ(find_route("GET", path).error().reason, "unknown_url") << path;
  EXPECT_EQ((*find_route("GET", "/v1/models/"))->name(), "/v1/models");
  EXPECT_EQ((*find_route("GET", "/models/a/b"))->name(), "/v1/models/{model}");
  EXPECT_EQ((*find_route("POST", "/chat/completions/"))->name(), "/v1/chat/completions");
  EXPECT_EQ(error_style("/messages"), ErrorStyle::anthropic);
  EXPECT_EQ(match("/v1/models/{model}", "/models/a/b/", true), (Parameters{{"model", "a/b"}}));
  EXPECT_EQ(find_route("DELETE", "/v1/models").error().reason, "method_not_allowed");
  // A path that has its own route is not taken for another route's parameter.
  EXPECT_EQ(methods_of("/v1/responses/input_tokens"), "POST");
  EXPECT_EQ(find_route("GET", "/v1/responses/input_tokens").error().reason, "method_not_allowed");
}

struct Wanted {
  std::int64_t limit = 20;
  std::string after;
  bool all = false;
};

constexpr Field<Wanted> kQuery[] = {
    {"limit",
     [](const json::value& v, Wanted& w) -> base::Status {
       TRY(w.limit, read_integer(v, {1, 100}));
       return base::ok();
     },
     R"({"type": "integer", "minimum": 1, "maximum": 100})"},
    {"after",
     [](const json::value& v, Wanted& w) -> base::Status {
       TRY(w.after, read_string(v));
       return base::ok();
     },
     R"({"type": "string"})"},
    {"all",
     [](const json::value& v, Wanted& w) -> base::Status {
       TRY(w.all, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean"})"},
};

TEST(Query, IsReadByTheTableThatDocumentsIt) {
  Wanted wanted;
  ASSERT_TRUE(read_query<Wanted>("limit=7&after=1%2B2+3&all=true&other=x&&=", kQuery, wanted).ok());
  EXPECT_EQ(wanted.limit, 7);
  EXPECT_EQ(wanted.after, "1+2 3");
  EXPECT_TRUE(wanted.all);
  EXPECT_EQ(read_query<Wanted>("limit=x", kQuery, wanted).error().field, "limit");
  EXPECT_EQ(read_query<Wanted>("limit=0", kQuery, wanted).error().field, "limit");
  EXPECT_EQ(read_query<Wanted>("after=%zz", kQuery, wanted).error().reason, "invalid_query");
  EXPECT_EQ(read_query<Wanted>("after=%ff", kQuery, wanted).error().reason, "invalid_query");
}

TEST(Schema, AFieldThatMayBeAbsentMayBeNull) {
  const json::object schema = ObjectSchema().add<Wanted>(kQuery).take();
  EXPECT_EQ(json::serialize(schema.at("properties").at("after")), R"({"type":["string","null"]})");
  EXPECT_FALSE(schema.contains("required"));
}

// Collects every "$ref" in `value`.
void references(const json::value& value, std::set<std::string>& found) {
  if (const json::array* array = value.if_array())
    for (const json::value& item : *array) references(item, found);
  if (const json::object* object = value.if_object())
    for (const auto& [key, item] : *object) {
      if (key == "$ref") found.insert(std::string(item.as_string()));
      references(item, found);
    }
}

TEST(Openapi, SpeaksOfEveryRouteAndNamesOnlyWhatIsThere) {
  const json::object document = openapi_document(route_groups());
  EXPECT_EQ(document.at("openapi"), "3.1.0");
  // Two answers with the same status and type are both documented.
  const json::value& turn = document.at("paths").at("/v1/conversations/{id}/messages").at("post");
  const json::value& schema =
      turn.at("responses").at("200").at("content").at("application/json").at("schema");
  EXPECT_EQ(json::serialize(schema), R"({"anyOf":[{"$ref":"#/components/schemas/ConversationAnswer"},)"
                                     R"({"$ref":"#/components/schemas/ConversationMessageList"}]})");
  std::set<std::string> ids;
  std::size_t num_routes = 0;
  for (const auto& [path, methods] : document.at("paths").as_object())
    for (const auto& [method, operation] : methods.as_object()) {
      ++num_routes;
      EXPECT_TRUE(ids.insert(std::string(operation.at("operationId").as_string())).second) << path;
      EXPECT_FALSE(operation.at("summary").as_string().empty());
      EXPECT_TRUE(operation.at("responses").as_object().contains("default"));
    }
  std::size_t wanted = 0;
  for (const RouteGroup& group : route_groups()) wanted += group.routes.size();
  EXPECT_EQ(num_routes, wanted);
  std::set<std::string> found;
  references(document, found);
  const json::object& schemas = document.at("components").at("schemas").as_object();
  for (const std::string& reference : found)
    EXPECT_TRUE(schemas.contains(reference.substr(std::string("#/components/schemas/").size()))) << reference;
}

TEST_F(ApiTest, ServesTheDocumentAndItsPage) {
  serve();
  const Reply document = get("/openapi.json");
  EXPECT_EQ(document.status, 200);
  EXPECT_EQ(document.body.at("info").at("title"), "Kvasir");
  const Reply page = get("/docs");
  EXPECT_EQ(page.status, 200);
  EXPECT_TRUE(page.headers.at("content-type").starts_with("text/html"));
  EXPECT_NE(page.text.find("fetch(\"/openapi.json\")"), std::string::npos);
  EXPECT_EQ(page.text.find("https://"), std::string::npos);
}

// The schema's bounds equal the reader's: a value one step outside is refused, and the bound is accepted.
TEST_F(ApiTest, BoundsOfTheDocumentAreThoseOfTheReaders) {
  serve(says("x"));
  for (const char* path : {"/v1/chat/completions", "/v1/completions"}) {
    const json::value body =
        openapi_document(route_groups()).at("paths").at(path).at("post").at("requestBody");
    const json::value& schema = body.at("content").at("application/json").at("schema");
    for (const auto& [name, property] : schema.at("properties").as_object()) {
      for (const auto& [bound, outside] : {std::pair("minimum", -1.0), std::pair("maximum", 1.0)}) {
        const json::value* limit = property.as_object().if_contains(bound);
        if (limit == nullptr || name == "seed") continue;
        const double value = limit->to_number<double>();
        const auto ask = [&](double number) {
          json::object request{{"model", "m"}, {"prompt", "hi"}, {"logprobs", false}};
          if (std::string_view(path).find("chat") != std::string_view::npos) {
            request["messages"] = json::array{json::object{{"role", "user"}, {"content", "hi"}}};
            request["logprobs"] = true;
          }
          request[name] = number;
          return post(path, base::json_text(request));
        };
        const Reply refused = ask(value + outside);
        EXPECT_EQ(refused.status, 400) << path << " " << name << " " << bound;
        EXPECT_EQ(refused.body.at("error").at("param"), json::value(name)) << name;
        // These fields are also bounded by other fields, by the context or by the queue.
        if (name == "min_tokens" || name == "n" || name == "best_of" || name == "max_tokens") continue;
        EXPECT_EQ(ask(value).status, 200) << path << " " << name << " " << bound;
      }
    }
  }
}

TEST_F(ApiTest, MetricsKnowThePatternAndNotThePath) {
  serve();
  get("/v1/models/some/thing");
  const std::string text = get("/metrics").text;
  EXPECT_NE(text.find("endpoint=\"/v1/models/{model}\",status=\"404\"} 1"), std::string::npos);
  EXPECT_EQ(text.find("some/thing"), std::string::npos);
}

TEST(Routes, SayHowErrorsAreWrittenAndWhoMayAsk) {
  EXPECT_EQ(error_style("/v1/messages"), ErrorStyle::anthropic);
  EXPECT_EQ(error_style("/v1/messages/nothing"), ErrorStyle::anthropic);
  EXPECT_EQ(error_style("/v1/messages_of_others"), ErrorStyle::openai);
  EXPECT_EQ(error_style("/v1/responses/resp_1"), ErrorStyle::responses);
  EXPECT_EQ(error_style("/nothing"), ErrorStyle::openai);
  EXPECT_EQ(find_route("GET", "/health/live").value()->scope, Scope::anyone);
  EXPECT_EQ(find_route("GET", "/metrics").value()->scope, Scope::metrics);
  EXPECT_EQ(find_route("POST", "/v1/chat/completions").value()->scope, Scope::tenant);
}

}  // namespace
}  // namespace kvasir::api
