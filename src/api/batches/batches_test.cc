#include <gtest/gtest.h>

#include "api/api_fixture.h"
#include "api/batches/batch_lines.h"
#include "api/batches/multipart.h"

namespace kvasir::api {
namespace {

using wire::FinishReason;

std::string line(const std::string& id, const std::string& more = "") {
  return R"({"custom_id": ")" + id + R"(", "method": "POST", "url": "/v1/chat/completions", "body": )" +
         R"({"model": "m", "messages": [{"role": "user", "content": "hi"}])" + more + "}}\n";
}

class BatchTest : public ApiTest {
 protected:
  Reply upload(const std::string& contents, const std::string& purpose = "batch") {
    const std::string body =
        "--xx\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\n" + purpose +
        "\r\n--xx\r\nContent-Disposition: form-data; name=\"file\"; filename=\"in.jsonl\"\r\n"
        "Content-Type: application/octet-stream\r\n\r\n" +
        contents + "\r\n--xx--\r\n";
    return exchange(
        net::post_request("/v1/files", body, "Content-Type: multipart/form-data; boundary=xx\r\n"));
  }
  static std::string text_at(const json::value& value, const char* key) {
    return std::string(value.at(key).as_string());
  }
  std::string start(const std::string& contents, const std::string& endpoint = "/v1/chat/completions") {
    const Reply made = post(
        "/v1/batches", R"({"completion_window": "24h", "metadata": {"k": "v"}, "endpoint": ")" + endpoint +
                           R"(", "input_file_id": ")" + text_at(upload(contents).body, "id") + "\"}");
    EXPECT_EQ(made.status, 200) << made.text;
    return text_at(made.body, "id");
  }
  json::value batch(const std::string& id) { return get("/v1/batches/" + id).body; }
  json::value wait_for(const std::string& id, const std::string& status) {
    EXPECT_TRUE(eventually([&] { return text_at(batch(id), "status") == status; }))
        << json::serialize(batch(id));
    return batch(id);
  }
  std::vector<json::value> lines_of(const json::value& file_id) {
    std::vector<json::value> lines;
    std::string text = get("/v1/files/" + std::string(file_id.as_string()) + "/content").text;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      lines.push_back(base::parse_json(text.substr(at, text.find('\n', at) - at)).value());
    return lines;
  }
};

TEST(Multipart, PartsHaveNamesAndAnyBytes) {
  const std::string type = "multipart/form-data; boundary=\"a b\"";
  const auto parts = parse_form(type,
                                "--a b\r\nContent-Disposition: form-data; name=x\r\n\r\n1\r\n--a b\r\n"
                                "content-disposition: form-data; name=\"f\"; filename=\"q\\\"z\"\r\n\r\n\r\n"
                                "--a\r\n\r\n--a b--");
  ASSERT_TRUE(parts.ok()) << parts.error().message;
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[0].contents, "1");
  EXPECT_EQ((*parts)[1].filename, "q\"z");
  EXPECT_EQ((*parts)[1].contents, "\r\n--a\r\n");
  EXPECT_FALSE(parse_form("application/json", "{}").ok());
  EXPECT_FALSE(parse_form(type, "").ok());
  EXPECT_FALSE(parse_form(type, "--a b\r\nContent-Disposition: form-data; name=x\r\n\r\n1").ok());
  EXPECT_FALSE(parse_form(type, "--a b\r\n\r\n\r\n--a b--").ok());
}

TEST(BatchInput, NamesTheLinesThatAreWrong) {
  const std::string contents = line("a") + "\n{\n" + line("a") + line("b", R"(, "stream": true)") +
                               R"({"custom_id": "c", "method": "POST", "url": "/v1/other", "body": {}})";
  const BatchInput input = read_batch_input(contents, "/v1/chat/completions");
  EXPECT_EQ(input.lines.size(), 1u);
  std::string numbers;
  for (const json::value& error : input.errors) numbers += json::serialize(error.at("line")) + " ";
  EXPECT_EQ(numbers, "3 4 5 6 ");
  EXPECT_FALSE(read_batch_input("\n\n", "/v1/chat/completions").errors.empty());
}

TEST_F(BatchTest, ALineMayLeaveTheModelToTheServer) {
  serve(says("Hello"));
  std::string contents = line("a");
  contents.replace(contents.find("\"m\""), 3, "\"auto\"");
  const json::value done = wait_for(start(contents), "completed");
  const std::vector<json::value> lines = lines_of(done.at("output_file_id"));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].at("response").at("body").at("model"), "m");
}

TEST_F(BatchTest, FilesAreKeptListedAndDeleted) {
  serve(says("Hello"));
  const Reply made = upload("abc", "user_data");
  ASSERT_EQ(made.status, 200) << made.text;
  EXPECT_EQ(made.body.at("bytes"), 3);
  EXPECT_EQ(made.body.at("filename"), "in.jsonl");
  const std::string id = text_at(made.body, "id");
  EXPECT_EQ(get("/v1/files/" + id + "/content").text, "abc");
  EXPECT_EQ(get("/v1/files/" + id).body, made.body);
  EXPECT_TRUE(get("/v1/files?purpose=batch").body.at("data").as_array().empty());
  EXPECT_EQ(get("/v1/files").body.at("data").as_array().size(), 1u);
  EXPECT_EQ(upload("abc", "mischief").status, 400);
  EXPECT_EQ(exchange("DELETE /v1/files/" + id + " HTTP/1.1\r\nHost: x\r\n\r\n").body.at("deleted"), true);
  EXPECT_EQ(get("/v1/files/" + id + "/content").status, 404);
}

