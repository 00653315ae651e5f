#include "api/answer/encode/public_prefix.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/answer/encode/prompt.h"
#include "api/key_fixture.h"
#include "sched/scheduler.h"

namespace kvasir::api {
namespace {

const std::string kPublic = "You are the assistant of this server. Answer in the language of the question.";

std::string chat(const std::string& system, const std::string& user = "hi") {
  return R"({"model": "m", "max_tokens": 2, "messages": [{"role": "system", "content": ")" + system +
         R"("}, {"role": "user", "content": ")" + user + "\"}]}";
}

// Runs each request on a real scheduler with a prefix cache, which answers "x".
router::ScriptedWorker::Script by_scheduler() {
  auto scheduler = std::make_shared<sched::Scheduler>(
      sched::SchedulerOptions{.num_blocks = 1024, .max_batch_tokens = 4096, .target_step_s = 0});
  return [scheduler](const wire::GenerateRequest& request) {
    EXPECT_TRUE(scheduler->submit(request).ok());
    std::vector<wire::TokenEvent> events;
    while (!scheduler->idle()) {
      const sched::StepPlan plan = scheduler->plan();
      sched::StepResult result;
      for (std::size_t i = 0; i < plan.slices.size(); ++i)
        result.outcomes.emplace_back().token = wire::Token{.id = 'x'};
      for (sched::SequenceEvent& event : scheduler->commit(plan, std::move(result)))
        events.push_back(std::move(event.event));
    }
    return events;
  };
}

class PublicPromptsTest : public KeyedApiTest {
 protected:
  void serve_public(const std::vector<std::string>& texts) {
    serve(by_scheduler());
    router::GeneratingModel model = router::scripted_model(worker_);
    model.text.public_prompts = std::make_shared<router::PublicPrompts>(texts);
    router_.set_ready("m", std::move(model));
    add_tenant("acme");
    add_tenant("beta");
    add_tenant("kind", "pro", kPublic);
    acme_ = bearer(issue("acme"));
    beta_ = bearer(issue("beta"));
    kind_ = bearer(issue("kind"));
  }
  int cached(const std::string& body, const std::string& key) {
    const Reply reply = post_with("/v1/chat/completions", body, key);
    EXPECT_EQ(reply.status, 200) << reply.text;
    return reply.body.at_pointer("/usage/prompt_tokens_details/cached_tokens").to_number<int>();
  }

  std::string acme_, beta_, kind_;
};

// The tokens of the system message and of what follows it up to the user's text: "<|im_start|>", "system\n",
// the text, "<|im_end|>", "\n", "<|im_start|>", "user\n". Each byte and each special token is one token.
const int kPublicTokens = 1 + 7 + static_cast<int>(kPublic.size()) + 1 + 1 + 1 + 5;

TEST_F(PublicPromptsTest, TenantsShareAPublicPromptAndNothingAfterIt) {
  serve_public({"Another one.", kPublic});
  EXPECT_EQ(cached(chat(kPublic, "a secret question"), acme_), 0);
  EXPECT_EQ(cached(chat(kPublic, "a secret question"), beta_), kPublicTokens / 16 * 16);
  EXPECT_EQ(worker_->wait_for(1).request.num_public_tokens, kPublicTokens);
  EXPECT_GT(cached(chat(kPublic, "a secret question"), acme_), kPublicTokens);
}

TEST_F(PublicPromptsTest, AnUnmarkedPromptIsSharedWithNobody) {
  serve_public({kPublic});
  const std::string unmarked = "You are the assistant of this server. Answer briefly, and mention nobody.";
  EXPECT_EQ(cached(chat(kPublic), acme_), 0);
  EXPECT_EQ(cached(chat(unmarked), acme_), 0);
  EXPECT_EQ(cached(chat(unmarked), beta_), 0);
  EXPECT_EQ(worker_->wait_for(2).request.num_public_tokens, 0);
  EXPECT_GT(cached(chat(unmarked), acme_), 0);
}

TEST_F(PublicPromptsTest, WithoutTheSettingNothingIsShared) {
  serve_public({});
  EXPECT_EQ(cached(chat(kPublic), acme_), 0);
  EXPECT_EQ(cached(chat(kPublic), beta_), 0);
}

TEST_F(PublicPromptsTest, ATenantsOwnSystemPromptMayBePublic) {
  serve_public({kPublic});
  EXPECT_EQ(cached(chat(kPublic), acme_), 0);
  EXPECT_EQ(cached(chat_body(R"(, "max_tokens": 2)"), kind_), kPublicTokens / 16 * 16);
  // The system message of a client of "kind" comes after the tenant's prompt, in the same message.
  const int num_whole = 1 + 7 + static_cast<int>(kPublic.size());
  cached(chat("Rhyme."), kind_);
  EXPECT_EQ(worker_->wait_for(2).request.num_public_tokens, num_whole);
}

ChatRequest request_of(const std::string& system, const std::string& user) {
  ChatRequest request;
  request.messages = {json::object{{"role", "system"}, {"content", system}},
                      json::object{{"role", "user"}, {"content", user}}};
  return request;
}

int num_public(const router::ChatText& model, const ChatRequest& request) {
  const auto tokens = encode_chat(model, request, {}).value().tokens;
  return num_public_tokens(model, request, tokens, {});
}

router::ChatText model_with(const std::string& source) {
  router::ChatText model = router::scripted_model(nullptr).text;
  model.public_prompts = std::make_shared<router::PublicPrompts>(std::vector<std::string>{kPublic, "You"});
  if (!source.empty())
    model.chat_template =
        std::make_shared<const text::ChatTemplate>(text::ChatTemplate::parse(source).value());
  return model;
}

TEST(PublicPrefix, HasNothingOfTheUsersMessage) {
  const router::ChatText model = model_with("");
  for (const char* user : {"a", "0", "abc", "0bc", "", "<|im_end|>"})
    EXPECT_EQ(num_public(model, request_of(kPublic, user)), kPublicTokens) << user;
  // Another public prompt is "You"; the longest that matches counts.
  EXPECT_EQ(num_public(model, request_of("You there", "hi")), 1 + 7 + 3);
  EXPECT_EQ(num_public(model, request_of("They", "hi")), 0);
}

// Some templates write the system message into the user's message.
TEST(PublicPrefix, MayStandInTheUsersMessage) {
  const router::ChatText model = model_with("U:{{ messages[0].content }}\n{{ messages[1].content }}");
  EXPECT_EQ(num_public(model, request_of(kPublic, "a")), 3 + static_cast<int>(kPublic.size()));
}

TEST(PublicPrefix, IsMadeAnewWhenTheTemplateWritesSomethingElse) {
  const router::ChatText model = model_with("");
  // A kept rendering that differs, as it would if the template wrote the date, is not used.
  model.public_prompts->keep(kPublic, "another rendering",
                             std::make_shared<const std::vector<TokenId>>(std::vector<TokenId>{1, 2}));
  EXPECT_EQ(num_public(model, request_of(kPublic, "hi")), kPublicTokens);
}

TEST(PublicPrefix, IsNoneWhereTheTemplateTakesNoSystemMessage) {
  const router::ChatText model = model_with(
      "{% if messages[1].content == 'a' %}{{ raise_exception('no') }}{% endif %}{{ messages[0].content }}");
  EXPECT_EQ(num_public(model, request_of(kPublic, "hi")), 0);
}

}  // namespace
}  // namespace kvasir::api
