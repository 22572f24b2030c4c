#include "launcher/engine/startup_agreement.h"

#include <string>
#include <vector>

#include "launcher/engine/build_id.h"
#include "proto/base/digest.h"
#include "proto/base/one_line.h"
#include "proto/base/regular_file.h"
#include "proto/model/read_head.h"
#include "proto/model/sentence_bert_file.h"
#include "proto/mpi/agreement.h"

namespace scorecast::launcher {
namespace {

using proto::Fingerprint;

Fingerprint OfFlag(const std::string& flag, const std::string& value) {
  return {flag, proto::DigestOf(value), flag + " " + value + " differs from rank 0's"};
}

}  // namespace

void AgreeOnBuild(const proto::Communicator& group) {
  const std::string id = BuildId();
  proto::AgreeOn(group, {{"scorecast", proto::DigestOf(id),
                          "runs another build of scorecast (" SCORECAST_VERSION ", build id " + id +
                              ") than rank 0"}});
}

void AgreeOnFlags(const proto::Communicator& group, const EngineFlags& flags) {
  proto::AgreeOn(
      group,
      {OfFlag("--one-by-one", flags.server.one_by_one ? "(given)" : "(absent)"),
       OfFlag("--enable-mis", flags.server.enable_mis ? "(given)" : "(absent)"),
       OfFlag("--multi-item-scoring-delimiter", flags.delimiter.empty() ? "(absent)" : "(given)"),
       OfFlag("--rerank-template",
              flags.rerank_template.empty() ? "(absent)" : flags.rerank_template),
       OfFlag("--decision-template",
              flags.decision_template.empty() ? "(absent)" : flags.decision_template),
       OfFlag("--chat-template", flags.chat_template.empty() ? "(absent)" : flags.chat_template),
       OfFlag("--task", flags.task), OfFlag("--prompt", PromptsText(flags)),
       OfFlag("--ignore-config-key", IgnoredKeysText(flags)),
       OfFlag("--max-items", std::to_string(flags.server.max_items)),
       OfFlag("--max-multi-item-seq-len", std::to_string(flags.server.max_multi_item_seq_len)),
       OfFlag("--max-batch-tokens", std::to_string(flags.max_batch_tokens)),
       OfFlag("--kv-cache-mb", flags.kv_cache_mb ? std::to_string(*flags.kv_cache_mb) : "(absent)"),
       OfFlag("--dtype", flags.dtype),
       OfFlag("--rank-invariant", flags.rank_invariant ? "(given)" : "(absent)")});
}

void AgreeOnConfig(const proto::Communicator& group, const EngineFlags& flags,
                   const proto::ModelConfig& config) {
  const std::filesystem::path path = flags.model / "config.json";
  std::string text;
  proto::ConfigArguments arguments;
  proto::StartupPhase(group, [&] {
    text = proto::ReadRegularFile(path);
    arguments = proto::ReadConfigArguments(flags.model);
  });
  const std::string head = config.read_head ? proto::Describe(*config.read_head) : "none";
  proto::AgreeOn(group, {{"config.json", proto::DigestOf(text),
                          proto::OneLinePath(path.string()) + " differs from rank 0's"},
                         {"config_kwargs", proto::DigestOf(arguments.fields.dump()),
                          proto::OneLinePath((flags.model / "sentence_bert_config.json").string()) +
                              ": config_kwargs differs from rank 0's"},
                         {"modules.json", proto::DigestOf(head),
                          proto::OneLinePath((flags.model / "modules.json").string()) +
                              " and its modules differ from rank 0's: " + head}});
}

void AgreeOnSettings(const proto::Communicator& group, const coordinator::RunSettings& settings) {
  std::vector<Fingerprint> fingerprints;
  for (const auto& [name, value] : settings) {
    const std::string of_root = group.AllGather(value).front();
    fingerprints.push_back(
        {name, proto::DigestOf(value), name + " is " + value + ", and rank 0 has " + of_root});
  }
  proto::AgreeOn(group, fingerprints);
}

}  // namespace scorecast::launcher
