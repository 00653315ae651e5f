#include "gateway/remote_models.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "host/text_assets.h"
#include "obs/log.h"

namespace kvasir::gateway {

using base::ErrorCode;
using base::Result;
using remote::RemoteWorker;

RemoteModels::RemoteModels(Parts parts, remote::PeerOptions peer)
    : parts_(std::move(parts)), peer_(std::move(peer)) {}

Result<std::unique_ptr<RemoteModels>> RemoteModels::start(const std::vector<fleet::WorkerPlace>& workers,
                                                          Parts parts) {
  const config::Settings& settings = parts.settings;
  remote::PeerOptions peer{.allows_plaintext = settings.fleet_plaintext};
  TRY(peer.tls, remote::read_tls(settings.fleet_cert, settings.fleet_key, settings.fleet_ca));
  for (const fleet::WorkerPlace& place : workers) TRY_OK(remote::check_address(place.address, peer));
  std::unique_ptr<RemoteModels> models(new RemoteModels(std::move(parts), std::move(peer)));
  models->timer_thread_ = std::thread([self = models.get()] { self->timers_.run(); });
  for (const fleet::WorkerPlace& place : workers) {
    Member& member = models->members_[place.id];
    member.place = place;
    TRY_OK(models->connect(member));
  }
  models->thread_ = std::thread([self = models.get()] { self->loop(); });
  return models;
}

base::Status RemoteModels::connect(Member& member) {
  TRY(member.worker,
      RemoteWorker::create({.id = member.place.id,
                            .address = member.place.address,
                            .gateway = fmt::format("gateway-{}", ::getpid()),
                            .peer = peer_,
                            .window_tokens = parts_.settings.stream_buffer_tokens},
                           timers_.get_executor(),
                           [this, id = member.place.id](const RemoteWorker::Standing& standing) {
                             const std::lock_guard lock(mutex_);
                             news_.push_back({id, standing});
                             wake_.notify_one();
                           }));
  return base::ok();
}

RemoteModels::~RemoteModels() {
  stop();
}

void RemoteModels::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  for (auto& [id, member] : members_) {
    leave(member);
    if (member.worker) member.worker->stop();  // leases may keep it longer
  }
  work_.reset();
  timers_.stop();
  if (timer_thread_.joinable()) timer_thread_.join();
}

void RemoteModels::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !news_.empty(); });
    if (stopping_) return;
    const News news = std::move(news_.front());
    news_.pop_front();
    lock.unlock();
    heed(news);
    lock.lock();
  }
}

void RemoteModels::heed(const News& news) {
  const auto found = members_.find(news.id);
  if (found == members_.end()) return;
  Member& member = found->second;
  const RemoteWorker::Standing now = member.worker->standing();  // the news may be old
  if (now.link == RemoteWorker::Link::ready && !now.draining) {
    if (member.model.empty()) join(member, *now.card);
    return;
  }
  leave(member);
  // Another model has come to this address: what the connection was made for is over.
  if (now.link == RemoteWorker::Link::refused && now.card) {
    obs::Log::warn("worker_changed", {{"worker", news.id}, {"reason", now.reason}});
    member.worker->stop();
    if (const base::Status status = connect(member); !status.ok())
      obs::Log::error("worker_unreachable", {{"worker", news.id}, {"reason", status.error().message}});
  }
}

void RemoteModels::join(Member& member, const wire::WorkerCard& card) {
  const auto known = models_.find(card.model);
  const bool same = known != models_.end() && known->second.fingerprint == card.fingerprint &&
                    known->second.text_digest == card.text_digest;
  if (!same && known != models_.end() && has_members(card.model)) {
    obs::Log::error("worker_differs",
                    {{"worker", member.place.id},
                     {"model", card.model},
                     {"reason", "the model's other workers have other weights, tokenizer or program"}});
    return;
  }
  if (!same) {
    if (const base::Status status = open(member, card); !status.ok()) {
      obs::Log::error(
          "text_unreadable",
          {{"worker", member.place.id}, {"model", card.model}, {"reason", status.error().message}});
      return;
    }
  }
  parts_.router.add_member(card.model, member.place.id, member.worker);
  member.model = card.model;
  obs::Log::info("worker_joined", {{"worker", member.place.id}, {"model", card.model}});
}

base::Status RemoteModels::open(Member& member, const wire::WorkerCard& card) {
  TRY(const remote::TextAssets assets, member.worker->read_text());
  if (remote::digest_of(assets) != card.text_digest)
    return base::error(ErrorCode::corrupt, "the tokenizer that came is not the one that was promised");
  TRY(router::ChatText text, host::open_text(assets, parts_.settings));
  if (!parts_.router.has(card.model)) parts_.router.add(card.model);
  parts_.router.set_ready(card.model, router::GeneratingModel{.text = std::move(text)});
  models_[card.model] = {card.fingerprint, card.text_digest};
  tell(card.model, {.phase = router::Phase::ready, .progress = 1});
  return base::ok();
}

void RemoteModels::leave(Member& member) {
  if (member.model.empty()) return;
  parts_.router.remove_member(member.model, member.place.id);
  obs::Log::info("worker_left", {{"worker", member.place.id}, {"model", member.model}});
  member.model.clear();
}

bool RemoteModels::has_members(const std::string& model) const {
  return std::ranges::any_of(members_, [&](const auto& entry) { return entry.second.model == model; });
}

void RemoteModels::tell(const std::string& model, const router::ModelState& state) {
  if (parts_.on_state) parts_.on_state(model, state);
}

}  // namespace kvasir::gateway
