#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <utility>

#include "app/command.h"
#include "app/say.h"
#include "config/load.h"
#include "fleet/etcd_client.h"
#include "fleet/etcd_options.h"
#include "fleet/member_text.h"
#include "fleet/worker_list.h"
#include "remote/remote_worker.h"

namespace kvasir::app {

namespace {

base::Result<std::vector<fleet::WorkerPlace>> known_workers(const config::Settings& settings) {
  std::vector<fleet::WorkerPlace> places;
  if (!settings.etcd.empty()) {
    TRY(fleet::EtcdOptions options, fleet::etcd_options(settings));
    TRY(const fleet::EtcdClient::Range range, fleet::EtcdClient(std::move(options)).range({}));
    for (const fleet::EtcdClient::Entry& entry : range.entries) {
      TRY(fleet::WorkerPlace place, fleet::read_member(entry.value));
      places.push_back(std::move(place));
    }
  } else if (!settings.workers.empty()) {
    TRY(places, fleet::read_worker_list(settings.workers));
  }
  return places;
}

// Returns the address of a worker that was named by its id or by its address.
base::Result<std::string> address_of(const std::string& worker, const config::Settings& settings) {
  TRY(const std::vector<fleet::WorkerPlace> places, known_workers(settings));
  for (const fleet::WorkerPlace& place : places)
    if (place.id == worker) return place.address;
  if (worker.find(':') != std::string::npos) return worker;
  return base::error(base::ErrorCode::not_found,
                     "no worker is called '{}'; give its HOST:PORT, or --workers or --etcd, which know it",
                     worker);
}

base::Status drain(const std::string& worker, const config::Settings& settings) {
  TRY(const std::string address, address_of(worker, settings));
  remote::PeerOptions peer{.allows_plaintext = settings.fleet_plaintext};
  TRY(peer.tls, remote::read_tls(settings.fleet_cert, settings.fleet_key, settings.fleet_ca));
  TRY_OK(remote::check_address(address, peer));
  boost::asio::io_context timers;
  TRY(const std::shared_ptr<remote::RemoteWorker> client,
      remote::RemoteWorker::create(
          {.id = worker, .address = address, .gateway = "kvasir drain", .peer = std::move(peer)},
          timers.get_executor()));
  const base::Status status = client->drain();
  client->stop();
  return status;
}

}  // namespace

void add_drain(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand("drain", "Let a worker of a fleet finish, and end");
  command->footer(
      "The worker takes no new requests. What runs may finish within the worker's --drain-timeout-s; then "
      "it\n"
      "goes on with other workers of the same model, and the worker ends.\n"
      "\n"
      "Examples:\n"
      "  kvasir drain 127.0.0.1:7070\n"
      "  kvasir drain a --workers fleet.toml\n"
      "\n"
      "Exit status: 0 the worker drains, 1 failure, 2 wrong usage.");
  auto flags = std::make_shared<config::FlagValues>();
  auto worker = std::make_shared<std::string>();
  command->add_option("worker", *worker, "Its id, or its HOST:PORT")->required();
  config::add_flags(*command, *flags,
                    {"workers", "etcd", "etcd_user", "etcd_password_file", "etcd_ca", "etcd_prefix",
                     "fleet_cert", "fleet_key", "fleet_ca", "fleet_plaintext"});
  command->callback([flags, worker, &outcome] {
    const auto settings = config::load(*flags);
    if (!settings.ok()) return report_usage(outcome, settings.error());
    const base::Status status = drain(*worker, *settings);
    if (!status.ok()) return report(outcome, status.error());
    say(stdout, "kvasir: '{}' takes no new requests and ends when its streams have ended or moved\n",
        *worker);
  });
}

}  // namespace kvasir::app
