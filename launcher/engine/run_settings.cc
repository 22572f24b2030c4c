#include "launcher/engine/run_settings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "coordinator/chat/chat_prompts.h"
#include "coordinator/decisions/decider.h"
#include "coordinator/rerank/reranker.h"
#include "proto/base/digest.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/base/regular_file.h"
#include "proto/model/generation_config.h"
#include "proto/plan/gumbel.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/arithmetic.h"
#include "shard/model/open_checkpoint.h"

namespace scorecast::launcher {
namespace {

constexpr const char* kKernelSet = "--kernel";
constexpr const char* kLibrary = "the library of products";

void Add(proto::Digest& digest, std::string_view text) {
  digest.Add(std::as_bytes(std::span(text)));
  // A separator, so that two texts have another digest than one joined text.
  digest.Add(std::as_bytes(std::span("", 1)));
}

/// Whether a file belongs to the configuration or the tokenizer: these have no other suffixes.
bool IsModelText(const std::filesystem::path& path) {
  static constexpr std::array<std::string_view, 4> kKinds = {".json", ".model", ".txt", ".jinja"};
  return std::ranges::find(kKinds, path.extension().string()) != kKinds.end();
}

/// Tells models apart by their configuration, their tokenizer, and samples of their weights. So
/// most wrong models are refused before they are loaded.
std::string ModelFingerprint(const std::filesystem::path& model, const proto::ModelConfig& config) {
  std::vector<std::filesystem::path> texts;
  std::error_code fault;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator entry(model, fault); !fault && entry != end;
       entry.increment(fault)) {
    std::error_code ignored;  // Only regular files are read.
    if (entry->is_regular_file(ignored) && IsModelText(entry->path())) {
      texts.push_back(entry->path());
    }
  }
  if (fault) {
    throw proto::StartupError(proto::OneLinePath(model.string()) +
                              ": its files cannot be listed: " + fault.message());
  }
  std::ranges::sort(texts);
  proto::Digest digest;
  for (const std::filesystem::path& path : texts) {
    Add(digest, path.filename().string());
    Add(digest, proto::ReadRegularFile(path));
  }
  for (const auto& file : shard::OpenCheckpoint(model, config).Digests()) {
    Add(digest, file.name);
    Add(digest, std::to_string(file.digest));
  }
  return fmt::format("{:016x}", digest.value());
}

/// ", " and the digest of a template's file; empty if the flag names none.
std::string DigestOfFile(const std::string& flag) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(flag, ignored)
             ? fmt::format(", {:016x}", proto::DigestOf(proto::ReadRegularFile(flag)))
             : "";
}

std::string TemplateText(const std::string& flag, const coordinator::Reranker* reranker) {
  if (reranker == nullptr) {
    return "none";
  }
  return reranker->name() + ", " + reranker->FormulaText() + DigestOfFile(flag);
}

std::string TemplateText(const std::string& flag, const coordinator::Decider* decider) {
  return decider == nullptr ? "none" : decider->name() + DigestOfFile(flag);
}

std::string TemplateText(const std::string& flag, const coordinator::ChatPrompts* chat) {
  return chat == nullptr ? "none" : chat->name() + DigestOfFile(flag);
}

std::string Given(bool is_given) { return is_given ? "given" : ""; }

/// Tells C libraries apart whose exp and log round differently: glibc has several variants, of
/// which it chooses one by the CPU. Draws, probabilities and log-probabilities have their bits. See
/// docs/numerics.md.
std::string ExpAndLogBits() {
  constexpr proto::TokenId kSamples = 1 << 16;
  proto::Digest digest;
  const auto add = [&](double result) { digest.Add(std::as_bytes(std::span(&result, 1))); };
  for (proto::TokenId id = 0; id < kSamples; ++id) {
    const double uniform = proto::GumbelUniform(/*seed=*/0, /*step=*/0, id);
    add(proto::GumbelOf(uniform));
    add(std::exp(-32 * uniform));
  }
  return fmt::format("{:016x}", digest.value());
}

}  // namespace

