#pragma once

#include <array>
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

/// Chooses tokens in one of several ways: the best, one that the ranks draw, or one of the best
/// few; half of the choosers also read tokens that were chosen before as labels, which are excluded
/// from everything else. Reads some rows twice, and ends at random. All of this depends on the seed
/// and the rows alone.
class RandomChooser : public TokenChooser {
 public:
  RandomChooser(std::uint64_t seed, std::int64_t max_tokens)
      : seed_(seed), max_tokens_(max_tokens) {}

  proto::RowRead Wanted() const override;
  const proto::LabelList& Labels() const override { return labels_; }
  Choice Take(const proto::RowLogits& row) override;

  const std::vector<proto::TokenId>& tokens() const { return tokens_; }
  /// The same chooser before its first choice.
  std::shared_ptr<RandomChooser> Again() const {
    return std::make_shared<RandomChooser>(seed_, max_tokens_);
  }

 private:
  /// A number that depends on the seed, the number of tokens so far, and `purpose`.
  std::uint64_t Number(std::uint64_t purpose) const;

  const std::uint64_t seed_;
  const std::int64_t max_tokens_;
  bool reads_again_ = false;
  std::vector<proto::TokenId> tokens_;
  proto::LabelList labels_;
};

/// A job and the data that its result is compared with.
struct RandomJob {
  std::vector<proto::PackedSequence> sequences;
  std::vector<Generation> generations;
  std::vector<std::shared_ptr<RandomChooser>> choosers;  ///< [generations]
  std::string salt;

  Job MakeJob(std::function<void(JobResult)> done) const;
  /// The same job with choosers that have chosen nothing.
  RandomJob Again() const;
  /// Prompt rows of all sequences.
  std::int64_t rows() const;
};

/// Compares every number and every token with those of the sequences computed alone.
void ExpectAsIfAlone(const RandomJob& job, const JobResult& result);
/// The tokens of a completion that was dropped are the first of those computed alone.
void ExpectTokensAsIfAlone(const RandomJob& job, bool is_dropped);

/// Makes random jobs of all kinds. Their texts are the beginnings of a few long ones, so the cache
/// is hit often.
class RandomJobMaker {
 public:
  /// Draws how frequent each kind is, and how long the texts are.
  RandomJobMaker(std::uint64_t seed, const proto::PlanLimits& limits);

  /// A job whose sequences pass CapacityFault.
  RandomJob Make();
  /// A job of a single row.
  RandomJob MakeSmallest();

 private:
  enum Kind : std::size_t {
    kOneRow,
    kItems,         ///< A query and many items.
    kDocuments,     ///< Groups of chunks, and questions. Some have completions.
    kLong,          ///< A prompt that may take many passes.
    kCompletions,   ///< A plain prompt with completions, which begin behind its last row.
    kPrompts,       ///< Several prompts, of which some share tokens.
    kManyReads,     ///< A prompt whose rows are all read.
    kWithoutReads,  ///< A prompt of which nothing is read.
    kKinds,
  };

  int Pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  bool OneIn(int n) { return Pick(1, n) == 1; }
  /// The first 1 … `longest` tokens of a text.
  std::vector<proto::TokenId> Piece(int longest);
  void Read(proto::PackedSequence& sequence, std::int32_t row);
  void ReadLast(proto::PackedSequence& sequence);
  void AddCompletion(RandomJob& job, std::size_t segment, int longest);
  proto::PackedSequence Prompt(int longest);
  proto::PackedSequence Documents();
  void AddSequences(Kind kind, RandomJob& job);

  std::mt19937_64 random_;
  const proto::PlanLimits limits_;
  std::array<int, kKinds> weights_ = {};
  int texts_ = 0;
  int longest_ = 0;  ///< Rows of the longest prompts.
};

}  // namespace scorecast::coordinator
