#include "fleet/etcd_options.h"

#include <fstream>
#include <utility>

namespace kvasir::fleet {

base::Result<EtcdOptions> etcd_options(const config::Settings& settings) {
  EtcdOptions options{
      .user = settings.etcd_user, .ca_file = settings.etcd_ca, .prefix = settings.etcd_prefix};
  for (const std::string& text : settings.etcd) {
    TRY(net::Url url, net::parse_url(text));
    options.endpoints.push_back(std::move(url));
  }
  if (!settings.etcd_password_file.empty()) {
    std::ifstream file(settings.etcd_password_file);
    if (!std::getline(file, options.password) || options.password.empty())
      return base::error(base::ErrorCode::invalid_argument, "--etcd-password-file: no password in '{}'",
                         settings.etcd_password_file);
  }
  return options;
}

}  // namespace kvasir::fleet
