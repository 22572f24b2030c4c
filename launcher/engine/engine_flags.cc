#include "launcher/engine/engine_flags.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <CLI/CLI.hpp>

#include "coordinator/text/unicode/utf8.h"
#include "proto/base/error.h"

namespace scorecast::launcher {

using coordinator::ChunkPositionStrategy;
using coordinator::DelimiterVisibility;
using coordinator::ItemTokenization;
using coordinator::RerankForm;
using coordinator::SpecialTokensInText;
using shard::CpuFeatures;
using shard::KernelSet;

namespace {

std::string SeparatorFault(const std::string& separator) {
  if (separator.empty()) {
    return "--chunk-separator must not be empty";
  }
  return coordinator::IsValidUtf8(separator) ? "" : "--chunk-separator must be valid UTF-8";
}

/// A silence of less than a second means nothing, because ranks report only four times a second.
std::string RankTimeoutFault(const std::string& text) {
  const bool is_off = CLI::Range(0.0, 0.0)(text).empty();
  return is_off ? "" : CLI::Range(1.0, 86400.0)(text);
}

void AddWatchFlags(CLI::App& app, shard::WatchLimits& watch) {
  app.add_option_function<double>(
         "--rank-timeout",
         [&watch](double seconds) { watch.rank_timeout = std::chrono::duration<double>(seconds); },
         "Seconds for which a rank may be silent, or no rank may advance in a pass, before the job "
         "ends with exit code 75; 0: without limit")
      ->check(CLI::Validator(RankTimeoutFault, "SECONDS"))
      ->default_str("30");
  app.add_option("--slow-pass-factor", watch.slow_pass_factor,
                 "A pass is logged as slow if it takes this many times as long as expected, and at "
                 "least 5 s")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
}

void AddChunkFlags(CLI::App& app, coordinator::ChunkOptions& chunks) {
  app.add_flag(
      "--enable-chunk-aware", chunks.enable_chunk_aware,
      "Splits a prompt at its separators into a system prompt, chunks that do not attend to "
      "each other, and a question");
  app.add_option("--chunk-separator", chunks.separator, "Text between these parts")
      ->check(CLI::Validator(SeparatorFault, "TEXT"))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--chunk-position-strategy",
         [&chunks](const std::string& name) {
           chunks.position_strategy =
               name == "offset" ? ChunkPositionStrategy::kOffset : ChunkPositionStrategy::kShared;
         },
         "Positions of the chunks. shared: each starts right after the system prompt; offset: each "
         "starts where the chunk before it ends")
      ->check(CLI::IsMember({"shared", "offset"}))
      ->default_str("shared");
  app.add_option("--max-chunk-len", chunks.max_chunk_len, "Tokens of one chunk, at most")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
      ->capture_default_str();
}

}  // namespace

std::vector<std::string> KernelNames() {
  std::vector<std::string> names = {"auto"};
  for (const KernelSet& set : shard::KernelSets()) {
    names.emplace_back(set.name);
  }
  return names;
}

void AddSpecialTokensFlag(CLI::App& app, coordinator::SpecialTokensInText& special_tokens) {
  app.add_option_function<std::string>(
         "--special-tokens-in-text",
         [&special_tokens](const std::string& name) {
           special_tokens =
               name == "escape" ? SpecialTokensInText::kEscape : SpecialTokensInText::kAllow;
         },
         "What special tokens become that are spelled in a text. allow: special tokens; escape: "
         "plain text")
      ->check(CLI::IsMember({"allow", "escape"}))
      ->default_str("allow");
}

void AddLogLevelFlag(CLI::App& app, std::string& log_level) {
  app.add_option("--log-level", log_level, "Level of the log on standard error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error", "off"}))
      ->capture_default_str();
}

