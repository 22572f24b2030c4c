#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/access/api_keys.h"
#include "coordinator/access/trusted_proxies.h"

namespace CLI {
class App;
}  // namespace CLI

namespace scorecast::launcher {

class ListeningSockets;

/// The flags of `serve` and `front` that say who is let in.
struct AccessFlags {
  std::filesystem::path api_keys;    ///< A file of keys; empty: everybody is let in.
  std::filesystem::path front_keys;  ///< A file of the keys of fronts; empty: there is none.
  bool insecure = false;             ///< Everybody is, even from other hosts.
  bool open_metrics = false;         ///< /metrics needs no key.
  std::vector<std::string> proxies;  ///< See TrustedProxies::Add.
};

/// `has_fronts`: a front may be let in, so there is --front-key.
void AddAccessFlags(CLI::App& app, AccessFlags& flags, bool has_fronts);

/// The keys; null if there are none. Throws StartupError if the flags contradict each other, or if
/// the file cannot be read or has a fault.
std::shared_ptr<coordinator::ApiKeys> ReadApiKeys(const AccessFlags& flags);

/// The keys of fronts; null if there are none. Throws StartupError if the file cannot be read or
/// has a fault.
std::shared_ptr<coordinator::ApiKeys> ReadFrontKeys(const AccessFlags& flags);

coordinator::TrustedProxies ProxiesOf(const AccessFlags& flags);

/// Throws StartupError if other hosts can reach a socket of `names` although keys are neither given
/// nor renounced. Warns if they are renounced. The names are reserved.
void CheckReach(const AccessFlags& flags, const ListeningSockets& sockets,
                const std::vector<std::string>& names);

}  // namespace scorecast::launcher
