#include "launcher/commands/replica_flags.h"

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "launcher/address/front_key.h"
#include "launcher/address/service_address.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/tls/client_tls.h"

namespace scorecast::launcher {
namespace {

/// Where the file of `serve --address-file` says that a service is.
proto::Expected<std::string, std::string> ReplicaAddressIn(std::string_view contents) {
  const auto address = ServiceAddress::FromJson(contents);
  if (!address) {
    return proto::Unexpected(std::string("it is not what serve --address-file writes"));
  }
  return address->requests.ToText();
}

}  // namespace

ReplicaFlagOptions AddReplicaFlags(CLI::App& app, ReplicaFlags& flags) {
  ReplicaFlagOptions options;
  options.replicas =
      app.add_option(
             "--replicas", flags.replicas,
             "Where the services are: a file of lines NAME HOST:PORT or NAME ADDRESS_FILE, or a "
             "directory of the files that serve --address-file writes. Looked at every second")
          ->type_name("FILE|DIR");
  options.front_key =
      app.add_option("--front-key", flags.front_key,
                     "File with the key, alone in its first line, which is shown to the services: "
                     "that of a line in their --front-key")
          ->type_name("FILE");
  options.tls = app.add_flag(
      "--replica-tls", flags.replica_tls,
      "Speaks TLS with the services, and uses none whose certificate is not of a known CA or not "
      "for the host of the address");
  options.tls_ca =
      app.add_option("--replica-tls-ca", flags.replica_tls_files.ca,
                     "Certificates of the CAs of services, in PEM; implies --replica-tls")
          ->type_name("FILE")
          ->default_str("the system's")
          ->each([&flags](const std::string&) { flags.replica_tls = true; });
  return options;
}

coordinator::ReplicaOptions ReplicaOptionsOf(const ReplicaFlags& flags) {
  coordinator::ReplicaOptions options;
  options.front_key = ReadFrontKey(flags.front_key);
  options.version = SCORECAST_VERSION;
  if (flags.replica_tls) {
    options.tls =
        proto::ClientTls{proto::TlsContext::OfClient(flags.replica_tls_files), /*server_name=*/""};
  }
  return options;
}

coordinator::ReplicaList ReplicaListOf(const ReplicaFlags& flags) {
  coordinator::ReplicaList list(flags.replicas, ReplicaAddressIn);
  list.Look();
  if (const std::string fault = list.fault(); !fault.empty()) {
    throw proto::StartupError("--replicas " + proto::OneLinePath(flags.replicas.string()) + ": " +
                              fault);
  }
  return list;
}

}  // namespace scorecast::launcher
