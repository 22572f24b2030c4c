#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/chat/chat_prompts.h"
#include "coordinator/chat/text_messages.h"
#include "coordinator/decisions/decider.h"
#include "coordinator/embeddings/embedder.h"
#include "coordinator/request/delimiter_flag.h"
#include "coordinator/request/score_kind.h"
#include "coordinator/rerank/rerank_template.h"
#include "coordinator/rerank/reranker.h"
#include "coordinator/text/tokenizer.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/inspect_hosts.h"
#include "launcher/engine/plan_limits.h"
#include "launcher/host/host_resources.h"
#include "proto/base/count.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "proto/model/token_id.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/linear/arithmetic.h"
#include "shard/model/memory_estimate.h"
#include "shard/model/open_checkpoint.h"
#include "shard/model/tensors.h"

namespace scorecast::launcher {
namespace {

double Mib(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string Text(proto::Range range) {
  return range.empty() ? "none"
                       : std::to_string(range.begin) + ".." + std::to_string(range.end - 1);
}

/// A number without trailing zeros.
std::string Text(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", number);
  return text.data();
}

std::string_view Name(proto::RopeType type) {
  switch (type) {
    case proto::RopeType::kDefault:
      return "default";
    case proto::RopeType::kLinear:
      return "linear";
    case proto::RopeType::kLlama3:
      return "llama3";
    case proto::RopeType::kYarn:
      return "yarn";
  }
  return "?";
}

/// For example "theta 10000; theta 1e+06, linear, factor 8".
std::string RopeText(const proto::ModelConfig& config) {
  if (config.rope_tables.empty()) {
    return "none";
  }
  std::string text;
  for (const proto::RopeConfig& rope : config.rope_tables) {
    text += (text.empty() ? "theta " : "; theta ") + Text(rope.theta);
    if (rope.type != proto::RopeType::kDefault) {
      text += ", " + std::string(Name(rope.type)) + ", factor " + Text(rope.factor);
    }
  }
  return text;
}

/// For example "512 tokens, of 514 learned positions".
std::string ContextText(const proto::ModelConfig& config) {
  std::string text = proto::Count(config.max_position_embeddings, "token");
  if (config.learned_positions) {
    text += ", of " + proto::Count(config.learned_positions->rows, "learned position");
  }
  return text;
}

/// The sliding windows by their size, each with the number of its layers, for example
/// "4096 in 13 layers".
std::string WindowText(const proto::ModelConfig& config) {
  std::map<std::int64_t, int> layers_of;
  for (const proto::LayerConfig& layer : config.layers) {
    if (layer.sliding_window) {
      ++layers_of[*layer.sliding_window];
    }
  }
  std::string text;
  for (const auto& [window, layers] : layers_of) {
    // A row of a bidirectional model sees the positions that are less than the window away.
    text += (text.empty() ? "" : "; ") +
            (config.bidirectional ? std::to_string(window - 1) + " to both sides"
                                  : std::to_string(window)) +
            " in " + proto::Count(layers, "layer");
  }
  return text.empty() ? "none" : text;
}

std::string HeadText(const proto::ModelConfig& config) {
  if (config.is_embedder()) {
    return "embedding, " + proto::Describe(*config.read_head);
  }
  if (config.is_classifier()) {
    return "classification, " + proto::Count(config.num_labels, "class", "classes") +
           (config.read_head ? ": " + proto::Describe(*config.read_head) : "");
  }
  return config.tie_word_embeddings ? "lm-head, tied to the embeddings" : "lm-head";
}

/// What becomes of the logits of classes if a request names no activation.
const char* ClassScoresText(const proto::ModelConfig& config) {
  switch (coordinator::KindOfClasses(config, /*is_raw=*/false)) {
    case coordinator::ScoreKind::kSoftmax:
      return "softmax over the classes";
    case coordinator::ScoreKind::kSigmoid:
      return "sigmoid of each class";
    case coordinator::ScoreKind::kLogit:
    case coordinator::ScoreKind::kProbability:
      break;
  }
  return "logits";
}

void PrintModel(const proto::ModelConfig& config) {
  std::printf("model\n");
  std::printf("  family              %s\n", config.model_type.c_str());
  std::printf("  architecture        %s\n", config.architecture.c_str());
  std::printf("  head                %s\n", HeadText(config).c_str());
  if (config.is_classifier()) {
    std::printf("  class scores        %s\n", ClassScoresText(config));
  }
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
  std::printf("  vocab_size          %lld\n", static_cast<long long>(config.vocab_size));
  std::printf("  context length      %s\n", ContextText(config).c_str());
  std::printf("  attention           %s\n",
              config.bidirectional ? "to all rows of a text" : "causal");
  std::printf("  RoPE                %s\n", RopeText(config).c_str());
  std::printf("  sliding windows     %s\n", WindowText(config).c_str());
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

void PrintReranker(const coordinator::LoadedReranker& loaded) {
  std::printf("\nrerank\n");
  if (!loaded.reranker) {
    std::printf("  template            none: %s\n", loaded.no_reranker_reason.c_str());
    return;
  }
  const coordinator::Reranker& reranker = *loaded.reranker;
  std::printf("  template            %s%s\n", reranker.name().c_str(),
              reranker.is_guess() ? " (a guess: its scores may mean little)" : "");
  std::printf("  why                 %s\n", reranker.reason().c_str());
  std::printf("  score               %s\n", reranker.FormulaText().c_str());
  std::string labels;
  for (const proto::TokenId id : reranker.labels()) {
    labels += (labels.empty() ? "" : ", ") + std::to_string(id);
  }
  if (!labels.empty()) {
    std::printf("  label ids           %s\n", labels.c_str());
  }
  if (reranker.takes_instruction()) {
    const std::string& instruction = reranker.default_instruction();
    std::printf("  instruction         %s\n", instruction.empty()
                                                  ? "none by default"
                                                  : proto::OneLine(instruction, 4096).c_str());
  }
}

void PrintDecider(const coordinator::LoadedDecider& loaded) {
  std::printf("\ndecisions\n");
  if (!loaded.decider) {
    std::printf("  template            none: %s\n", loaded.no_decider_reason.c_str());
    return;
  }
  const coordinator::Decider& decider = *loaded.decider;
  std::printf("  template            %s\n", decider.name().c_str());
  std::printf("  why                 %s\n", decider.reason().c_str());
  std::printf("  options, levels     %zu, %zu\n",
              decider.labels().Most(coordinator::DecisionType::kChoice),
              decider.labels().Most(coordinator::DecisionType::kScore));
  std::printf("  example             %s\n", proto::Quoted(decider.Example(), 4096).c_str());
}

void PrintChat(const coordinator::LoadedChatPrompts& loaded) {
  std::printf("\nchat\n");
  if (!loaded.prompts) {
    std::printf("  template            none: %s\n", loaded.no_chat_reason.c_str());
    return;
  }
  std::printf("  template            %s\n", loaded.prompts->name().c_str());
  std::printf("  why                 %s\n", loaded.prompts->reason().c_str());
  std::printf("  example             %s\n", proto::Quoted(loaded.prompts->Example(), 4096).c_str());
}

void PrintEmbedder(const coordinator::Embedder& embedder) {
  std::printf("\nembeddings\n");
  std::printf("  similarity          %s\n",
              std::string(coordinator::NameOf(embedder.similarity)).c_str());
  const coordinator::EmbeddingPrompts& prompts = embedder.prompts;
  if (prompts.empty()) {
    std::printf("  prompts             none\n");
    return;
  }
  const coordinator::EmbeddingPrompts::Prompt* const by_default = prompts.Default();
  std::printf("  default prompt      %s\n",
              by_default == nullptr ? "none" : proto::OneLine(by_default->name).c_str());
  std::printf("  prompts' rows       %s\n",
              embedder.pools_prompt ? "pooled with those of the text" : "not pooled");
  std::printf("  prompts\n");
  for (const coordinator::EmbeddingPrompts::Prompt& prompt : prompts.all()) {
    std::printf("    %-16s  %s\n", proto::OneLine(prompt.name).c_str(),
                proto::Quoted(prompt.text, 4096).c_str());
  }
}

/// Prints what a rank could use if it were alone on this host.
void PrintShare(const RankShare& share) {
  std::printf("\nhost\n");
  std::printf("  threads             %d: %s\n", share.threads, share.threads_reason.c_str());
  std::printf("  memory              %s\n", MemoryText(share.memory).c_str());
}

void PrintPartition(const proto::ModelConfig& config, int ranks, proto::Sharding sharding,
                    const proto::PlanLimits& limits, const shard::HeldWeights& weights) {
  std::printf(
      "\npartition over %s%s; memory in MiB, %s, at the largest pass; touched: the part of "
      "activations and K/V that is touched at start, for passes of up to %u rows\n",
      proto::Count(ranks, "rank").c_str(),
      sharding == proto::Sharding::kInBlocks ? ", in blocks (--rank-invariant)" : "",
      std::string(shard::Name(weights.precisions.layers)).c_str(), proto::kTouchedBucket);
  std::printf("  %4s  %-12s %-12s %-16s %-18s %10s %12s %10s %10s\n", "rank", "heads", "K/V heads",
              "intermediate",
              config.read_head         ? "pooled columns"
              : config.is_classifier() ? "classes"
                                       : "vocabulary",
              "weights", "activations", "K/V", "touched");
  for (int rank = 0; rank < ranks; ++rank) {
    const proto::Partition part = proto::MakePartition(config, rank, ranks, sharding);
    const shard::MemoryEstimate memory = shard::EstimateMemory(config, part, limits, weights);
    std::printf("  %4d  %-12s %-12s %-16s %-18s %10.1f %12.1f %10.1f %10.1f\n", rank,
                Text(part.heads).c_str(), Text(part.kv_heads).c_str(),
                Text(part.intermediate).c_str(),
                Text(config.read_head ? part.columns : part.vocabulary).c_str(),
                Mib(memory.weights), Mib(memory.activations), Mib(memory.kv), Mib(memory.touched));
  }
}

/// Prints the model and its tokenizer, each only if it could be read.
void PrintReadable(const std::optional<proto::ModelConfig>& config,
                   const std::optional<std::unique_ptr<coordinator::Tokenizer>>& tokenizer) {
  if (config) {
    PrintModel(*config);
  }
  if (tokenizer) {
    PrintTokenizer(tokenizer->get());
  }
}

/// Runs a step, and keeps the message of its StartupError.
template <typename Step>
void Attempt(std::vector<std::string>& obstacles, const Step& step) {
  try {
    step();
  } catch (const proto::StartupError& error) {
    obstacles.emplace_back(error.what());
  }
}

std::string Joined(const std::vector<std::string>& obstacles) {
  std::string text;
  for (const std::string& obstacle : obstacles) {
    text += (text.empty() ? "" : "; ") + obstacle;
  }
  return text;
}

}  // namespace

int RunInspectCommand(const InspectFlags& flags) {
  CheckEngineFlags(flags.engine);
  if (flags.hosts.hosts > 0) {
    return RunInspectHosts(flags);
  }
  std::vector<std::string> obstacles;
  std::optional<proto::ModelConfig> config;
  Attempt(obstacles, [&] {
    config = proto::LoadModelConfig(flags.engine.model, TaskFromFlag(flags.engine.task),
                                    IgnoredKeysOf(flags.engine));
  });
  std::optional<std::unique_ptr<coordinator::Tokenizer>> tokenizer;
  if (std::error_code ignored;
      config || std::filesystem::is_directory(flags.engine.model, ignored)) {
    Attempt(obstacles, [&] {
      tokenizer = coordinator::LoadTokenizer(
          flags.engine.model,
          coordinator::ControlTokensOfTemplates(flags.engine.rerank_template) +
              coordinator::ControlTokensOfDecisions(flags.engine.model,
                                                    flags.engine.decision_template) +
              coordinator::TextOfChatTemplate(flags.engine.chat_template),
          config ? config->vocab_size : std::numeric_limits<std::int64_t>::max());
    });
  }
  std::optional<shard::Checkpoint> checkpoint;
  if (config) {
    Attempt(obstacles, [&] {
      checkpoint = shard::OpenCheckpoint(flags.engine.model, *config);
      shard::CheckTensors(*checkpoint, *config);
      const std::optional<shard::TensorSpec> head = shard::HeadTensor(*checkpoint, *config);
      if (head && head->role == shard::TensorRole::kOwnLmHead) {
        config->tie_word_embeddings = false;
      }
    });
  }
  if (!obstacles.empty()) {
    // Everything that can be read of the model is printed before the obstacles.
    PrintReadable(config, tokenizer);
    std::fflush(stdout);
    throw proto::StartupError(Joined(obstacles));
  }

  if (!flags.engine.delimiter.empty()) {
    coordinator::DelimiterFromFlag(flags.engine.delimiter, tokenizer->get(), *config);
  }
  const coordinator::Embedder embedder = EmbedderFromFlags(flags.engine, *config);
  const coordinator::LoadedChatPrompts chat = coordinator::LoadChatPrompts(
      flags.engine.model, flags.engine.chat_template, tokenizer->get());
  const coordinator::LoadedTexts texts = coordinator::LoadTexts(flags.engine.model, *config, chat);
  const coordinator::LoadedReranker reranker = coordinator::LoadReranker(
      flags.engine.model, flags.engine.rerank_template, *config, tokenizer->get(), chat,
      coordinator::NameOf(embedder.similarity));
  const coordinator::LoadedDecider decider = coordinator::LoadDecider(
      flags.engine.model, flags.engine.decision_template, *config, tokenizer->get());
  const shard::CpuFeatures features = FeaturesFromFlag(flags.engine.kernel);
  const shard::HeldWeights weights = shard::HoldWeights(
      shard::ChooseArithmeticOfEngine(features, shard::PrecisionFromName(flags.engine.dtype)),
      *checkpoint, *config);
  // The ranks may run on several hosts; the limits assume that each has a host of its own.
  const HostResources host = DetectHostResources();
  const RankShare share = DivideResources(host, {NamesOf(host)});
  const EngineLimits limits =
      MakeEngineLimits(flags.engine, *config, weights, flags.ranks, share.memory);
  PrintReadable(config, tokenizer);
  if (const std::string text = texts.Text(); !text.empty()) {
    std::printf("  texts               %s\n", text.c_str());
  }
  PrintReranker(reranker);
  PrintDecider(decider);
  PrintChat(chat);
  if (config->is_embedder()) {
    PrintEmbedder(embedder);
  }
  PrintShare(share);
  PrintPartition(*config, flags.ranks, flags.engine.sharding(), limits.plan, weights);
  return kExitOk;
}

}  // namespace scorecast::launcher
