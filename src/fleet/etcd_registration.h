#pragma once

#include <atomic>
#include <stop_token>
#include <thread>

#include "fleet/etcd_client.h"
#include "fleet/worker_list.h"

namespace kvasir::fleet {

// Keeps a worker registered in etcd, under a lease that runs out when the worker is silent. While etcd is out
// of reach it keeps trying; when etcd has lost the lease, or all its data, it registers again. The destructor
// removes the worker from etcd within two seconds.
class EtcdRegistration {
 public:
  EtcdRegistration(EtcdOptions options, WorkerPlace place);
  ~EtcdRegistration();
  EtcdRegistration(const EtcdRegistration&) = delete;
  EtcdRegistration& operator=(const EtcdRegistration&) = delete;

  // False while etcd cannot be reached and the lease may have run out.
  bool registered() const { return lease_ != 0; }

 private:
  void run(const std::stop_token& stop);
  base::Status renew(const std::stop_token& stop);

  EtcdClient client_;
  const WorkerPlace place_;
  std::atomic<std::int64_t> lease_{0};  // 0: none
  std::jthread thread_;                 // declared last: it ends before what it uses
};

}  // namespace kvasir::fleet
