// The order in which a pass computes its layers, and in which its rows travel meanwhile.

#include <optional>
#include <span>

#include "shard/model/transformer.h"

namespace scorecast::shard {

void Transformer::ForwardLayers(const Pass& pass) {
  const std::span<const PassPart> parts = pass.parts();
  // The sum that is under way, and the norm with which its rows are then shared; null after the
  // last layer.
  struct Pending {
    Sum sum;
    const Norm* next_norm;
  };
  std::optional<Pending> pending;
  const auto finish = [&] {
    if (pending) {
      EndSum(pending->sum);
      if (pending->next_norm != nullptr) {
        BeginShare(pending->sum.rows, *pending->next_norm, normed_);
      }
      pending.reset();
    }
  };
  // Each part has a turn in each half of a layer. The other part's sum travels in the first product
  // of the turn, and the rows that are made of the sum travel in the rest.
  const auto begin_turn = [&] {
    if (parts.size() == 1) {
      finish();  // The sum is that of the same part.
    }
    EndShare();
  };
  for (const PassPart& part : parts) {
    BeginShare(part.all, layers_.front().input_norm, normed_);
  }
  for (const Layer& layer : layers_) {
    const bool is_last = layer.index + 1 == config_.num_hidden_layers();
    const bool is_finished = !is_last || pass.rows_read() > 0;
    for (const PassPart& part : parts) {
      const PassRows& rows = is_last ? pass.Read(part) : part.all;
      begin_turn();
      Project(pass, layer, part.all, rows);
      finish();
      if (is_finished) {
        Attend(pass, layer, rows);
        pending.emplace(Pending{OutputSum(layer, rows), &layer.pre_feedforward_norm});
        BeginSum(pending->sum);
      }
    }
    for (const PassPart& part : parts) {
      if (is_finished) {
        const PassRows& rows = is_last ? pass.Read(part) : part.all;
        begin_turn();
        FeedForward(layer, rows);
        finish();
        pending.emplace(Pending{
            DownSum(layer, rows),
            is_last ? nullptr : &layers_[static_cast<std::size_t>(layer.index) + 1].input_norm});
        BeginSum(pending->sum);
      }
    }
  }
  finish();
}

void Transformer::ForwardStage(const Pass& pass, std::int64_t stage) {
  const PassPart& part = pass.parts().front();  // A step has one part.
  if (stage == 0) {
    Embed(pass);
  } else {
    const bool is_last = stage == config_.num_hidden_layers();
    const PassRows& rows = is_last ? pass.Read(part) : part.all;
    if (rows.size() == 0) {
      return;
    }
    const Layer& layer = layers_[static_cast<std::size_t>(stage - 1)];
    exchange_.ExchangeSummands(exchange_.Even(0), summand_type_);  // As in Embed.
    ShareNormed(rows, layer.input_norm);
    ProjectChunks(pass, layer, rows, normed_, {0, layer.query_chunks});
    times_.End(Phase::kGemm);
    Attend(pass, layer, rows);
    const Sum output = OutputSum(layer, rows);
    BeginSum(output);
    EndSum(output);
    ShareNormed(rows, layer.pre_feedforward_norm);
    FeedForward(layer, rows);
    const Sum down = DownSum(layer, rows);
    BeginSum(down);
    EndSum(down);
    if (is_last) {
      return;
    }
  }
  const Layer& next = layers_[static_cast<std::size_t>(stage)];
  ShareNormed(part.all, next.input_norm);
  ProjectChunks(pass, next, part.all, normed_, {next.query_chunks, next.qkv.chunks()});
  times_.End(Phase::kGemm);
}

}  // namespace scorecast::shard
