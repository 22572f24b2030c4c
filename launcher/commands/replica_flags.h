#pragma once

#include <filesystem>

#include "coordinator/front/replica_connection.h"
#include "coordinator/front/replica_list.h"
#include "proto/tls/tls_context.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace scorecast::launcher {

/// The flags of what connects to services: `front` and `batch`.
struct ReplicaFlags {
  std::filesystem::path replicas;   ///< See ReplicaList.
  std::filesystem::path front_key;  ///< A file with the key that is shown to replicas.
  bool replica_tls = false;
  proto::TlsClientFiles replica_tls_files;
};

/// The options that AddReplicaFlags adds.
struct ReplicaFlagOptions {
  CLI::Option* replicas = nullptr;
  CLI::Option* front_key = nullptr;
  CLI::Option* tls = nullptr;
  CLI::Option* tls_ca = nullptr;
};

ReplicaFlagOptions AddReplicaFlags(CLI::App& app, ReplicaFlags& flags);

/// How to connect. Throws StartupError.
coordinator::ReplicaOptions ReplicaOptionsOf(const ReplicaFlags& flags);
/// Where to connect, after a first look. Throws StartupError if that finds a fault in the list. One
/// that comes later changes nothing.
coordinator::ReplicaList ReplicaListOf(const ReplicaFlags& flags);

}  // namespace scorecast::launcher
