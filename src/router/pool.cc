#include "router/pool.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "kv/block.h"

namespace kvasir::router {

base::Error no_worker(const std::string& model) {
  return {.code = base::ErrorCode::unavailable,
          .message = fmt::format("no worker of '{}' is there for the request; try again", model),
          .field = "model",
          .reason = "no_worker",
          .retry_after_s = 2};
}

wire::WorkerReport sum_of(const std::vector<MemberStatus>& members) {
  if (members.size() == 1) return members[0].report;
  wire::WorkerReport sum{.progressing = members.empty(), .failed = !members.empty()};
  for (const MemberStatus& member : members) {
    const wire::WorkerReport& one = member.report;
    sum.num_blocks += one.num_blocks;
    sum.num_free_blocks += one.num_free_blocks;
    sum.num_cached_blocks += one.num_cached_blocks;
    sum.num_running += one.num_running;
    sum.num_waiting += one.num_waiting;
    for (const auto& [priority, num] : one.waiting) sum.waiting[priority] += num;
    sum.progressing = sum.progressing || one.progressing;
    sum.failed = sum.failed && one.failed;
    sum.heartbeat_age_s = std::max(sum.heartbeat_age_s, one.heartbeat_age_s);
  }
  return sum;
}

const base::Clock& Pool::real_clock() {
  static const base::RealClock clock;
  return clock;
}

Pool::Pool(std::string model, const PoolOptions& options, const base::Clock& clock)
    : model_(std::move(model)),
      options_(options),
      clock_(clock),
      policy_(make_policy(options.policy, options.seed)),
      index_(std::make_shared<BlockIndex>(options.index_bytes)),
      roles_(options.roles_window_s) {}

Pool::~Pool() {
  for (const Seat& seat : *members_)
    if (seat.follower) seat.follower->end();
}

void Pool::add(std::string id, std::shared_ptr<seam::WorkerClient> worker, MemberPart part) {
  CHECK(worker != nullptr, "member {} without a worker", id);
  const std::lock_guard lock(mutex_);
  List members = *members_;
  take_out(id, members, lock);
  trials_.join(part.address);
  members.push_back(
      {.member = std::make_shared<WorkerMember>(std::move(id), std::move(worker), std::move(part))});
  settle(std::move(members), lock);
}

void Pool::remove(std::string_view id) {
  const std::lock_guard lock(mutex_);
  List members = *members_;
  take_out(id, members, lock);
  settle(std::move(members), lock);
}

void Pool::take_out(std::string_view id, List& members, const std::lock_guard<std::mutex>&) {
  const auto found = std::ranges::find_if(members, [id](const Seat& seat) { return seat.member->id == id; });
  if (found == members.end()) return;
  if (found->follower) found->follower->end();
  trials_.forget(found->member->id, found->member->address);
  members.erase(found);
}

namespace {

// Every process ranks the members by the same numbers, so that those who would choose another number of
// prefill workers choose the same ones first.
void rank_changing(std::vector<Pool::Seat>& members) {
  std::vector<Pool::Seat*> changing;
  for (Pool::Seat& seat : members)
    if (seat.member->role == wire::kAutoRole) changing.push_back(&seat);
  std::ranges::sort(changing, {}, [](const Pool::Seat* seat) {
    return std::pair(seat->member->id_hash, std::string_view(seat->member->id));
  });
  for (std::size_t i = 0; i < changing.size(); ++i) changing[i]->rank = static_cast<int>(i);
}

}  // namespace

bool Pool::is_prefill(const Seat& seat) const {
  if (seat.rank >= 0) return seat.rank < roles_.num_prefill();
  return seat.member->role == wire::kPrefillRole;
}

void Pool::settle(List members, const std::lock_guard<std::mutex>&) {
  const bool follows = policy_->wants_blocks() && members.size() > 1;
  rank_changing(members);
  for (Seat& seat : members) {
    if (follows && !seat.follower) seat.follower = BlockFollower::begin(index_, seat.member->worker);
    if (!follows && seat.follower) std::exchange(seat.follower, nullptr)->end();
  }
  members_ = std::make_shared<const List>(std::move(members));
}

Pool::Members Pool::members() const {
  const std::lock_guard lock(mutex_);
  return members_;
}

// The members of a pool that may get one request.
struct Pool::Field {
  std::vector<Candidate> candidates;
  std::vector<const Seat*> seats;  // of the candidates
  std::vector<Candidate> helpers;  // compute prompts that others answer
  std::vector<const Seat*> helper_seats;
  const Seat* worst = nullptr;  // failed or not progressing; used if there is no other
};

Pool::Field Pool::field_of(const Members& among, const Demand& demand) const {
  Field field;
  const base::TimePoint now = clock_.now();
  field.candidates.reserve(among->size());
  field.seats.reserve(among->size());
  // A request that avoids members sees only a part of the pool.
  const bool observes = demand.avoid.empty() && roles_.is_due(now) &&
                        std::ranges::any_of(*among, [](const Seat& seat) { return seat.rank >= 0; });
  std::vector<ChangingRoles::Seen> seen;
  for (const Seat& seat : *among) {
    if (!demand.avoid.empty() && std::ranges::find(demand.avoid, seat.member->id) != demand.avoid.end())
      continue;
    const wire::WorkerReport report = seat.member->worker->report();
    if (report.failed || !report.progressing) {
      if (field.worst == nullptr || !report.failed) field.worst = &seat;
      continue;
    }
    const bool helps = is_prefill(seat);
    if (seat.member->is_new(report.kv_links.get())) trials_.heed(seat.member->id, report.kv_links, now);
    if (observes)
      seen.push_back({seat.member->id, seat.member->role, {report.busy_s, report.long_prompts_s}});
    (helps ? field.helper_seats : field.seats).push_back(&seat);
    (helps ? field.helpers : field.candidates)
        .push_back({.member = seat.member.get(),
                    .load = seat.member->load(report),
                    .num_running = report.num_running,
                    .num_waiting = report.num_waiting,
                    .num_blocks = report.num_blocks,
                    .num_free_blocks = report.num_free_blocks,
                    .kv_links = report.kv_links});
  }
  if (observes) roles_.observe(seen, now);
  for (Candidate& helper : field.helpers) helper.rests = !trials_.admits(helper.member->address, now);
  if (field.candidates.empty()) {  // a member for other work is better than none
    std::swap(field.candidates, field.helpers);
    std::swap(field.seats, field.helper_seats);
  }
  if (!policy_->wants_blocks()) return field;
  const BlockIndex::Depths depths = index_->find(demand.prompt);
  const auto fill = [&depths](std::vector<Candidate>& candidates, const std::vector<const Seat*>& seats) {
    for (std::size_t i = 0; i < seats.size(); ++i)
      if (const auto& follower = seats[i]->follower)
        candidates[i].num_cached = depths[static_cast<std::size_t>(follower->number())] * kv::kBlockTokens;
  };
  fill(field.candidates, field.seats);
  fill(field.helpers, field.helper_seats);
  return field;
}

base::Result<WorkerLease> Pool::pick(const Members& among, const Demand& demand, Use use) const {
  if (among->size() == 1 && std::ranges::find(demand.avoid, among->front().member->id) == demand.avoid.end())
    return WorkerLease(among->front().member, std::move(use));
  const Field field = field_of(among, demand);
  const std::vector<Candidate>& candidates = field.candidates;
  if (candidates.empty()) {
    if (field.worst == nullptr) return no_worker(model_);
    return WorkerLease(field.worst->member, std::move(use));
  }
  Choice choice;
  if (candidates.size() > 1) {
    choice = policy_->choose(candidates, demand);
    choice.route.policy = policy_->name();
    choice.route.num_members = static_cast<int>(candidates.size());
  }
  const Candidate& chosen = candidates[choice.index];
  choice.route.num_cached = chosen.num_cached;
  choice.route.load = chosen.load;
  if (!field.helpers.empty()) send_prefill(field, demand, chosen, choice.route);
  return WorkerLease(field.seats[choice.index]->member, std::move(use), std::move(choice.route));
}

void Pool::send_prefill(const Field& field, const Demand& demand, const Candidate& decoder,
                        Route& route) const {
  if (demand.outline == nullptr) return;
  const base::TimePoint now = clock_.now();
  const auto prefill = choose_prefill(options_.prefill, decoder, field.helpers, *demand.outline, now);
  if (!prefill) return;
  WorkerMember& helper = *field.helper_seats[prefill->index]->member;
  helper.sent_prefills.add(now, prefill->own_s);
  trials_.begin(helper.address, now);
  route.prefill_member = helper.id;
  route.prefill = {helper.address, prefill->patience_s};
  route.expected_ttft_s = prefill->ttft_s;
}

std::vector<MemberStatus> Pool::status() const {
  std::vector<MemberStatus> all;
  // Workers have locks of their own, so they are called without the pool's lock.
  for (const Seat& seat : *members())
    all.push_back({.id = seat.member->id,
                   .is_prefill = is_prefill(seat),
                   .num_leases = seat.member->num_leases(),
                   .report = seat.member->worker->report(),
                   .num_prefill_ejections = trials_.count(seat.member->address)});
  return all;
}

}  // namespace kvasir::router