// A reader that stalls holds one piece of its file, and the memory of all pieces together is bounded.
TEST_F(BatchTest, ReadersOfFilesHoldOnePieceEach) {
  server_options_.max_bodies_bytes = std::size_t{4} << 20;
  server_options_.send_buffer_bytes = 8192;
  serve(says("Hello"));
  std::string contents(900'000, 'x');
  for (std::size_t i = 0; i < contents.size(); i += 1000)
    contents[i] = static_cast<char>('a' + i / 1000 % 26);
  const std::string id = text_at(upload(contents, "user_data").body, "id");
  const std::string small = text_at(upload("abc", "user_data").body, "id");
  const std::string path = "/v1/files/" + id + "/content";
  EXPECT_EQ(get(path).text, contents);
  const std::size_t num_pieces = (std::size_t{4} << 20) / store::kMaxPieceBytes;
  std::vector<net::LoopbackClient> held;
  for (std::size_t i = 0; i < num_pieces; ++i) {
    held.emplace_back(port_, 4096);
    held.back().send(net::get_request(path));
    ASSERT_EQ(held.back().read_until("\r\n").substr(9, 3), "200") << i;
  }
  const Reply late = get(path);
  EXPECT_EQ(late.status, 503);
  EXPECT_EQ(late.body.at("error").at("code"), "server_overloaded");
  EXPECT_TRUE(late.headers.contains("retry-after"));
  EXPECT_EQ(get("/v1/files/" + small + "/content").text, "abc");
  held.front().read_until("\r\n\r\n");
  std::string rest;
  while (rest.size() < contents.size()) {
    const std::string some = held.front().read_some(100'000);
    ASSERT_FALSE(some.empty());
    rest += some;
  }
  EXPECT_EQ(rest, contents);
  held.clear();
  EXPECT_TRUE(eventually([&] { return get(path).status == 200; }));
}

TEST_F(BatchTest, AnswersInTheOrderOfTheLinesBehindAllOthers) {
  serve(says("Hello"));
  const std::string id = start(line("a") + line("bad", R"(, "temperature": 9)") + line("b"));
  const json::value done = wait_for(id, "completed");
  EXPECT_EQ(json::serialize(done.at("request_counts")), R"({"total":3,"completed":2,"failed":1})");
  EXPECT_EQ(json::serialize(done.at("metadata")), R"({"k":"v"})");
  const auto output = lines_of(done.at("output_file_id"));
  ASSERT_EQ(output.size(), 2u);
  EXPECT_EQ(output[0].at("custom_id"), "a");
  EXPECT_EQ(output[1].at("custom_id"), "b");
  EXPECT_EQ(output[0].at("response").at("status_code"), 200);
  EXPECT_EQ(output[0].at("response").at("body").at("choices").at(0).at("message").at("content"), "Hello");
  const auto errors = lines_of(done.at("error_file_id"));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].at("response").at("status_code"), 400);
  EXPECT_EQ(errors[0].at("response").at("body").at("error").at("param"), "temperature");
  EXPECT_LT(worker_->wait_for(0).request.priority, 0);
  EXPECT_TRUE(eventually([&] { return used().num_requests == 2; })) << "the third was refused";
  EXPECT_EQ(used().completion_tokens, 10);
}

// The disk becomes full in the middle of a batch, and has room again later.
TEST_F(BatchTest, GoesOnAfterTheStoreFailed) {
  serve();
  const std::string id = start(line("a") + line("b"));
  const auto end = [](const auto& asked) {
    wire::TokenEvent event{.tokens = router::byte_tokens("Hello"), .finish = FinishReason::stop};
    seam::TokenStream::send({{asked.stream, std::move(event)}});
  };
  const auto first = worker_->wait_for(0);
  const auto second = worker_->wait_for(1);
  store_->full = true;
  end(first);
  ASSERT_TRUE(eventually([&] { return store_->num_lost_lines == 1; }));
  store_->full = false;
  end(second);
  // The lost line is run again.
  end(worker_->wait_for(2));
  EXPECT_EQ(wait_for(id, "completed").at("request_counts").at("completed"), 2);
}

TEST_F(BatchTest, AWrongFileFailsTheBatch) {
  serve(says("Hello"));
  const json::value failed = wait_for(start("{}\n"), "failed");
  EXPECT_EQ(failed.at("errors").at("data").at(0).at("line"), 1);
  EXPECT_TRUE(failed.at("output_file_id").is_null());
  EXPECT_EQ(post("/v1/batches", R"({"endpoint": "/v1/chat/completions", "completion_window": "24h",
                                    "input_file_id": "file-no"})")
                .status,
            404);
  EXPECT_EQ(post("/v1/batches", R"({"endpoint": "/v1/tokenize", "completion_window": "24h",
                                    "input_file_id": "file-no"})")
                .status,
            400);
}

