#include "gateway/remote_models.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "fleet/etcd_membership.h"
#include "fleet/etcd_options.h"
#include "fleet/static_membership.h"
#include "host/text_assets.h"
#include "obs/log.h"
#include "remote/remote_embedder.h"

namespace kvasir::gateway {

using base::ErrorCode;
using base::Result;
using remote::RemoteWorker;

namespace {

// How often forgotten workers are checked for streams that still run.
constexpr std::chrono::seconds kLookAgain{1};
// How long a worker whose text could not be read is left alone.
constexpr std::chrono::seconds kReadAgain{5};

// Whether leases and streams hold a worker that this list holds too.
bool is_in_use(const std::shared_ptr<RemoteWorker>& worker) {
  return worker.use_count() > 1;
}

}  // namespace

RemoteModels::RemoteModels(Parts parts, remote::PeerOptions peer)
    : parts_(std::move(parts)), peer_(std::move(peer)) {}

Result<std::unique_ptr<RemoteModels>> RemoteModels::start(Parts parts) {
  const config::Settings& settings = parts.settings;
  remote::PeerOptions peer{.allows_plaintext = settings.fleet_plaintext};
  TRY(peer.tls, remote::read_tls(settings.fleet_cert, settings.fleet_key, settings.fleet_ca));
  std::unique_ptr<RemoteModels> models(new RemoteModels(std::move(parts), std::move(peer)));
  TRY_OK(models->follow_members());
  models->timer_thread_ = std::thread([self = models.get()] { self->timers_.run(); });
  models->thread_ = std::thread([self = models.get()] { self->loop(); });
  return models;
}

base::Status RemoteModels::follow_members() {
  const config::Settings& settings = parts_.settings;
  const auto on_members = [this](const std::vector<fleet::WorkerPlace>& places) {
    const std::lock_guard lock(mutex_);
    listed_ = places;
    wake_.notify_one();
  };
  if (!settings.etcd.empty()) {
    TRY(fleet::EtcdOptions options, fleet::etcd_options(settings));
    membership_ = std::make_unique<fleet::EtcdMembership>(std::move(options), on_members);
    return base::ok();
  }
  TRY(membership_, fleet::StaticMembership::start(settings.workers, on_members));
  // A wrong address ends the gateway only here, at the start.
  const std::lock_guard lock(mutex_);
  for (const fleet::WorkerPlace& place : *listed_) TRY_OK(remote::check_address(place.address, peer_));
  return base::ok();
}

void RemoteModels::update_members(const std::vector<fleet::WorkerPlace>& places) {
  const fleet::MemberChanges changes = fleet::changes(places_, places);
  places_ = places;
  for (const fleet::WorkerPlace& place : changes.left) {
    const auto found = members_.find(place.id);
    if (found == members_.end()) continue;
    leave(found->second);
    parts_.router.trust_again(place.id);
    if (found->second.worker) leaving_.push_back(std::move(found->second.worker));
    members_.erase(found);
  }
  for (const fleet::WorkerPlace& place : changes.joined) {
    Member member{.place = place, .worker = nullptr, .model = {}};
    base::Status status = remote::check_address(place.address, peer_);
    if (status.ok()) status = connect(member);
    if (!status.ok())
      obs::Log::error("worker_unreachable", {{"worker", place.id}, {"reason", status.error().message}});
    if (status.ok()) members_[place.id] = std::move(member);
  }
}

// Streams go on while their worker answers, even if it is not listed any more.
void RemoteModels::end_unused() {
  std::erase_if(leaving_, [](const auto& worker) {
    if (is_in_use(worker)) return false;
    worker->stop();
    return true;
  });
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
  membership_.reset();
  if (thread_.joinable()) thread_.join();
  for (auto& [id, member] : members_) {
    leave(member);
    if (member.worker) member.worker->stop();  // leases may keep it longer
  }
  for (const auto& worker : leaving_) worker->stop();
  work_.reset();
  timers_.stop();
  if (timer_thread_.joinable()) timer_thread_.join();
}

void RemoteModels::loop() {
  auto looked = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto has_news = [this] { return stopping_ || listed_ || !news_.empty(); };
    const bool looks_again = !leaving_.empty() || std::ranges::any_of(members_, [](const auto& entry) {
      return entry.second.again.has_value();
    });
    if (!looks_again)
      wake_.wait(lock, has_news);
    else
      wake_.wait_until(lock, looked + kLookAgain, has_news);
    // News of one worker, which may come all the time, must not hold up the others.
    if (const auto now = std::chrono::steady_clock::now(); looks_again && now >= looked + kLookAgain) {
      looked = now;
      lock.unlock();
      end_unused();
      take_left_out();
      publish();
      lock.lock();
    }
    if (stopping_) return;
    if (const auto listed = std::exchange(listed_, {})) {
      lock.unlock();
      update_members(*listed);
      publish();
      lock.lock();
    }
    if (news_.empty()) continue;
    const News news = std::move(news_.front());
    news_.pop_front();
    lock.unlock();
    heed(news);
    publish();
    lock.lock();
  }
}

void RemoteModels::heed(const News& news) {
  const auto found = members_.find(news.id);
  if (found == members_.end()) return;
  Member& member = found->second;
  const RemoteWorker::Standing now = member.worker->standing();  // the news may be old
  if (now.link == RemoteWorker::Link::ready && !now.draining) {
    member.fault.clear();
    if (member.model.empty()) join(member, *now.card);
    return;
  }
  leave(member);
  if (now.link == RemoteWorker::Link::connecting) warn_of(member, now.reason);
  // Another model is now at this address, so the old connection is of no use.
  if (now.link == RemoteWorker::Link::refused && now.card) {
    obs::Log::warn("worker_changed", {{"worker", news.id}, {"reason", now.reason}});
    member.worker->stop();
    if (const base::Status status = connect(member); !status.ok())
      obs::Log::error("worker_unreachable", {{"worker", news.id}, {"reason", status.error().message}});
  }
}

