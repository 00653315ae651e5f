#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/clock.h"
#include "remote/peer.h"

namespace kvasir::remote {

std::shared_ptr<grpc::ChannelCredentials> client_credentials(const PeerOptions& options);
// With certificates, callers must have a certificate of the fleet.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const PeerOptions& options);

struct ChannelOptions {
  std::string address;  // HOST:PORT
  PeerOptions peer;
  // A peer that does not answer a ping within the timeout is lost.
  base::Duration ping_every = std::chrono::seconds(2);
  base::Duration ping_timeout = std::chrono::milliseconds(2500);
  base::Duration first_retry = std::chrono::milliseconds(50);  // doubles up to the last one
  base::Duration last_retry = std::chrono::seconds(1);
};
// Opens a connection to a worker that is shared with no other channel.
std::shared_ptr<grpc::Channel> open_channel(const ChannelOptions& options);

// Sends what gRPC would write to stderr into the log: failed handshakes as warnings, at most a few a minute,
// and the rest as debug. Takes effect once in the process.
void quiet_grpc();

// Why a call ended, for an operator. Has a hint if one side has certificates and the other does not.
std::string reason_of(const grpc::Status& status, const PeerOptions& options);

}  // namespace kvasir::remote
