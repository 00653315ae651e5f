#pragma once

#include <string_view>

namespace kvasir::app {

inline constexpr std::string_view kServiceReady = "READY=1";
inline constexpr std::string_view kServiceStops = "STOPPING=1";

// Reports this process's state to the service manager that started it: one datagram to the socket that
// NOTIFY_SOCKET names, as systemd's units of Type=notify expect. Does nothing if there is no such socket.
void notify_service(std::string_view state);

}  // namespace kvasir::app
