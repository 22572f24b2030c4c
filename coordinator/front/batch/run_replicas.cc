#include "coordinator/front/batch/run_replicas.h"

#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

/// A limit of lines for replicas that do not say theirs: more than any model needs.
constexpr std::int64_t kUsualMaxValues = std::int64_t{1} << 20;

}  // namespace

proto::Expected<std::optional<RunReplicas>, std::string> FindRunReplicas(const Replicas& replicas) {
  if (!replicas.groups().is_complete()) {
    return std::optional<RunReplicas>();
  }
  std::optional<RunReplicas> found;
  for (const ReplicaGroup& group : replicas.groups().groups()) {
    if (group.members.empty()) {
      continue;
    }
    if (found) {
      return proto::Unexpected("the replicas have several models, " +
                               proto::Quoted(found->facts.model) + " and " +
                               proto::Quoted(group.model()) + ": list those of one");
    }
    const v1::HelloReply& hello = replicas.listed().at(group.members.front())->connection->hello();
    found =
        RunReplicas{.facts = group.facts,
                    .max_request_bytes = hello.max_request_bytes(),
                    .max_values = hello.max_values() > 0 ? hello.max_values() : kUsualMaxValues};
  }
  return found;
}

RunSettings RunSettingsOf(const ReplicaFacts& facts) {
  return {
      {"--replicas", "given"},
      {"the replicas' model", facts.model},
      {"the replicas' kind of model", facts.kind},
      {"the replicas' fingerprint", facts.fingerprint},
      {"the replicas' --dtype", facts.dtype},
      {"the replicas' --kernel", facts.kernel_set},
      {"the replicas' version of scorecast", facts.version},
  };
}

}  // namespace scorecast::coordinator
