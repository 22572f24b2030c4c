#include "launcher/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/chat/chat_prompts.h"
#include "coordinator/chat/text_messages.h"
#include "coordinator/decisions/decider.h"
#include "coordinator/request/delimiter_flag.h"
#include "coordinator/request/model_kind.h"
#include "coordinator/rerank/rerank_template.h"
#include "coordinator/rerank/reranker.h"
#include "coordinator/text/files/label_names.h"
#include "coordinator/text/files/transformer_module.h"
#include "launcher/engine/run_settings.h"
#include "launcher/engine/startup_agreement.h"
#include "launcher/host/cpu_use.h"
#include "launcher/host/host_resources.h"
#include "proto/base/count.h"
#include "proto/base/one_line.h"
#include "proto/log/log.h"
#include "proto/model/generation_config.h"
#include "proto/model/model_keys.h"
#include "proto/model/partition.h"
#include "shard/model/memory_estimate.h"
#include "shard/model/open_checkpoint.h"

namespace scorecast::launcher {
namespace {

using Clock = std::chrono::steady_clock;

/// Logs a line every few seconds.
shard::LoadProgress LogProgress() {
  static constexpr auto kInterval = std::chrono::seconds(3);
  return [next = Clock::now() + kInterval](std::int64_t done, std::int64_t layers) mutable {
    if (Clock::now() >= next) {
      next = Clock::now() + kInterval;
      proto::LogInfo("weights of {} of {} read", done, proto::Count(layers, "layer"));
    }
  };
}

/// Names the first rank whose CPU lacks features that another rank's CPU has.
void LogMissingFeatures(const proto::Communicator& group, shard::CpuFeatures mine,
                        shard::CpuFeatures agreed) {
  const std::vector<int> ranks = group.AllGather(mine.bits());
  shard::CpuFeatures all;
  for (const int bits : ranks) {
    all = all | shard::CpuFeatures::FromBits(bits);
  }
  if (!group.is_root() || all == agreed) {
    return;
  }
  const auto lacking = std::ranges::find_if(ranks, [&](int bits) { return bits != all.bits(); });
  // The kernels may be the same with and without these features, but libraries must not use them
  // either.
  proto::LogInfo("all ranks compute with {} and without {}, because rank {} has none",
                 shard::BestKernelSet(agreed).name,
                 shard::Names(all - shard::CpuFeatures::FromBits(*lacking)),
                 lacking - ranks.begin());
}

std::string KernelsText(const shard::AgreedArithmetic& arithmetic) {
  return std::string(shard::BestKernelSet(arithmetic.features).name) + " (" +
         shard::Names(arithmetic.features) + "; " +
         std::string(arithmetic.products.layer_backend->name) + ", " +
         std::string(arithmetic.products.lm_head_backend->name) + ")";
}

/// Of all ranks.
double MegabytesOf(const std::vector<std::int64_t>& bytes) {
  return static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0})) * 1e-6;
}

/// What is not as in transformers 5.24.
void LogTextRules(const coordinator::TextRules& rules, const proto::ModelConfig& config) {
  for (const std::string& note : rules.notes) {
    proto::Log(proto::LogLevel::kInfo, note);
  }
  if (!rules.note_on_types.empty() && config.type_vocab_size > 1) {
    proto::Log(proto::LogLevel::kInfo, rules.note_on_types);
  }
}

void LogReranker(const coordinator::ServerOptions& options) {
  if (!options.reranker) {
    proto::LogInfo("rerank requests are refused: {}", options.no_reranker_reason);
  } else if (options.reranker->is_guess()) {
    proto::LogWarning("rerank template {}: {}; scores of rerank requests may mean little",
                      options.reranker->name(), options.reranker->reason());
  } else {
    proto::LogInfo("rerank template {}: {}; the score is {}", options.reranker->name(),
                   options.reranker->reason(), options.reranker->FormulaText());
  }
}

void LogDecider(const coordinator::ServerOptions& options) {
  if (!options.decider) {
    proto::LogInfo("requests to /v1/systemone are refused: {}", options.no_decider_reason);
  } else {
    proto::LogInfo("decision template {}: {}; up to {} options", options.decider->name(),
                   options.decider->reason(),
                   options.decider->labels().Most(coordinator::DecisionType::kChoice));
  }
}

