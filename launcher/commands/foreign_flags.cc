#include "launcher/commands/foreign_flags.h"

#include <algorithm>
#include <array>

namespace scorecast::launcher {
namespace {

struct ForeignFlag {
  std::string_view flag;
  std::string_view hint;
};

constexpr std::string_view kModel = "the model's directory is --model";
constexpr std::string_view kRanks =
    "the number of ranks is mpirun's -n, and any number up to the attention heads will do";
constexpr std::string_view kPrefill =
    "not needed: long requests are computed in several passes, of --max-batch-tokens and "
    "--max-pass-ms at most";
constexpr std::string_view kMemory =
    "not needed: memory for keys and values is --kv-cache-mb, on each rank";
constexpr std::string_view kLength =
    "not needed: the model's max_position_embeddings counts, and requests are limited by "
    "--max-request-bytes";
constexpr std::string_view kNoGpu = "not needed: everything is computed on CPUs";
constexpr std::string_view kNoCode =
    "not needed: no code of a model directory is run (families that load: docs/families.md)";
constexpr std::string_view kTask =
    "the model directory says what the model is used for; --task changes it";
constexpr std::string_view kKeys = "keys are in a file: --api-keys FILE, scorecast key new NAME";
constexpr std::string_view kConnections =
    "connections are bounded by --max-connections, waiting requests by --max-queue";
constexpr std::string_view kLog = "--log-level debug logs a line for each request";

/// The flags with which people really start these engines, in the order of their names.
constexpr auto kFlags = std::to_array<ForeignFlag>({
    {"--api-key", kKeys},
    {"--attention-backend", "the kernels are chosen by --kernel"},
    {"--auto-truncate", "requests say whether texts are cut: truncate, truncate_prompt_tokens"},
    {"--chunked-prefill-size", kPrefill},
    {"--cuda-graph-max-bs", kNoGpu},
    {"--device", kNoGpu},
    {"--disable-cuda-graph", kNoGpu},
    {"--disable-log-requests", "not needed: requests are logged only by --log-level debug"},
    {"--disable-radix-cache", "--kv-cache-mb 0 turns the cache off"},
    {"--download-dir", "models are read from a directory, --model, and never downloaded"},
    {"--dp-size", "give --threads and mpirun's -n all CPUs; more services need a proxy (deploy/)"},
    {"--enable-chunked-prefill", kPrefill},
    {"--enable-prefix-caching", "not needed: prefixes are cached (--kv-cache-mb)"},
    {"--enforce-eager", kNoGpu},
    {"--gpu-memory-utilization", kMemory},
    {"--is-embedding", kTask},
    {"--max-batch-requests", "a pass has as many requests as fit: --max-batch-tokens"},
    {"--max-client-batch-size", "texts of a request are bounded by --max-items"},
    {"--max-concurrent-requests", kConnections},
    {"--max-model-len", kLength},
    {"--max-num-batched-tokens", "tokens of a pass are --max-batch-tokens"},
    {"--max-num-seqs", "a pass has as many requests as fit: --max-batch-tokens"},
    {"--max-prefill-tokens", "tokens of a pass are --max-batch-tokens"},
    {"--max-running-requests", "waiting requests are bounded by --max-queue"},
    {"--mem-fraction-static", kMemory},
    {"--model-id", kModel},
    {"--model-path", kModel},
    {"--no-enable-prefix-caching", "--kv-cache-mb 0 turns the cache off"},
    {"--override-pooler-config", kTask},
    {"--pipeline-parallel-size", kRanks},
    {"--quantization", "--dtype int8 quantizes the weights while they are read"},
    {"--runner", kTask},
    {"--ssl-certfile", "TLS is --tls-cert and --tls-key"},
    {"--ssl-keyfile", "TLS is --tls-cert and --tls-key"},
    {"--tensor-parallel-size", kRanks},
    {"--tokenizer-path", "the tokenizer is that of the model's directory"},
    {"--tp", kRanks},
    {"--tp-size", kRanks},
    {"--trust-remote-code", kNoCode},
    {"--uvicorn-log-level", kLog},
});

}  // namespace

std::string HintForFlag(std::string_view flag) {
  const auto found = std::ranges::find(kFlags, flag, &ForeignFlag::flag);
  return found == kFlags.end() ? "" : std::string(found->hint);
}

}  // namespace scorecast::launcher
