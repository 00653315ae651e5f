#include "app/service_notice.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "config/environment.h"
#include "obs/log.h"

namespace kvasir::app {

void notify_service(std::string_view state) {
  const std::string path = config::environment("NOTIFY_SOCKET");
  if (path.empty()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return obs::Log::warn("notify_socket", {{"path", path}});
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path.front() == '@') address.sun_path[0] = '\0';  // an abstract name, without a file
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (socket < 0 || ::sendto(socket, state.data(), state.size(), MSG_NOSIGNAL, generic, size) < 0)
    obs::Log::warn("notify_socket", {{"path", path}, {"reason", std::strerror(errno)}});
  if (socket >= 0) ::close(socket);
}

}  // namespace kvasir::app