void LogChat(const coordinator::ServerOptions& options) {
  if (!options.chat) {
    proto::LogInfo("requests with messages are refused: {}", options.no_chat_reason);
  } else {
    proto::LogInfo("chat template {}: {}", options.chat->name(), options.chat->reason());
  }
}

void LogGenerationConfig(const coordinator::ServerOptions& options) {
  if (const std::string defaults = proto::Describe(options.generation); !defaults.empty()) {
    proto::LogInfo("defaults of /v1/completions from generation_config.json: {}", defaults);
  }
  for (const proto::GenerationConfig::Unsupported& one : options.generation.unsupported) {
    proto::LogWarning("generation_config.json: {}; completions that need it are refused",
                      one.Text());
  }
}

/// What the log says of the keys of the model's files: a line for each file with keys that nobody
/// reads.
std::vector<std::string> UnreadKeys(const std::vector<proto::FileKeys>& files) {
  std::vector<std::string> lines;
  for (const proto::FileKeys& file : files) {
    std::string unread;
    for (const proto::KeyEntry& entry : file.entries) {
      if (entry.use == proto::KeyUse::kUnread) {
        unread += (unread.empty() ? "" : ", ") + entry.key;
      }
    }
    if (!unread.empty()) {
      lines.push_back(file.file + ": nobody reads " + proto::OneLine(unread, 1000));
    }
  }
  return lines;
}

/// The same for refusals that are overridden, and for an adapter.
std::vector<std::string> KeyWarnings(const std::vector<proto::FileKeys>& files,
                                     const EngineFlags& flags) {
  std::vector<std::string> lines;
  for (const std::string& key : flags.ignored_keys) {
    lines.push_back("--ignore-config-key " + proto::OneLine(key) +
                    ": the model is loaded as if the file had no such key");
  }
  if (std::ranges::find(files, "adapter_config.json", &proto::FileKeys::file) != files.end()) {
    lines.emplace_back(
        "adapter_config.json: the adapter is not applied to the weights beside it; if it belongs "
        "to them, merge it (merge_and_unload of peft)");
  }
  return lines;
}

/// Which of the ranks' memory --kv-cache-mb bounds follows from their K/V heads.
void LogCacheSize(const EngineLimits& limits, int ranks) {
  if (limits.cached_pages > 0) {
    proto::LogInfo("keys and values: up to {} stay for later requests, {:.1f} MB{}",
                   proto::Count(limits.cached_pages, "page"),
                   static_cast<double>(limits.cached_pages * limits.page_bytes) * 1e-6,
                   ranks == 1 ? "" : " on the rank with the most K/V heads");
  }
}

}  // namespace

