#include "launcher/commands/access_flags.h"

#include <string_view>

#include <CLI/CLI.hpp>

#include "launcher/commands/listening_sockets.h"
#include "proto/base/count.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/log/log.h"

namespace scorecast::launcher {

void AddAccessFlags(CLI::App& app, AccessFlags& flags, bool has_fronts) {
  app.add_option("--api-keys", flags.api_keys,
                 "File of the keys with which clients are let in: lines NAME KEY, or NAME "
                 "sha256:HEX, and limits behind them (docs/keys.md). Read again when it changes. "
                 "Needed as soon as --host is not a loopback address")
      ->type_name("FILE");
  if (has_fronts) {
    app.add_option(
           "--front-key", flags.front_keys,
           "File with the key of a front, which is trusted to let clients in and to say whose "
           "requests it passes on; its lines are those of --api-keys")
        ->type_name("FILE");
  }
  app.add_flag("--insecure", flags.insecure,
               "Lets everybody in without a key, although --host is not a loopback address");
  app.add_flag("--open-metrics", flags.open_metrics,
               "With --api-keys: /metrics needs no key, as /health and /ready never do");
  app.add_option("--proxy", flags.proxies,
                 "Address, or network as ADDRESS/BITS, of proxies that are trusted to say for whom "
                 "they connect, by X-Forwarded-For or the PROXY protocol; repeat for each")
      ->type_name("ADDRESS[/BITS]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::Validator(
          [](const std::string& text) { return coordinator::TrustedProxies().Add(text); }, ""))
      ->default_str("none");
}

namespace {

std::shared_ptr<coordinator::ApiKeys> ReadKeys(const std::filesystem::path& file,
                                               std::string_view flag) {
  auto keys = std::make_shared<coordinator::ApiKeys>(file, flag);
  proto::LogInfo("{} {}: {}", flag, proto::OneLinePath(file.string()),
                 proto::Count(keys->size(), "key"));
  return keys;
}

}  // namespace

std::shared_ptr<coordinator::ApiKeys> ReadApiKeys(const AccessFlags& flags) {
  if (flags.api_keys.empty()) {
    if (flags.open_metrics) {
      throw proto::StartupError("--open-metrics needs --api-keys, without which all is open");
    }
    return nullptr;
  }
  if (flags.insecure) {
    throw proto::StartupError("--insecure and --api-keys contradict each other");
  }
  return ReadKeys(flags.api_keys, "--api-keys");
}

std::shared_ptr<coordinator::ApiKeys> ReadFrontKeys(const AccessFlags& flags) {
  return flags.front_keys.empty() ? nullptr : ReadKeys(flags.front_keys, "--front-key");
}

coordinator::TrustedProxies ProxiesOf(const AccessFlags& flags) {
  coordinator::TrustedProxies proxies;
  for (const std::string& proxy : flags.proxies) {
    proxies.Add(proxy);  // Was checked when the command line was parsed.
  }
  return proxies;
}

void CheckReach(const AccessFlags& flags, const ListeningSockets& sockets,
                const std::vector<std::string>& names) {
  if (!flags.api_keys.empty()) {
    return;
  }
  for (const std::string& name : names) {
    if (sockets.IsOnLoopback(name)) {
      continue;
    }
    const std::string address = sockets.AddressOf(name).ToText();
    if (!flags.insecure) {
      throw proto::StartupError(
          "other hosts can reach " + address +
          ", so give --api-keys FILE (scorecast key new makes a key), or --insecure to let "
          "everybody in");
    }
    proto::LogWarning("--insecure: everybody who can reach {} is let in", address);
  }
}

}  // namespace scorecast::launcher