coordinator::RunSettings ArithmeticSettingsOf(const shard::AgreedArithmetic& arithmetic,
                                              const proto::ModelConfig& config) {
  const bool has_lm_head = !config.read_head.has_value();
  return {
      {"--dtype", std::string(shard::Name(arithmetic.products.layers))},
      {kKernelSet, std::string(shard::BestKernelSet(arithmetic.features).name)},
      {kLibrary, shard::RoundingLibrary(arithmetic.products, has_lm_head)},
      {"the version of Highway", shard::HighwayVersion()},
      {"the bits of the C library's exp and log", config.is_embedder() ? "" : ExpAndLogBits()},
      {"the version of scorecast", SCORECAST_VERSION},
  };
}

std::string KernelsOf(const coordinator::RunSettings& settings) {
  std::string text;
  for (const auto& [name, value] : settings) {
    if ((name == kKernelSet || name == kLibrary) && !value.empty()) {
      text += (text.empty() ? "" : ", ") + value;
    }
  }
  return text;
}

coordinator::RunSettings RunSettingsOf(const EngineFlags& flags, const Engine& engine) {
  const coordinator::ServerOptions& options = engine.server_options();
  const coordinator::ChunkOptions& chunks = options.chunks;
  coordinator::RunSettings settings = {
      {"the model's fingerprint", ModelFingerprint(flags.model, engine.config())},
      {"the number of ranks",
       flags.rank_invariant ? "any, by --rank-invariant" : std::to_string(engine.ranks())},
      {"the head of the model",
       engine.config().read_head ? proto::Describe(*engine.config().read_head) : ""},
      {"--strict-model-name", Given(options.strict_model_name)},
      {"--one-by-one", Given(options.one_by_one)},
      {"--enable-mis", Given(options.enable_mis)},
      {"--multi-item-scoring-delimiter",
       options.delimiter ? std::to_string(*options.delimiter) : ""},
      {"--delimiter-visibility",
       options.delimiter_visibility == coordinator::DelimiterVisibility::kFirst ? "first"
                                                                                : "hidden"},
      {"--item-tokenization", options.items_continue_query() ? "continued" : "alone"},
      {"--rerank-response",
       options.rerank_form == coordinator::RerankForm::kSglang ? "sglang" : "results"},
      {"--rerank-template", TemplateText(flags.rerank_template, options.reranker.get())},
      {"--decision-template", TemplateText(flags.decision_template, options.decider.get())},
      {"--chat-template", TemplateText(flags.chat_template, options.chat.get())},
      {"--prompt", PromptsText(flags)},
      {"--ignore-config-key", IgnoredKeysText(flags)},
      {"--generation-config", proto::Describe(options.generation)},
      {"--special-tokens-in-text",
       options.special_tokens_in_text == coordinator::SpecialTokensInText::kEscape ? "escape"
                                                                                   : "allow"},
      {"--max-items", std::to_string(options.max_items)},
      {"--max-questions", std::to_string(options.max_questions)},
      {"--max-multi-item-seq-len", std::to_string(options.max_multi_item_seq_len)},
      {"--max-batch-tokens", std::to_string(flags.max_batch_tokens)},
      {"--max-request-bytes", std::to_string(flags.max_request_bytes)},
      {"--enable-chunk-aware", Given(chunks.enable_chunk_aware)},
      {"--chunk-separator", chunks.separator},
      {"--chunk-position-strategy",
       chunks.position_strategy == coordinator::ChunkPositionStrategy::kOffset ? "offset"
                                                                               : "shared"},
      {"--max-chunk-len", std::to_string(chunks.max_chunk_len)},
  };
  std::ranges::copy(engine.arithmetic_settings(), std::back_inserter(settings));
  return settings;
}

std::string FingerprintOf(const coordinator::RunSettings& settings) {
  proto::Digest digest;
  for (const auto& [name, value] : settings) {
    Add(digest, name);
    Add(digest, value);
  }
  return fmt::format("{:016x}", digest.value());
}

coordinator::RunSettings WeightSettingsOf(const Engine& engine) {
  coordinator::RunSettings settings;
  for (const shard::FileChecksum& file : engine.checksums()) {
    settings.emplace_back("the CRC-32C of " + file.name, fmt::format("{:08x}", file.crc32c));
  }
  return settings;
}

}  // namespace scorecast::launcher