Engine::Engine(const EngineFlags& flags, const std::function<void(const Engine&)>& prepare_root,
               std::optional<PlannedRanks> planned)
    : model_(flags.model),
      group_(proto::Communicator::World()),
      ranks_(planned ? planned->ranks : group_.size()),
      server_options_(flags.server) {
  AgreeOnBuild(group_);
  AgreeOnFlags(group_, flags);
  proto::StartupPhase(group_, [&] {
    CheckEngineFlags(flags);
    config_ = proto::LoadModelConfig(flags.model, TaskFromFlag(flags.task), IgnoredKeysOf(flags));
    proto::MakePartition(config_, group_.rank(), ranks_, flags.sharding());
  });
  AgreeOnConfig(group_, flags, config_);
  shard::CpuFeatures features;
  proto::StartupPhase(group_, [&] { features = FeaturesFromFlag(flags.kernel); });
  options_.arithmetic =
      shard::AgreeOnArithmetic(group_, features, shard::PrecisionFromName(flags.dtype));
  LogMissingFeatures(group_, features, options_.arithmetic.features);
  dtype_ = shard::Name(options_.arithmetic.products.layers);
  kernels_ = KernelsText(options_.arithmetic);
  arithmetic_settings_ = ArithmeticSettingsOf(options_.arithmetic, config_);
  AgreeOnSettings(group_, arithmetic_settings_);
  const HostResources resources = DetectHostResources();
  share_ = planned
               ? DivideResources(resources, std::vector(static_cast<std::size_t>(planned->per_host),
                                                        NamesOf(resources)))
               : ShareOfThisRank(group_, resources);
  proto::StartupPhase(group_, [&] {
    held_weights_ = shard::HoldWeights(options_.arithmetic.products,
                                       shard::OpenCheckpoint(model_, config_), config_);
    limits_ = MakeEngineLimits(flags, config_, held_weights_, ranks_, share_.memory);
    if (is_root()) {
      Configure(flags);
      prepare_root(*this);
    }
  });
  // Hosts may differ in memory, but rank 0 assigns the same pages on all of them.
  proto::PlanLimits& plan = limits_.plan;
  plan.kept_kv_rows = group_.Min(plan.kept_kv_rows);
  plan.longest_text = group_.Min(plan.longest_text);
  plan.text_rows = group_.Min(plan.text_rows);
  limits_.cached_pages =
      std::min(group_.Min(limits_.cached_pages), plan.kept_kv_rows / proto::kKvPageRows);
  if (is_root() && flags.kv_cache_mb.value_or(0) > 0 && config_.bidirectional) {
    proto::LogWarning("--kv-cache-mb {} is ignored: nothing of a bidirectional model is cached",
                      *flags.kv_cache_mb);
  } else if (is_root() && flags.kv_cache_mb.value_or(0) > 0 && limits_.cached_pages == 0) {
    proto::LogWarning("--kv-cache-mb {}: less than one page of {:.1f} MB, so nothing is cached",
                      *flags.kv_cache_mb, static_cast<double>(limits_.page_bytes) * 1e-6);
  }
  memory_estimate_ = shard::EstimateMemory(
      config_, proto::MakePartition(config_, group_.rank(), ranks_, flags.sharding()), plan,
      held_weights_);
  options_.threads = flags.threads > 0 ? flags.threads : share_.threads;
  if (!planned) {
    LogCpuWarnings(group_, resources, share_, options_.threads, flags.threads);
  }
  options_.limits = plan;
  options_.sharding = flags.sharding();
  options_.watch.limits = flags.watch;
  options_.watch.warn = [](const std::string& line) {
    proto::Log(proto::LogLevel::kWarning, line);
  };
}

void Engine::CheckCheckpoint() {
  std::optional<shard::Checkpoint> checkpoint;
  StartupPhase([&] { checkpoint.emplace(shard::OpenCheckpoint(model_, config_)); });
  shard::AgreeOnCheckpoint(group_, *checkpoint, config_);
}

void Engine::Load(bool has_checksums) {
  options_.has_checksums = group_.Min(has_checksums || !is_root() ? 1 : 0) == 1;
  if (is_root()) {
    options_.progress = LogProgress();
  }
  rank_ = std::make_unique<shard::RankEngine>(group_, model_, config_, options_);
  if (is_root()) {
    const shard::LoadFigures& load = rank_->load_figures();
    const double read_mb = MegabytesOf(load.read_bytes);
    proto::LogInfo("{} ({}), {} x {}, dtype {}; {:.1f} MB of weights a rank",
                   server_options_.model_name, config_.architecture, proto::Count(ranks_, "rank"),
                   proto::Count(options_.threads, "thread"), rank_->Description(),
                   static_cast<double>(memory_estimate_.weights) * 1e-6);
    proto::LogInfo(
        "weights: {:.1f} MB of files read and packed in {:.2f} s, {:.2f} GB/s; {:.1f} MB "
        "came from storage",
        read_mb, load.seconds, read_mb * 1e-3 / load.seconds, MegabytesOf(load.storage_bytes));
    if (!load.columns.reason.empty()) {
      proto::LogInfo("weights that are split by columns: {} ({})",
                     load.columns.reads == shard::ColumnReads::kExchanged
                         ? "each rank reads some rows, and sends the others their columns"
                         : "every rank reads all rows",
                     load.columns.reason);
    }
    proto::LogInfo("rows that a product computes at once: {}", rank_->arithmetic().Heights());
    if (const std::string warning = rank_->arithmetic().Warning(); !warning.empty()) {
      proto::Log(proto::LogLevel::kWarning, warning);
    }
    proto::LogInfo("rank 0 may use {} and {}", share_.threads_reason, MemoryText(share_.memory));
    if (config_.read_head) {
      proto::LogInfo("{}: {}", config_.is_embedder() ? "embeddings" : "class logits",
                     proto::Describe(*config_.read_head));
    }
    if (config_.bidirectional) {
      const std::int64_t of_model =
          std::min(config_.max_position_embeddings, server_options_.max_text_tokens);
      const std::int64_t of_memory = std::max(limits_.plan.max_rows, limits_.plan.longest_text);
      proto::LogInfo(
          "the longest text: {}{}", proto::Count(std::min(of_model, of_memory), "token"),
          of_memory < of_model ? ", for memory; the model takes " + std::to_string(of_model) : "");
    }
    if (tokenizer_ != nullptr) {
      LogTextRules(tokenizer_->rules(), config_);
    }
    if (!texts_.empty()) {
      proto::LogInfo("{}", texts_);
    }
    LogReranker(server_options_);
    LogDecider(server_options_);
    LogChat(server_options_);
    LogGenerationConfig(server_options_);
    for (const std::string& line : unread_keys_) {
      proto::Log(proto::LogLevel::kInfo, line);
    }
    for (const std::string& line : key_warnings_) {
      proto::Log(proto::LogLevel::kWarning, line);
    }
    LogCacheSize(limits_, ranks_);
  }
}

