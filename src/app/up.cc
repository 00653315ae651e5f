#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/child_group.h"
#include "app/command.h"
#include "app/say.h"
#include "app/signal_watch.h"
#include "config/load.h"

namespace kvasir::app {

namespace {

constexpr std::chrono::seconds kMarginS{10};  // time for the workers to end after the time to drain

// Finds free ports of loopback. Each stays open until all are found, so that none is found twice.
base::Result<std::vector<int>> free_ports(int num) {
  std::vector<int> sockets;
  std::vector<int> ports;
  for (int i = 0; i < num; ++i) {
    sockets.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(sockets.back(), generic, size) != 0 || ::getsockname(sockets.back(), generic, &size) != 0)
      break;
    ports.push_back(ntohs(address.sin_port));
  }
  for (const int socket : sockets) ::close(socket);
  if (std::ssize(ports) != num)
    return base::error(base::ErrorCode::io, "there are no free ports on loopback");
  return ports;
}

// A temporary folder, removed with this object.
class Folder {
 public:
  static base::Result<std::unique_ptr<Folder>> make() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kvasir-up-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      return base::error(base::ErrorCode::io, "no temporary folder: {}", pattern);
    return std::unique_ptr<Folder>(new Folder(pattern));
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}
  const std::filesystem::path path_;
};

struct Plan {
  int num_workers = 2;
  int num_prefill = 0;  // workers that compute prompts for others; with num_decode, replaces num_workers
  int num_decode = 0;
  std::string role = "any";  // of the workers, unless they are apart
  std::string model = "smollm2";
  std::string host = "127.0.0.1";
  int port = 8080;
  int num_threads = 0;  // of each worker; 0: the workers share the machine's threads
};

struct Fleet {
  std::string list;  // text of a TOML file
  std::vector<ChildGroup::Program> workers;
};

base::Result<Fleet> plan_workers(const Plan& plan) {
  const bool is_apart = plan.num_prefill > 0;
  const int num_workers = is_apart ? plan.num_prefill + plan.num_decode : plan.num_workers;
  const int num_cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int num_threads = plan.num_threads > 0 ? plan.num_threads : std::max(1, num_cores / num_workers);
  TRY(const std::vector<int> ports, free_ports(num_workers));
  Fleet fleet;
  for (int i = 0; i < num_workers; ++i) {
    const bool is_prefill = i < plan.num_prefill;
    const std::string id = !is_apart    ? fmt::format("worker{}", i + 1)
                           : is_prefill ? fmt::format("prefill{}", i + 1)
                                        : fmt::format("decode{}", i + 1 - plan.num_prefill);
    const std::string role = !is_apart ? plan.role : is_prefill ? "prefill" : "decode";
    const std::string address = fmt::format("127.0.0.1:{}", ports[static_cast<std::size_t>(i)]);
    fleet.list += fmt::format("[[worker]]\nid = \"{}\"\naddress = \"{}\"\n", id, address);
    fleet.workers.push_back(
        {id,
         {"kvasir", "worker", "--model", plan.model, "--worker-id", id, "--role", role, "--listen", address,
          "--health-listen", "127.0.0.1:0", "--compute-threads", std::to_string(num_threads)}});
  }
  return fleet;
}

base::Status bring_up(const Plan& plan) {
  TRY(const std::unique_ptr<Folder> folder, Folder::make());
  TRY(Fleet fleet, plan_workers(plan));
  const std::string list = folder->path() / "fleet.toml";
  std::ofstream(list) << fleet.list;
  std::vector<ChildGroup::Program> programs = std::move(fleet.workers);
  programs.push_back(
      {"gateway",
       {"kvasir", "gateway", "--workers", list, "--host", plan.host, "--port", std::to_string(plan.port)}});
  int stop[2];
  if (::pipe2(stop, O_CLOEXEC | O_NONBLOCK) != 0) return base::error(base::ErrorCode::io, "no pipe");
  const SignalWatch watch({SIGINT, SIGTERM, SIGHUP}, [fd = stop[1]](int) { (void)!::write(fd, "", 1); });
  ::signal(SIGPIPE, SIG_IGN);
  const std::string first = programs.front().name;
  ChildGroup children(std::move(programs));
  say(stderr, "kvasir: the workers are listed in {}; 'kvasir drain {} --workers {}' restarts one\n", list,
      first, list);
  base::Status status = children.run(stop[0]);
  say(stderr, "kvasir: ending the fleet; once more ends it at once\n");
  const int drain_s = static_cast<int>(config::Settings().drain_timeout_s);
  if (!children.end(stop[0], std::chrono::seconds(drain_s) + kMarginS))
    say(stderr, "kvasir: it was cut off\n");
  return status;
}

}  // namespace

void add_up(CLI::App& app, Outcome& outcome) {
  CLI::App* command =
      app.add_subcommand("up", "Run a fleet on this machine: workers of a model, and a gateway");
  command->footer(
      "For development and tests. The output of all of them appears here; one that ends is started again.\n"
      "Ctrl-C lets running answers finish and ends all; a second one ends them at once.\n"
      "Other settings come from the environment (KVASIR_...), which all of them inherit.\n"
      "\n"
      "Examples:\n"
      "  kvasir up --workers 3 --model smollm2\n"
      "  kvasir up --prefill 1 --decode 2 --model smollm2\n"
      "  kvasir up --workers 3 --role auto --model smollm2\n"
      "\n"
      "Exit status: 0 stopped by a signal, 1 failure, 2 wrong usage.");
  auto plan = std::make_shared<Plan>();
  CLI::Option* workers =
      command->add_option("--workers", plan->num_workers, "How many workers")->check(CLI::Range(1, 64));
  CLI::Option* prefill =
      command
          ->add_option("--prefill", plan->num_prefill,
                       "Instead: how many workers that compute long prompts for the others")
          ->check(CLI::Range(1, 32))
          ->excludes(workers);
  CLI::Option* decode = command->add_option("--decode", plan->num_decode, "And how many that answer")
                            ->check(CLI::Range(1, 32))
                            ->excludes(workers);
  prefill->needs(decode);
  decode->needs(prefill);
  command
      ->add_option("--role", plan->role,
                   "auto: some of the workers compute long prompts for the others, as the load asks for")
      ->check(CLI::IsMember({"any", "auto"}))
      ->excludes(prefill);
  command->add_option("--model", plan->model, "The model, by name or path");
  command->add_option("--host", plan->host, "Where the gateway listens");
  command->add_option("--port", plan->port, "Where the gateway listens")->check(CLI::Range(1, 65535));
  command->add_option("--compute-threads", plan->num_threads, "Threads of each worker")
      ->check(CLI::Range(1, 1024));
  command->callback([plan, &outcome] {
    if (const base::Status status = bring_up(*plan); !status.ok()) report(outcome, status.error());
  });
}

}  // namespace kvasir::app
