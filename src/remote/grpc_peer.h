#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "remote/peer.h"

namespace kvasir::remote {

std::shared_ptr<grpc::ChannelCredentials> client_credentials(const PeerOptions& options);
// With certificates, callers must have one of the fleet.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const PeerOptions& options);

// What gRPC would write to stderr goes into the log: failed handshakes as warnings, a few a minute, and the
// rest as debug. Once for the process.
void quiet_grpc();

// Why a call ended, for an operator; with a hint where one side has certificates and the other does not.
std::string reason_of(const grpc::Status& status, const PeerOptions& options);

}  // namespace kvasir::remote