void Engine::Configure(const EngineFlags& flags) {
  // The path is made canonical, because "models/qwen3/" has an empty file name.
  const std::filesystem::path dir = std::filesystem::weakly_canonical(flags.model);
  server_options_.model_name =
      flags.served_model_name.empty() ? dir.filename().string() : flags.served_model_name;
  tokenizer_ = coordinator::LoadTokenizer(
      flags.model,
      coordinator::ControlTokensOfTemplates(flags.rerank_template) +
          coordinator::ControlTokensOfDecisions(flags.model, flags.decision_template) +
          coordinator::TextOfChatTemplate(flags.chat_template),
      config_.vocab_size);
  if (!flags.delimiter.empty()) {
    server_options_.delimiter =
        coordinator::DelimiterFromFlag(flags.delimiter, tokenizer_.get(), config_);
  }
  server_options_.embedder = EmbedderFromFlags(flags, config_);
  coordinator::LoadedChatPrompts chat =
      coordinator::LoadChatPrompts(flags.model, flags.chat_template, tokenizer_.get());
  server_options_.chat = chat.prompts;
  server_options_.no_chat_reason = chat.no_chat_reason;
  coordinator::LoadedReranker loaded =
      coordinator::LoadReranker(flags.model, flags.rerank_template, config_, tokenizer_.get(), chat,
                                coordinator::NameOf(server_options_.embedder.similarity));
  server_options_.reranker = std::move(loaded.reranker);
  server_options_.no_reranker_reason = std::move(loaded.no_reranker_reason);
  coordinator::LoadedDecider decider =
      coordinator::LoadDecider(flags.model, flags.decision_template, config_, tokenizer_.get());
  server_options_.decider = std::move(decider.decider);
  server_options_.no_decider_reason = std::move(decider.no_decider_reason);
  if (config_.read_head) {
    if (flags.has_sglang_rules()) {
      throw proto::StartupError(
          "--enable-mis and --multi-item-scoring-delimiter need a model that reads tokens one "
          "after the other, and " +
          config_.architecture + " reads whole texts");
    }
  }
  coordinator::LoadedTexts texts = coordinator::LoadTexts(flags.model, config_, chat);
  texts_ = texts.Text();
  server_options_.transformer = std::move(texts.module);
  server_options_.messages = std::move(texts.messages);
  const bool has_module = !server_options_.transformer.origin.empty();
  if (config_.read_head || (config_.is_classifier() && has_module)) {
    server_options_.max_text_tokens =
        coordinator::ReadTokenLimit(flags.model, config_.max_position_embeddings);
  }
  if (flags.reads_generation_config &&
      coordinator::KindOf(config_) == coordinator::ModelKind::kLanguageModel) {
    server_options_.generation = proto::LoadGenerationConfig(flags.model, IgnoredKeysOf(flags));
  }
  server_options_.label_names = coordinator::ReadLabelNames(flags.model, config_);
  const std::vector<proto::FileKeys> files = proto::ReadModelKeys(flags.model);
  unread_keys_ = UnreadKeys(files);
  key_warnings_ = KeyWarnings(files, flags);
}

}  // namespace scorecast::launcher
