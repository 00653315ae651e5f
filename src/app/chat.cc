#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "app/chat_client.h"
#include "app/chat_session.h"
#include "app/command.h"
#include "app/server_flags.h"
#include "app/signal_watch.h"

namespace kvasir::app {

namespace {

struct ChatFlags {
  ChatClient::Options server;
  std::string model;
  std::optional<double> temperature;
  std::string system;
};

// The model that was asked for, or else the first that is ready.
base::Result<std::string> choose_model(const std::vector<ServedModel>& models, const std::string& wish) {
  std::string names;
  for (const ServedModel& model : models) {
    if (model.id == wish || (wish.empty() && model.ready)) return model.id;
    names += (names.empty() ? "" : ", ") + model.id;
  }
  if (wish.empty()) return models[0].id;
  return base::error(base::ErrorCode::not_found, "--model: the server has no '{}'; it has {}", wish, names);
}

base::Result<bool> converse(const ChatClient& client, const ChatFlags& flags) {
  TRY(const auto models, client.models({}));
  TRY(const std::string model, choose_model(models, flags.model));
  const bool terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  ChatSession session(client,
                      {.wish = {model, flags.temperature}, .system = flags.system, .terminal = terminal});
  if (!terminal) return session.run();
  const SignalWatch watch({SIGINT}, [&](int) { session.interrupt(); });
  return session.run();
}

}  // namespace

void add_chat(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand("chat", "Talk to a running server in the terminal");
  command->footer(
      "Each line is a message; the answer streams as it is written. Ctrl-C stops an answer, Ctrl-D quits,\n"
      "/help lists the commands. Without a terminal, lines are read from stdin and only answers are "
      "printed.\n"
      "\n"
      "Examples:\n"
      "  kvasir chat\n"
      "  kvasir chat --model qwen2.5-coder --system 'Answer in one sentence.'\n"
      "  echo 'What is 2+2?' | kvasir chat --model smollm2\n"
      "  kvasir chat --url https://chat.example:8443 --ca-file server.pem\n"
      "\n"
      "Exit status: 0 success, 1 no server or the last answer failed, 2 wrong usage.");
  auto flags = std::make_shared<ChatFlags>();
  add_server_flags(*command, flags->server);
  command->add_option("--model", flags->model, "Model to talk to (default: the first that is ready)")
      ->type_name("NAME");
  command
      ->add_option("--temperature", flags->temperature,
                   "0: always the likeliest word (default: the server's)")
      ->type_name("T");
  command->add_option("--system", flags->system, "System message")->type_name("TEXT");
  command->callback([flags, &outcome] {
    const auto client = ChatClient::at(flags->server);
    if (!client.ok()) return report_usage(outcome, client.error());
    const auto went_well = converse(*client, *flags);
    if (!went_well.ok()) return report(outcome, went_well.error());
    if (!*went_well) outcome.status = kFailure;
  });
}

}  // namespace kvasir::app
