#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "coordinator/schedule/clock.h"
#include "coordinator/schedule/job.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

inline constexpr std::int64_t kVocabSize = 64;

/// Chooses the token with the largest logit, `count` times. Now and then it reads a row twice.
class Greedy : public TokenChooser {
 public:
  explicit Greedy(std::int64_t count) : left_(count) {}

  proto::RowRead Wanted() const override { return {.normalizer = true, .top_k = 1}; }
  Choice Take(const proto::RowLogits& row) override;
  const std::vector<proto::TokenId>& tokens() const { return tokens_; }

 private:
  std::int64_t left_;
  bool asks_again_ = false;
  std::vector<proto::TokenId> tokens_;
};

/// The tokens that Greedy must choose, computed from the sequence alone.
std::vector<proto::TokenId> ExpectedTokens(proto::PackedSequence sequence, std::size_t segment,
                                           std::int64_t count);

/// A job and the data that its result is compared with.
struct Request {
  std::vector<proto::PackedSequence> sequences;
  std::vector<Generation> generations;
  std::vector<std::shared_ptr<Greedy>> choosers;
  std::string salt;
  ClientId client = {};
  std::int32_t priority = 0;
  std::optional<Clock::time_point> deadline = {};

  Job MakeJob(std::function<void(JobResult)> done) const;
};

/// The first `count` tokens of text number `text`. Texts differ from their first token on.
std::vector<proto::TokenId> Text(int text, int count);
void Append(proto::PackedSequence& sequence, proto::SegmentKind kind,
            const std::vector<proto::TokenId>& tokens, std::int32_t position,
            bool continues = false);
/// Adds a read of the last row so far.
void ReadLast(proto::PackedSequence& sequence);
/// A causal prompt of one token, repeated, that is scored at its end.
proto::PackedSequence ScoredPrompt(int rows, proto::TokenId token);
/// Query and items, each read at its end.
Request ItemsRequest(const std::vector<proto::TokenId>& query,
                     const std::vector<std::vector<proto::TokenId>>& items);
/// Chunks at shared positions, and questions. The last row of each question is read. If
/// `completion_tokens` is not 0, a completion of this many tokens follows each question.
Request ChunksRequest(const std::vector<proto::TokenId>& system,
                      const std::vector<std::vector<proto::TokenId>>& chunks,
                      const std::vector<std::vector<proto::TokenId>>& questions,
                      std::int64_t completion_tokens = 0);
/// A plain prompt with completions of these numbers of tokens.
Request PlainRequest(const std::vector<proto::TokenId>& prompt,
                     const std::vector<std::int64_t>& completion_tokens);

/// Compares every row and every token with those of the sequences computed alone.
void ExpectResult(const Request& request, const JobResult& result);

/// Makes random requests. Their texts are drawn from few pieces, so the cache is hit often.
class RequestMaker {
 public:
  RequestMaker(std::uint64_t seed, const proto::PlanLimits& limits)
      : random_(seed), limits_(limits) {}

  /// A request that passes CapacityFault.
  Request Make();

 private:
  int Pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  /// The beginning of one of a few endless texts.
  std::vector<proto::TokenId> Piece(int longest);
  void Read(proto::PackedSequence& sequence, std::int32_t row);
  Request MultiItem();
  Request ChunkAware();

  std::mt19937_64 random_;
  const proto::PlanLimits limits_;
};

}  // namespace scorecast::coordinator
