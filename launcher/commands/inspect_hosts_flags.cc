#include <cstdint>

#include <CLI/CLI.hpp>

#include "launcher/commands/inspect_hosts.h"

namespace scorecast::launcher {

void AddInspectHostsFlags(CLI::App& app, InspectHostsFlags& flags) {
  CLI::Option_group* const group = app.add_option_group("Cluster");
  CLI::Option* const hosts =
      group
          ->add_option("--hosts", flags.hosts,
                       "Predicts for 1 to N equal hosts the best layouts of ranks, and the time of "
                       "a request. Reads only config.json of the model")
          ->check(CLI::Range(1, 1024))
          ->type_name("N");
  CLI::Option* const cores = group->add_option("--cores", flags.cores, "Cores of each host")
                                 ->check(CLI::Range(1, 4096))
                                 ->type_name("N");
  CLI::Option* const calibration =
      group
          ->add_option("--calibration", flags.calibrations,
                       "File that serve --write-calibration has written on such a host; several "
                       "may be given, of one precision and other layouts")
          ->type_name("FILE");
  hosts->needs(cores)->needs(calibration);
  cores->needs(hosts);
  calibration->needs(hosts);
  const auto add = [&](const char* name, auto& value, const char* text, double least, double most) {
    return group->add_option(name, value, text)->check(CLI::Range(least, most))->needs(hosts);
  };
  add("--bandwidth", flags.bandwidth,
      "Gbit/s of a host's network card in each direction; needed for more than one host", 1e-6,
      1e6);
  add("--latency", flags.latency,
      "Microseconds that a message between hosts takes longer than in the calibration", 0, 1e7)
      ->capture_default_str();
  add("--memory-bandwidth", flags.memory_bandwidth,
      "GB/s at which all cores of a host together read memory; without it, each core reads as fast "
      "as in the calibration",
      1e-3, 1e6);
  add("--host-memory", flags.host_memory, "GiB of a host that the ranks may use", 1e-3, 1e7)
      ->default_str("that of this host");
  const auto add_tokens = [&](const char* name, std::int64_t& value, const char* text,
                              std::int64_t least) {
    group->add_option(name, value, text)
        ->check(CLI::Range(least, std::int64_t{1} << 20))
        ->needs(hosts)
        ->capture_default_str();
  };
  add_tokens("--query-tokens", flags.query_tokens, "Tokens of the request's query", 0);
  add_tokens("--items", flags.items, "Items of the request", 1);
  add_tokens("--item-tokens", flags.item_tokens, "Tokens of each item", 1);
  group->add_flag("--json", flags.json, "Prints JSON, with every layout that was compared")
      ->needs(hosts);
}

}  // namespace scorecast::launcher
