#pragma once

#include <string_view>

namespace kvasir::app {

inline constexpr std::string_view kServiceReady = "READY=1";
inline constexpr std::string_view kServiceStops = "STOPPING=1";

// Tells the service manager that has started this process how it stands: one datagram to the socket that
// NOTIFY_SOCKET names, as systemd's units of Type=notify expect. Without such a socket nothing happens.
void notify_service(std::string_view state);

}  // namespace kvasir::app
