#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "api/answer/generation.h"
#include "api/answer/job.h"
#include "api/http/caller.h"
#include "api/http/service.h"

// The one way from a job to the engines.
namespace kvasir::api {

// The right to run a job, and the worker that is going to.
struct Place {
  tenancy::Permit permit;
  router::WorkerLease lease;
};

// Writes into the job whose it is, asks for its place among others' and for a worker.
base::Result<Place> admit(Service& service, const Asker& asker, Job& job);

// Queues the job's sequences, or none of them. Errors are in the client's words.
base::Result<std::unique_ptr<Generation>> start(Service& service, Place place, Job job,
                                                const boost::asio::any_io_executor& executor);

// Both.
base::Result<std::unique_ptr<Generation>> start(Service& service, const Asker& asker, Job job,
                                                const boost::asio::any_io_executor& executor);

// The worker's words for a sequence that cannot fit are about memory. To the client its prompt is too long,
// or its grammar too complex.
base::Error as_client_error(base::Error error);

}  // namespace kvasir::api
