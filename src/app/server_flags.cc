#include "app/server_flags.h"

#include <CLI/CLI.hpp>

namespace kvasir::app {

void add_server_flags(CLI::App& command, ChatClient::Options& options) {
  command.add_option("--url", options.url, "Address of the server")
      ->type_name("URL")
      ->envname("KVASIR_URL")
      ->capture_default_str();
  command.add_option("--api-key", options.api_key, "Key for a server that wants one")
      ->type_name("KEY")
      ->envname("KVASIR_API_KEY");
  command.add_option("--ca-file", options.ca_file, "PEM file of certificates to trust, besides the system's")
      ->type_name("FILE")
      ->envname("KVASIR_CA_FILE");
}

}  // namespace kvasir::app
