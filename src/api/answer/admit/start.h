#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "api/answer/job/job.h"
#include "api/answer/run/generation.h"
#include "api/http/caller/caller.h"
#include "api/http/service/promise.h"
#include "api/http/service/service.h"
#include "kv/block_hash.h"

// Every job reaches the engines through these functions.
namespace kvasir::api {

// The right to run a job, and the worker that will run it.
struct Place {
  tenancy::Permit permit;
  router::WorkerLease lease;
  kv::BlockChain blocks;                // the KV blocks of the first prompt
  std::shared_ptr<RequestMeter> meter;  // the meter of the request
  Promise promise = {};
};

// The facts that decide how long the job takes. The outline refers to the job and the blocks, which outlive
// it.
wire::Outline outline_of(const Job& job, const kv::BlockChain& blocks);

// Sets the origin of the job, reserves a place for it and picks a worker. A job may be admitted again after
// its place has been given back.
base::Result<Place> admit(Service& service, const Asker& asker, Job& job);

// Queues all of the job's sequences or none. Errors are worded for the client.
base::Result<std::unique_ptr<Generation>> start(Service& service, Place place, Job job,
                                                const boost::asio::any_io_executor& executor);

// `admit` and `start` in one call.
base::Result<std::unique_ptr<Generation>> start(Service& service, const Asker& asker, Job job,
                                                const boost::asio::any_io_executor& executor);

}  // namespace kvasir::api
