#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "remote/peer.h"

namespace kvasir::remote {

std::shared_ptr<grpc::ChannelCredentials> client_credentials(const PeerOptions& options);
// With certificates, callers must have one of the fleet.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const PeerOptions& options);

// What gRPC would write to stderr goes into the log, as debug. Once for the process.
void quiet_grpc();

}  // namespace kvasir::remote