void AddEngineFlags(CLI::App& app, EngineFlags& flags) {
  app.add_option("--model", flags.model,
                 "Hugging Face model directory: config.json, *.safetensors and the tokenizer")
      ->required()
      ->type_name("DIR");
  app.add_option("--served-model-name", flags.served_model_name,
                 "Name of the model in responses to requests that name none, and in /v1/models; "
                 "the directory's name by default")
      ->type_name("NAME");
  app.add_flag(
      "--one-by-one", flags.server.one_by_one,
      "Scores each item of a request by itself. Otherwise the items of a request share the "
      "rows of its query (multi-item mode)");
  app.add_flag("--enable-mis", flags.server.enable_mis,
               "Multi-item mode with SGLang's rules: a request has at most "
               "--max-multi-item-seq-len tokens, its items are tokenized alone, and item_first is "
               "ignored");
  app.add_option("--multi-item-scoring-delimiter", flags.delimiter,
                 "The same rules, and a token that no query or item may contain: an id (all "
                 "digits), or text that is exactly one token")
      ->type_name("ID|TEXT");
  app.add_option_function<std::string>(
         "--delimiter-visibility",
         [&flags](const std::string& name) {
           flags.server.delimiter_visibility =
               name == "first" ? DelimiterVisibility::kFirst : DelimiterVisibility::kHidden;
         },
         "hidden: each item is scored as if it alone followed the query; first: each item also "
         "attends to the first delimiter")
      ->check(CLI::IsMember({"hidden", "first"}))
      ->default_str("hidden");
  app.add_option_function<std::string>(
         "--item-tokenization",
         [&flags](const std::string& name) {
           flags.server.item_tokenization =
               name == "alone" ? ItemTokenization::kAlone : ItemTokenization::kContinued;
         },
         "Tokens of an item if query and items are text. continued: those that it has in the joint "
         "text of query and item; alone: those of the item encoded by itself")
      ->check(CLI::IsMember({"continued", "alone"}))
      ->default_str("continued; alone with --enable-mis or a delimiter");
  app.add_option_function<std::string>(
         "--rerank-response",
         [&flags](const std::string& name) {
           flags.server.rerank_form = name == "sglang" ? RerankForm::kSglang : RerankForm::kResults;
         },
         "Form of responses to rerank requests with documents. results: an object, for clients of "
         "Cohere, Jina and vLLM; sglang: SGLang's list")
      ->check(CLI::IsMember({"results", "sglang"}))
      ->default_str("results");
  app.add_option("--max-items", flags.server.max_items,
                 "Items, chunks or questions of one request, at most")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->capture_default_str();
  app.add_option("--max-multi-item-seq-len", flags.server.max_multi_item_seq_len,
                 "Tokens computed for one request with --enable-mis or a delimiter, at most")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
      ->capture_default_str();
  AddSpecialTokensFlag(app, flags.server.special_tokens_in_text);
  app.add_option("--rerank-template", flags.rerank_template,
                 "Prompt and score of rerank requests: the name of a built-in template, or a file")
      ->type_name("NAME|FILE")
      ->default_str("what the model directory says");
  AddChunkFlags(app, flags.server.chunks);
  app.add_option(
         "--max-batch-tokens", flags.max_batch_tokens,
         "Tokens of one forward pass, at most. Waiting requests share a pass; a longer request "
         "takes several")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->capture_default_str();
  app.add_option("--kv-cache-mb", flags.kv_cache_mb,
                 "MiB on each rank that cache the keys and values of queries, prompts and document "
                 "chunks for later requests; 0: off")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 24))
      ->default_str("1024, or a quarter of the free memory if that is less");
  app.add_option("--max-request-bytes", flags.max_request_bytes,
                 "Bytes of one request or line, at most")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option(
         "--threads", flags.threads,
         "Threads of each rank; 0: its share of the CPUs that its affinity and the quotas of its "
         "control groups allow")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  app.add_option("--dtype", flags.dtype,
                 "Type of weights and activations in matrix products; auto: bf16 if every CPU has "
                 "instructions for it, else f32")
      ->check(CLI::IsMember({"auto", "f32", "bf16", "int8"}))
      ->capture_default_str();
  app.add_option("--kernel", flags.kernel,
                 "Kernels, and with them the instructions that libraries may use; auto: the best "
                 "for which every rank's CPU has the instructions")
      ->check(CLI::IsMember(KernelNames()))
      ->capture_default_str();
  AddWatchFlags(app, flags.watch);
  AddLogLevelFlag(app, flags.log_level);
}

void CheckEngineFlags(const EngineFlags& flags) {
  if (flags.server.one_by_one && flags.has_sglang_rules()) {
    throw proto::StartupError(
        "--one-by-one and " +
        std::string(flags.server.enable_mis ? "--enable-mis" : "--multi-item-scoring-delimiter") +
        " contradict each other: the second asks for multi-item mode");
  }
  if (flags.server.delimiter_visibility == DelimiterVisibility::kFirst && flags.delimiter.empty()) {
    throw proto::StartupError(
        "--delimiter-visibility first needs --multi-item-scoring-delimiter: there is no delimiter "
        "to be seen");
  }
  if (flags.server.delimiter_visibility == DelimiterVisibility::kFirst &&
      flags.server.item_tokenization == ItemTokenization::kContinued) {
    throw proto::StartupError(
        "--item-tokenization continued and --delimiter-visibility first contradict each other: the "
        "delimiter then stands between query and item");
  }
}

CpuFeatures FeaturesFromFlag(const std::string& kernel, CpuFeatures features) {
  for (const KernelSet& set : shard::KernelSets()) {
    if (set.name != kernel) {
      continue;
    }
    if (!features.Contain(set.needs)) {
      throw proto::StartupError("--kernel " + kernel + ": this CPU has no " +
                                shard::Names(set.needs - features) + "; its best kernels are " +
                                std::string(shard::BestKernelSet(features).name));
    }
    // The first set is for the newest CPUs, so libraries may use all features of these.
    return &set == &shard::KernelSets().front() ? features : set.needs;
  }
  return features;
}

}  // namespace scorecast::launcher
