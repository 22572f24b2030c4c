#include "proto/mpi/agreement.h"

#include <array>
#include <map>
#include <sstream>

#include <unistd.h>

#include "proto/base/error.h"

namespace scorecast::proto {
namespace {

/// One line for each fingerprint: its digest, a space, its key.
std::string TextOf(const std::vector<Fingerprint>& fingerprints) {
  std::string text;
  for (const Fingerprint& fingerprint : fingerprints) {
    text += std::to_string(fingerprint.digest) + ' ' + fingerprint.key + '\n';
  }
  return text;
}

std::map<std::string, std::uint64_t> DigestsOf(const std::string& text) {
  std::map<std::string, std::uint64_t> digests;
  std::istringstream lines(text);
  std::uint64_t digest = 0;
  for (std::string key; lines >> digest && lines.ignore() && std::getline(lines, key);) {
    digests.emplace(key, digest);
  }
  return digests;
}

}  // namespace

void AgreeOn(const Communicator& group, const std::vector<Fingerprint>& mine) {
  const std::string of_root = group.AllGather(TextOf(mine)).front();
  StartupPhase(group, [&] {
    std::map<std::string, std::uint64_t> expected = DigestsOf(of_root);
    const std::string host = "host " + HostName();
    for (const Fingerprint& fingerprint : mine) {
      const auto found = expected.extract(fingerprint.key);
      if (!found) {
        throw StartupError(host + " has " + fingerprint.key + ", which rank 0 does not have");
      }
      if (found.mapped() != fingerprint.digest) {
        throw StartupError(host + ": " + fingerprint.fault);
      }
    }
    if (!expected.empty()) {
      throw StartupError(host + " lacks " + expected.begin()->first + ", which rank 0 has");
    }
  });
}

std::string HostName() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace scorecast::proto