TEST_F(BatchTest, ACancelledBatchKeepsWhatWasFinished) {
  serve();
  const std::string id = start(line("a") + line("b"));
  const auto first = worker_->wait_for(0);
  seam::TokenStream::send(
      {{first.stream, {.tokens = router::byte_tokens("1"), .finish = FinishReason::stop}}});
  ASSERT_TRUE(eventually([&] { return batch(id).at("request_counts").at("completed") == 1; }));
  EXPECT_EQ(post("/v1/batches/" + id + "/cancel", "").status, 200);
  const json::value done = wait_for(id, "cancelled");
  EXPECT_EQ(lines_of(done.at("output_file_id")).size(), 1u);
  EXPECT_EQ(post("/v1/batches/" + id + "/cancel", "").body.at("status"), "cancelled");
  EXPECT_TRUE(worker_->wait_for(1).stream->cancelled());
}

// A line's answer equals what a client gets for the same request.
TEST_F(BatchTest, ALineIsAnsweredAsARequestIs) {
  serve(says("Hello"));
  const std::string body = R"({"model": "m", "prompt": "hi", "n": 1, "best_of": 3})";
  const std::string id =
      start(R"({"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": )" + body + "}\n",
            "/v1/completions");
  const json::value answer = lines_of(wait_for(id, "completed").at("output_file_id")).at(0);
  const json::value alone = post("/v1/completions", body).body;
  EXPECT_EQ(json::serialize(answer.at("response").at("body").at("choices")),
            json::serialize(alone.at("choices")));
  EXPECT_EQ(alone.at("choices").as_array().size(), 1u);
}

TEST_F(BatchTest, ALineThatAsksForTooManyAnswersFails) {
  serve(says("Hello"));
  const auto failed = lines_of(wait_for(start(line("a", R"(, "n": 11)")), "completed").at("error_file_id"));
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].at("response").at("status_code"), 400);
  EXPECT_EQ(failed[0].at("response").at("body").at("error").at("param"), "n");
}

TEST_F(BatchTest, ALineForAModelThatCouldNotBeLoadedFails) {
  serve(says("Hello"));
  router_.add("gone");
  router_.set_failed("gone", "no such file");
  const std::string lost = R"({"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": )"
                           R"({"model": "gone", "prompt": "hi"}})";
  const auto failed =
      lines_of(wait_for(start(lost + "\n", "/v1/completions"), "completed").at("error_file_id"));
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].at("response").at("body").at("error").at("code"), "model_failed");
}

TEST_F(BatchTest, ALineThatFitsNoWorkerFailsInTheClientsWords) {
  serve(says("Hello"));
  worker_->refuse_with({.code = base::ErrorCode::too_large, .message = "needs 9 blocks of 8"});
  const auto failed = lines_of(wait_for(start(line("a")), "completed").at("error_file_id"));
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].at("response").at("status_code"), 400);
  EXPECT_EQ(failed[0].at("response").at("body").at("error").at("code"), "context_length_exceeded");
}

TEST_F(BatchTest, AFullQueueMakesABatchWait) {
  serve(says("Hello"));
  worker_->refuse_with({.code = base::ErrorCode::exhausted, .message = "full", .retry_after_s = 0.2});
  const std::string id = start(line("a"));
  wait_for(id, "in_progress");
  worker_->refuse_no_more();
  EXPECT_EQ(wait_for(id, "completed").at("request_counts").at("completed"), 1);
}

TEST_F(BatchTest, LinesCountAgainstTheirTenantsLimits) {
  limit_callers({.tokens_per_minute = 600, .tokens_per_month = 1000});
  serve(says("Hello"));
  const std::string id =
      start(line("never", R"(, "max_tokens": 600)") + line("ok", R"(, "max_tokens": 500)") +
            line("waits", R"(, "max_tokens": 570)"));
  // One line waits for the minute's refill, and another could never run.
  ASSERT_TRUE(eventually([&] { return tokens_left() == 574; })) << tokens_left();
  ASSERT_TRUE(eventually([&] { return batch(id).at("request_counts").at("failed") == 1; }));
  EXPECT_EQ(text_at(batch(id), "status"), "in_progress");
  wall_clock_.advance(std::chrono::minutes(1));
  const json::value done = wait_for(id, "completed");
  EXPECT_EQ(done.at("request_counts").at("completed"), 2);
  EXPECT_EQ(lines_of(done.at("error_file_id")).at(0).at("custom_id"), "never");
  EXPECT_EQ(tokens_left(), 574);
  // A line that exceeds the monthly budget fails at once instead of waiting.
  limit_callers({.tokens_per_month = 60});
  const json::value spent = wait_for(start(line("a", R"(, "max_tokens": 20)")), "completed");
  const json::value failed = lines_of(spent.at("error_file_id")).at(0);
  EXPECT_EQ(failed.at("response").at("body").at("error").at("code"), "insufficient_quota");
}

}  // namespace
}  // namespace kvasir::api
