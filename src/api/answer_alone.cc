#include "api/answer_alone.h"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "api/request_id.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::ErrorCode;
using base::Result;

namespace {

struct Prepared {
  Job job;
  tenancy::Permit permit;
  std::unique_ptr<ResponseShape> shape;
};

Result<Prepared> prepare(Service& service, const LoneRequest& request) {
  TRY(ReadRequest read, request.read(service, request.body));
  if (read.params.stream) return in_field("stream", wrong_value("nobody would read the stream"));
  if (read.tool_chat) return in_field("server_tools", not_supported("calling them here is"));
  TRY(Job job, read.encode({}));
  if (job.unsummarized) return in_field("context_policy", not_supported("making summaries here is"));
  const tenancy::Tenant tenant = tenancy::anonymous();
  tenancy::Cost cost{.sequences = static_cast<int>(job.sequences.size())};
  for (wire::GenerateRequest& sequence : job.sequences) {
    sequence.cache_namespace = tenant.name;
    sequence.priority = request.priority;
    cost.tokens += static_cast<std::int64_t>(sequence.prompt.size()) + sequence.max_tokens;
  }
  TRY(tenancy::Permit permit, service.admission.enter(tenant, cost));
  AnswerHead head = make_head(read.params, job.lease, make_answer_id(request.kind.id_prefix));
  if (job.context.worth_telling())
    head.extra = std::make_shared<json::object>(json::object{{"context", context_object(job.context)}});
  std::unique_ptr<ResponseShape> shape = read.make_shape(std::move(head));
  return Prepared{std::move(job), std::move(permit), std::move(shape)};
}

}  // namespace

asio::awaitable<Result<std::string>> answer_alone(Service& service, asio::any_io_executor executor,
                                                  LoneRequest request,
                                                  std::function<void(Generation*)> running) {
  Result<Prepared> prepared = prepare(service, request);
  if (!prepared.ok()) co_return std::move(prepared).error();
  ModelMetrics& metrics = service.metrics.of_model(prepared->job.lease.name());
  Result<std::unique_ptr<Generation>> generation = Generation::start(
      std::move(prepared->job), std::move(prepared->permit), {executor, service.clock, metrics});
  if (!generation.ok()) co_return std::move(generation).error();
  running(generation->get());
  std::vector<Delta> choices(static_cast<std::size_t>((*generation)->num_choices()));
  Result<std::vector<Delta>> deltas = std::vector<Delta>();
  while (deltas.ok() && !(*generation)->over()) {
    deltas = co_await (*generation)->next(std::chrono::seconds(5));
    if (!deltas.ok()) break;
    for (Delta& delta : *deltas) {
      Delta& sum = choices[static_cast<std::size_t>(delta.index)];
      join(sum, std::move(delta));
    }
  }
  running(nullptr);
  if (!deltas.ok()) co_return std::move(deltas).error();
  if ((*generation)->cancelled()) co_return base::error(ErrorCode::cancelled, "the batch was cancelled");
  co_return prepared->shape->whole(choices, (*generation)->usage());
}

}  // namespace kvasir::api
