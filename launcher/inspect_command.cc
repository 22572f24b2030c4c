#include <cstdio>
#include <memory>
#include <string>

#include "coordinator/request/delimiter_flag.h"
#include "coordinator/text/tokenizer.h"
#include "launcher/commands.h"
#include "launcher/plan_limits.h"
#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/linear/arithmetic.h"
#include "shard/model/memory_estimate.h"
#include "shard/model/tensors.h"

namespace scorecast::launcher {
namespace {

double Mib(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string Text(proto::Range range) {
  return range.empty() ? "none"
                       : std::to_string(range.begin) + ".." + std::to_string(range.end - 1);
}

void PrintModel(const proto::ModelConfig& config) {
  std::printf("model\n");
  std::printf("  architecture        %s\n", config.architecture.c_str());
  std::printf("  stored dtype        %s\n", config.dtype.empty() ? "?" : config.dtype.c_str());
  std::printf("  parameters          %lld\n",
              static_cast<long long>(shard::CountParameters(config)));
  std::printf("  layers              %lld\n", static_cast<long long>(config.num_hidden_layers()));
  std::printf("  hidden_size         %lld\n", static_cast<long long>(config.hidden_size));
  std::printf("  intermediate_size   %lld\n", static_cast<long long>(config.intermediate_size));
  std::printf("  heads               %lld query, %lld K/V, head_dim %lld\n",
              static_cast<long long>(config.num_attention_heads),
              static_cast<long long>(config.num_key_value_heads),
              static_cast<long long>(config.head_dim));
  std::printf("  vocab_size          %lld%s\n", static_cast<long long>(config.vocab_size),
              config.tie_word_embeddings ? ", lm-head tied to the embeddings" : "");
  std::printf("  positions           %lld\n",
              static_cast<long long>(config.max_position_embeddings));
}

void PrintTokenizer(const coordinator::Tokenizer* tokenizer) {
  std::printf("\ntokenizer\n");
  if (tokenizer == nullptr) {
    std::printf("  none: requests of token ids only\n");
    return;
  }
  std::printf("  kind                %s\n", std::string(tokenizer->kind()).c_str());
  std::printf("  tokens              %lld\n", static_cast<long long>(tokenizer->vocab_size()));
  const std::string bos = tokenizer->bos() ? std::to_string(*tokenizer->bos()) : "none added";
  std::printf("  BOS                 %s\n", bos.c_str());
  std::printf("  special tokens\n");
  for (const coordinator::SpecialToken& token : tokenizer->special_tokens()) {
    std::printf("    %8d  %s\n", token.id, token.text.c_str());
  }
}

void PrintPartition(const proto::ModelConfig& config, int ranks, const proto::PlanLimits& limits,
                    shard::ProductPrecisions precisions) {
  std::printf(
      "\npartition over %d rank%s; memory in MiB, %s, at the largest pass; touched: the part of "
      "activations and K/V that is touched at start, for passes of up to %u rows\n",
      ranks, ranks == 1 ? "" : "s", std::string(shard::Name(precisions.layers)).c_str(),
      proto::kTouchedBucket);
  std::printf("  %4s  %-12s %-12s %-16s %-18s %10s %12s %10s %10s\n", "rank", "heads", "K/V heads",
              "intermediate", "vocabulary", "weights", "activations", "K/V", "touched");
  for (int rank = 0; rank < ranks; ++rank) {
    const proto::Partition part = proto::MakePartition(config, rank, ranks);
    const shard::MemoryEstimate memory = shard::EstimateMemory(config, part, limits, precisions);
    std::printf("  %4d  %-12s %-12s %-16s %-18s %10.1f %12.1f %10.1f %10.1f\n", rank,
                Text(part.heads).c_str(), Text(part.kv_heads).c_str(),
                Text(part.intermediate).c_str(), Text(part.vocabulary).c_str(), Mib(memory.weights),
                Mib(memory.activations), Mib(memory.kv), Mib(memory.touched));
  }
}

}  // namespace

int RunInspectCommand(const InspectFlags& flags) {
  CheckEngineFlags(flags.engine);
  const proto::ModelConfig config = proto::LoadModelConfig(flags.engine.model);
  const std::unique_ptr<coordinator::Tokenizer> tokenizer =
      coordinator::LoadTokenizer(flags.engine.model);
  if (!flags.engine.delimiter.empty()) {
    coordinator::DelimiterFromFlag(flags.engine.delimiter, tokenizer.get(), config);
  }
  shard::CheckTensors(shard::Checkpoint::Open(flags.engine.model), config);
  const shard::InstructionSet instruction_set = InstructionSetFromFlag(flags.engine.kernel);
  const shard::ProductPrecisions precisions =
      shard::ChooseArithmeticOfEngine(instruction_set, shard::PrecisionFromName(flags.engine.dtype))
          .precisions();
  // The ranks may run on several hosts; the limits assume a host for each.
  const EngineLimits limits = MakeEngineLimits(flags.engine, config, precisions, flags.ranks,
                                               /*ranks_here=*/1, HostMemory());
  PrintModel(config);
  PrintTokenizer(tokenizer.get());
  PrintPartition(config, flags.ranks, limits.plan, precisions);
  return kExitOk;
}

}  // namespace scorecast::launcher
