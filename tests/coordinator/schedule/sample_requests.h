#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "coordinator/schedule/job.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

inline constexpr std::int64_t kVocabSize = 64;

/// The tokens with the largest logits, `count` of them; asks again now and then.
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

/// What Greedy must choose, from the sequence itself with the tokens so far.
std::vector<proto::TokenId> ExpectedTokens(proto::PackedSequence sequence, std::size_t segment,
                                           std::int64_t count);

/// A job, and what must come of it.
struct Request {
  std::vector<proto::PackedSequence> sequences;
  std::vector<Generation> generations;
  std::vector<std::shared_ptr<Greedy>> choosers;
  std::string salt;

  Job MakeJob(std::function<void(JobResult)> done) const;
};

/// `count` tokens of text number `text`; texts of other numbers differ from the first token on.
std::vector<proto::TokenId> Text(int text, int count);
void Append(proto::PackedSequence& sequence, proto::SegmentKind kind,
            const std::vector<proto::TokenId>& tokens, std::int32_t position,
            bool continues = false);
/// Reads the last row so far.
void ReadLast(proto::PackedSequence& sequence);
/// Query and items, each read at its end.
Request ItemsRequest(const std::vector<proto::TokenId>& query,
                     const std::vector<std::vector<proto::TokenId>>& items);
/// Chunks at shared positions and questions: each one's last row is read, and, where there are
/// tokens to choose, an answer generated.
Request ChunksRequest(const std::vector<proto::TokenId>& system,
                      const std::vector<std::vector<proto::TokenId>>& chunks,
                      const std::vector<std::vector<proto::TokenId>>& questions,
                      std::int64_t answer_tokens = 0);
/// Answers to a plain prompt.
Request PlainRequest(const std::vector<proto::TokenId>& prompt,
                     const std::vector<std::int64_t>& answer_tokens);

/// Every row and every token as the sequences give them by themselves.
void ExpectResult(const Request& request, const JobResult& result);

/// Requests whose texts are drawn from few pieces, so that much of them is met again.
class RequestMaker {
 public:
  RequestMaker(std::uint64_t seed, const proto::PlanLimits& limits)
      : random_(seed), limits_(limits) {}

  /// One that passes CapacityFault.
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
