// How many token events a gateway relays: a worker in a child process sends steps of many streams over
// loopback, and the parent counts what it spends on reading them. `fleet_relay [STREAMS] [STEPS]`.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "remote/remote_worker.h"
#include "remote/worker_server.h"

namespace kvasir {
namespace {

namespace asio = boost::asio;

// Answers every request with one token a step once all have come.
class SteppingWorker final : public seam::WorkerClient {
 public:
  SteppingWorker(int num_streams, int num_steps) : num_streams_(num_streams), num_steps_(num_steps) {}

  base::Result<seam::TokenReader> generate(wire::GenerateRequest /*request*/,
                                           asio::any_io_executor reader) override {
    const std::lock_guard lock(mutex_);
    streams_.push_back(std::make_shared<seam::TokenStream>(std::move(reader)));
    if (std::ssize(streams_) == num_streams_) all_here_.notify_one();
    return seam::TokenReader(streams_.back());
  }
  wire::Forecast forecast(const wire::Outline& /*outline*/) const override { return {}; }
  wire::WorkerReport report() const override { return {}; }

  void run() {
    {
      std::unique_lock lock(mutex_);
      all_here_.wait(lock, [this] { return std::ssize(streams_) == num_streams_; });
    }
    for (int step = 0; step < num_steps_; ++step) {
      // Each step has its own message: events that pile up would be merged, and cost less.
      while (streams_.front()->backlog() > 0) std::this_thread::yield();
      std::vector<seam::TokenStream::Delivery> deliveries;
      for (const auto& stream : streams_) {
        wire::TokenEvent event;
        event.tokens.push_back({.id = step % 1000});
        event.usage = {.prompt_tokens = 10, .output_tokens = step + 1, .charge = step * 1.5};
        if (step + 1 == num_steps_) event.finish = wire::FinishReason::length;
        deliveries.push_back({stream, std::move(event)});
      }
      seam::TokenStream::send(std::move(deliveries));
    }
  }

 private:
  const int num_streams_;
  const int num_steps_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  std::vector<std::shared_ptr<seam::TokenStream>> streams_;  // guarded by mutex_ until all are here
};

[[noreturn]] void serve(int port_pipe, int end_pipe, int num_streams, int num_steps) {
  const auto worker = std::make_shared<SteppingWorker>(num_streams, num_steps);
  remote::WorkerServer::Served served{
      .worker = worker, .card = {.model = "m", .context_length = 1 << 20, .num_blocks = 1 << 16}};
  served.text.vocab_size = 1000;
  auto server = remote::WorkerServer::start({.listen = "127.0.0.1:0"}, std::move(served));
  const int port = server.ok() ? (*server)->port() : 0;
  if (::write(port_pipe, &port, sizeof port) != sizeof port || port == 0) ::_exit(1);
  worker->run();
  char end = 0;
  (void)!::read(end_pipe, &end, 1);
  ::_exit(0);
}

double cpu_s() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int run(int num_streams, int num_steps) {
  int ports[2];
  int ends[2];
  if (::pipe(ports) != 0 || ::pipe(ends) != 0) return 1;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    serve(ports[1], ends[0], num_streams, num_steps);
  }
  int port = 0;
  if (::read(ports[0], &port, sizeof port) != sizeof port || port == 0) return 1;

  asio::io_context io(1);
  const auto work = asio::make_work_guard(io);
  std::thread thread([&io] { io.run(); });
  std::latch ready(1);
  auto worker = remote::RemoteWorker::create(
      {.address = "127.0.0.1:" + std::to_string(port)}, io.get_executor(),
      [&ready](const remote::RemoteWorker::Standing& standing) {
        if (standing.link == remote::RemoteWorker::Link::ready && !ready.try_wait()) ready.count_down();
      });
  if (!worker.ok()) return 1;
  ready.wait();

  std::latch all_ended(num_streams);
  std::atomic<long> num_tokens{0};
  std::atomic<long> num_events{0};
  std::vector<seam::TokenReader> readers;
  readers.reserve(static_cast<std::size_t>(num_streams));
  const double cpu_before_s = cpu_s();
  const auto began = std::chrono::steady_clock::now();
  const auto open_all = [&] {
    for (int i = 0; i < num_streams; ++i) {
      wire::GenerateRequest request;
      request.prompt = {1, 2, 3};
      request.max_tokens = num_steps;
      auto reader = (*worker)->generate(std::move(request), io.get_executor());
      if (!reader.ok()) {
        std::fprintf(stderr, "%s\n", reader.error().message.c_str());
        ::_exit(1);
      }
      seam::TokenStream& stream = *reader->operator->();
      stream.on_event([&stream, &all_ended, &num_tokens, &num_events] {
        if (const auto event = stream.take()) {
          num_tokens += static_cast<long>(event->tokens.size());
          ++num_events;
          if (event->last()) all_ended.count_down();
        }
      });
      readers.push_back(std::move(*reader));
    }
  };
  asio::post(io, open_all);
  all_ended.wait();
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const double spent_s = cpu_s() - cpu_before_s;
  const auto events = static_cast<double>(num_events.load());
  std::printf(
      "{\"streams\": %d, \"steps\": %d, \"tokens\": %ld, \"events_per_s\": %.0f, \"events_per_cpu_s\": "
      "%.0f}\n",
      num_streams, num_steps, num_tokens.load(), events / wall_s, events / spent_s);
  (void)!::write(ends[1], "x", 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  std::fflush(stdout);
  ::_exit(0);
}

}  // namespace
}  // namespace kvasir

int main(int argc, char** argv) {
  return kvasir::run(argc > 1 ? std::atoi(argv[1]) : 256, argc > 2 ? std::atoi(argv[2]) : 4000);
}
