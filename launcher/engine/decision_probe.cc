#include "launcher/engine/decision_probe.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/decisions/decider.h"
#include "coordinator/decisions/decision_formulas.h"
#include "coordinator/prompts/sequence_layout.h"
#include "coordinator/schedule/pages/capacity.h"
#include "coordinator/schedule/queue/scheduler.h"
#include "launcher/engine/startup_passes.h"
#include "proto/base/expected.h"
#include "proto/log/log.h"
#include "proto/plan/cluster.h"

namespace scorecast::launcher {
namespace {

using coordinator::Decider;
using coordinator::DecisionOption;
using coordinator::DecisionQuestion;
using coordinator::DecisionType;

/// A lower part of the probability is logged as a warning.
constexpr double kLowMass = 0.5;

/// Computes each plan at once, on the calling thread.
class ImmediateCluster : public proto::Cluster {
 public:
  ImmediateCluster(const ComputePlan& compute, const proto::PlanLimits& limits)
      : compute_(compute), limits_(limits) {}

  void Submit(proto::ForwardPlan plan, PlanDone done) override { done(compute_(plan)); }
  const proto::PlanLimits& limits() const override { return limits_; }
  proto::ClusterStatus Status() const override { return {}; }

 private:
  const ComputePlan& compute_;
  const proto::PlanLimits& limits_;
};

/// The prompt of a question, whose last row is read with the normalizer. Nothing if the model has
/// too few positions for it.
std::optional<proto::PackedSequence> PromptOf(const DecisionQuestion& question,
                                              const Decider& decider, const Engine& engine) {
  const std::int64_t positions = engine.config().max_position_embeddings;
  const coordinator::EncodeLimits limits = {.max_tokens = positions};
  auto ids = decider.Prefix("Anna bought a green lamp. The lamp costs 5 coins.", limits);
  const auto rest = decider.Question(question, limits);
  if (!ids || !rest) {
    return std::nullopt;
  }
  ids->insert(ids->end(), rest->begin(), rest->end());
  if (std::ssize(*ids) > positions) {
    return std::nullopt;
  }
  const auto last = static_cast<std::int32_t>(ids->size()) - 1;
  proto::PackedSequence sequence = coordinator::PackItems(
      std::make_shared<const std::vector<proto::TokenId>>(*std::move(ids)), {});
  sequence.label_lists = {decider.labels().Tokens(question.type, question.options.size())};
  sequence.reads = {{.row = last, .normalizer = true}};
  if (coordinator::CapacityFault(sequence, engine.limits(), {})) {
    return std::nullopt;
  }
  return sequence;
}

/// Called on rank 0.
void Probe(const Engine& engine, const ComputePlan& compute) {
  const Decider& decider = *engine.server_options().decider;
  const std::vector<DecisionOption> outcomes(2);
  const std::vector<DecisionOption> colours = {{"red", ""}, {"green", ""}, {"blue", ""}};
  const std::vector<DecisionOption> prices = {
      {"", "at most 3 coins"}, {"", "4 to 6 coins"}, {"", "7 coins or more"}};
  const std::vector<DecisionQuestion> questions = {
      {DecisionType::kNoul, "Is the lamp green?", outcomes},
      {DecisionType::kChoice, "Which colour does the lamp have?", colours},
      {DecisionType::kScore, "How much does the lamp cost?", prices}};
  coordinator::Job job;
  for (const DecisionQuestion& question : questions) {
    std::optional<proto::PackedSequence> prompt = PromptOf(question, decider, engine);
    if (!prompt) {
      return;
    }
    job.sequences.push_back(*std::move(prompt));
  }
  ImmediateCluster cluster(compute, engine.limits());
  coordinator::Scheduler scheduler(cluster);
  std::vector<std::vector<proto::RowLogits>> rows;
  job.done = [&](coordinator::JobResult result) { rows = std::move(result.rows).value(); };
  scheduler.Submit(std::move(job));
  scheduler.WaitIdle();

  std::string text;
  bool is_low = false;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const double mass = coordinator::LabelMass(rows[i].front());
    is_low = is_low || !(mass >= kLowMass);
    text += fmt::format("{}{:.4f} ({})", i == 0 ? "" : ", ", mass, NameOf(questions[i].type));
  }
  if (is_low) {
    proto::LogWarning(
        "decision template {}: its labels have only {} of the probability; template and model may "
        "not fit",
        decider.name(), text);
  } else {
    proto::LogInfo("decision template {}: its labels have {} of the probability", decider.name(),
                   text);
  }
}

}  // namespace

void ProbeDecisions(Engine& engine) {
  RunStartupPasses(engine, [&](const ComputePlan& compute) {
    if (engine.server_options().decider) {
      Probe(engine, compute);
    }
  });
}

}  // namespace scorecast::launcher