// The connection is tried again every second. Each new reason is logged once.
void RemoteModels::warn_of(Member& member, const std::string& reason) {
  if (std::exchange(member.fault, reason) == reason) return;
  obs::Log::warn("worker_unreachable",
                 {{"worker", member.place.id}, {"address", member.place.address}, {"reason", reason}});
}

// Workers that could not join: their model may have no other worker by now, or their text may be readable.
void RemoteModels::take_left_out() {
  const auto now = std::chrono::steady_clock::now();
  for (auto& [id, member] : members_) {
    if (!member.again || *member.again > now) continue;
    const RemoteWorker::Standing standing = member.worker->standing();
    if (standing.link == RemoteWorker::Link::ready && !standing.draining) join(member, *standing.card);
  }
}

void RemoteModels::leave_out(Member& member, const wire::WorkerCard& card, const char* event,
                             const std::string& reason, std::chrono::seconds pause) {
  member.again = std::chrono::steady_clock::now() + pause;
  if (std::exchange(member.fault, reason) == reason) return;  // it is logged once
  obs::Log::error(event, {{"worker", member.place.id}, {"model", card.model}, {"reason", reason}});
}

void RemoteModels::join(Member& member, const wire::WorkerCard& card) {
  member.again.reset();
  const auto known = models_.find(card.model);
  const bool same = known != models_.end() && known->second.fingerprint == card.fingerprint &&
                    known->second.text_digest == card.text_digest;
  if (!same && known != models_.end() && has_members(card.model)) {
    leave_out(member, card, "worker_differs",
              "the model's other workers have other weights, tokenizer or program", kLookAgain);
    return;
  }
  if (!same) {
    if (const base::Status status = open(member, card); !status.ok()) {
      leave_out(member, card, "text_unreadable", status.error().message, kReadAgain);
      return;
    }
  }
  if (parts_.router.is_distrusted(card.model, member.place.id)) {
    obs::Log::error("worker_distrusted",
                    {{"worker", member.place.id},
                     {"model", card.model},
                     {"reason", "it has computed wrongly before; it gets no requests while it is listed"}});
    return;
  }
  if (card.dimensions > 0)
    parts_.router.add_embedder(card.model, member.place.id,
                               std::make_shared<remote::RemoteEmbedder>(member.worker, card.dimensions));
  else
    parts_.router.add_member(card.model, member.place.id, member.worker,
                             {.role = card.role, .address = member.place.address, .kv = card.kv});
  member.model = card.model;
  obs::Log::info("worker_joined", {{"worker", member.place.id}, {"model", card.model}});
}

base::Status RemoteModels::open(Member& member, const wire::WorkerCard& card) {
  TRY(const remote::TextAssets assets, member.worker->read_text());
  if (remote::digest_of(assets) != card.text_digest)
    return base::error(ErrorCode::corrupt, "the tokenizer that came is not the one that was promised");
  router::ServedModel model;
  if (card.dimensions > 0) {
    TRY(router::EmbedText text, host::open_embed_text(assets, card.dimensions, parts_.settings));
    model = router::EmbeddingModel{.text = std::move(text), .worker = nullptr};
  } else {
    TRY(router::ChatText text, host::open_text(assets, parts_.settings));
    model = router::GeneratingModel{.text = std::move(text), .worker = nullptr};
  }
  if (!parts_.router.has(card.model)) parts_.router.add(card.model);
  parts_.router.set_ready(card.model, std::move(model));
  models_[card.model] = {card.fingerprint, card.text_digest};
  tell(card.model, {.phase = router::Phase::ready, .progress = 1});
  return base::ok();
}

void RemoteModels::leave(Member& member) {
  member.again.reset();
  if (member.model.empty()) return;
  parts_.router.remove_member(member.model, member.place.id);
  obs::Log::info("worker_left", {{"worker", member.place.id}, {"model", member.model}});
  member.model.clear();
}

bool RemoteModels::has_members(const std::string& model) const {
  return std::ranges::any_of(members_, [&](const auto& entry) { return entry.second.model == model; });
}

fleet::WorkerStanding RemoteModels::standing_of(const Member& member) {
  const RemoteWorker::Standing now = member.worker->standing();
  fleet::WorkerStanding standing{.id = member.place.id, .address = member.place.address};
  if (now.card) {
    standing.model = now.card->model;
    standing.build = now.card->build;
  }
  if (now.link == RemoteWorker::Link::ready) {
    standing.state = now.draining ? "draining" : member.model.empty() ? "refused" : "ready";
    if (standing.state == "refused") standing.reason = "it differs from the model's other workers";
  } else {
    standing.state = now.link == RemoteWorker::Link::refused ? "refused" : "connecting";
    standing.reason = now.reason;
  }
  return standing;
}

void RemoteModels::publish() {
  std::vector<fleet::WorkerStanding> workers;
  for (const auto& [id, member] : members_) workers.push_back(standing_of(member));
  for (const auto& worker : leaving_)
    if (const auto card = worker->standing().card)
      workers.push_back({card->id, card->address, card->model, card->build, "leaving"});
  parts_.board.set(std::move(workers));
}

void RemoteModels::tell(const std::string& model, const router::ModelState& state) {
  if (parts_.on_state) parts_.on_state(model, state);
}

}  // namespace kvasir::gateway
