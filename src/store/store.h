#pragma once

#include "store/accounts.h"
#include "store/answers.h"
#include "store/batches.h"
#include "store/conversations.h"
#include "store/files.h"
#include "store/summaries.h"
#include "store/usage.h"

namespace kvasir::store {

// The durable records of a server. Several processes may share them. Calls may block on a disk or a peer, so
// make none on an I/O thread. All calls are thread-safe.
class Store {
 public:
  virtual ~Store() = default;

  virtual Conversations& conversations() = 0;
  virtual Answers& answers() = 0;
  virtual Summaries& summaries() = 0;
  virtual Files& files() = 0;
  virtual Batches& batches() = 0;
  virtual Accounts& accounts() = 0;
  virtual Usage& usage() = 0;
};

}  // namespace kvasir::store
