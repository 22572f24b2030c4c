#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coordinator/schedule/job.h"
#include "coordinator/schedule/pages/capacity.h"
#include "coordinator/schedule/pass/pass_work.h"
#include "coordinator/schedule/pass/sequence_pages.h"
#include "coordinator/schedule/pass/sequence_parts.h"
#include "coordinator/schedule/pass/text_steps.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

class BlockCache;
class PassBuilder;

/// Progress of one sequence and its completions: which rows remain to be computed or read, and
/// which of them are in the pass in flight. A generated token is just one more row. The sequence
/// and its results are its job's.
///
/// K/V that only the current pass needs goes into pass-local storage. A sequence that fits into one
/// pass also falls back to it when no page is free.
class SequenceRun {
 public:
  /// `results` becomes a row for each of the sequence's reads, as passes return them. `generations`
  /// are those of the sequence. Together they passed CapacityFault. The sequence, which must not
  /// change, the results and the cache must outlive the run. `limits` decide whether the
  /// sequence is cut, and which of its K/V must outlive a pass; they may be lower than those of
  /// passes. With `cut`, the sequence is a text that is computed in steps: only AddStep adds it.
  SequenceRun(const proto::PackedSequence& sequence, std::vector<proto::RowLogits>& results,
              std::vector<Generation> generations, std::string salt, BlockCache& cache,
              const proto::PlanLimits& limits, const std::optional<TextCut>& cut = std::nullopt);
  SequenceRun(proto::PackedSequence&&, std::vector<proto::RowLogits>&, std::vector<Generation>,
              std::string, BlockCache&, const proto::PlanLimits&,
              const std::optional<TextCut>& = std::nullopt) = delete;

  SequenceRun(const SequenceRun&) = delete;
  SequenceRun& operator=(const SequenceRun&) = delete;

  enum class Outcome {
    kAdded,    ///< AddWhole added all rows left, AddPart at least one.
    kNoRoom,   ///< The pass has not enough left: nothing was added.
    kNoPages,  ///< No free pages: nothing was added.
  };
  // Pages that a run needs are taken only if `spare_pages` more are available.

  /// Adds all rows that are left. They must fit an empty pass.
  Outcome AddWhole(PassBuilder& pass, std::int64_t spare_pages = 0);
  /// Adds the next rows that are left, as many as fit, at most `max_rows`, and at most as many as
  /// take `seconds`, but one in any case. If completions are left out, those come first next time.
  Outcome AddPart(PassBuilder& pass, std::int64_t max_rows,
                  double seconds = std::numeric_limits<double>::infinity(),
                  std::int64_t spare_pages = 0);

  /// Adds the next step of a text, which needs an empty pass. `first_row` is the place of the text
  /// in the buffers for texts (proto::PlanStep), the same for all of its steps.
  void AddStep(PassBuilder& pass, std::int32_t first_row);

  // The same as AddPart in several calls, so that the part can grow while the pass is formed.
  /// Makes the run ready for parts. False if there are not enough pages.
  bool TakePages(PassBuilder& pass, std::int64_t spare_pages);
  /// Rows that a pass may compute, and what they take.
  struct Part {
    std::vector<std::int32_t> ends;  ///< [parts]
    PassCost cost;
    PassWork work;
  };
  /// The next rows that are left, as many as fit, and at most `max_rows`. Perhaps none.
  Part NextPart(const PassCost& room, std::int64_t max_rows) const;
  void AddPart(PassBuilder& pass, const Part& part);
  /// Number of the next rows that take about this long.
  std::int64_t RowsWithin(double seconds, const PassRates& rates) const;

  /// Number of rows that the last Add added.
  std::int64_t added_rows() const { return added_rows_; }
  /// Number of the pass's reads that belong to this run. They follow each other.
  std::size_t reads_in_pass() const { return targets_in_pass_.size(); }

  /// A completion whose next token is chosen from a row that a pass returned.
  struct RowOfCompletion {
    TokenChooser* chooser = nullptr;
    const proto::RowLogits* row = nullptr;
  };
  /// The pass is over, and `rows` are what its reads of this run returned. The completions among
  /// them.
  std::vector<RowOfCompletion> RowsOfCompletions(std::span<const proto::RowLogits> rows) const;
  /// Takes these rows, and the first choices: one for each completion among the rows. Completions
  /// go on or end. Returns the other choices.
  std::span<const TokenChooser::Choice> Take(std::span<proto::RowLogits> rows,
                                             std::span<const TokenChooser::Choice> choices = {});
  /// Gives all pages back. The rows that were stored are computed again when the run is next added.
  void ReleasePages();

  /// Whether all rows that are left would fit an empty pass if nothing were cached, and all that
  /// completions read of them.
  bool FitsEmptyPass(const PassBudget& budget = {}) const;
  bool has_rows_left() const;
  /// What computing all rows that are left takes.
  PassWork WorkLeft() const;
  /// Whether some completions have not ended.
  bool has_active_completions() const;
  /// Whether all prompt rows were added to passes.
  bool is_prompt_added() const { return state_ == State::kDecode || state_ == State::kDone; }
  /// Whether the prompt is computed and completions are being generated.
  bool is_generating() const { return is_prompt_added() && has_rows_left(); }
  /// Whether the run has begun. It then holds the pages that it needs in later passes.
  bool is_under_way() const { return state_ != State::kWaiting; }
  /// Whether some of its rows are in the pass in flight, or in the one that is being formed.
  bool is_in_pass() const { return added_rows_ > 0; }
  bool is_done() const { return state_ == State::kDone; }
  /// See JobResult::cached_tokens.
  std::int64_t cached_rows() const { return cached_rows_.value_or(0); }
  /// [score reads]
  const std::vector<proto::RowLogits>& results() const { return results_; }

 private:
  /// kWaiting -> kPrefill when the run is looked up in the cache, in order to be added to a pass.
  /// kPrefill -> kDecode when the last prompt row has been added to a pass.
  /// kDecode -> kDone when a pass is over, and nothing is left to compute or read.
  /// Any but kWaiting -> kWaiting in ReleasePages, which is how a run is preempted.
  enum class State {
    kWaiting,  ///< Holds no pages.
    kPrefill,  ///< Prompt rows are left.
    kDecode,   ///< Only rows of generated tokens are left, if any.
    kDone,
  };

  struct Completion {
    Generation generation;
    bool is_active = true;
    bool is_read_placed = false;  ///< Its next read is among those of a part, or in a pass.
  };

  /// A segment of the plan: the rows of a part that lie in one page or in pass-local storage.
  struct Piece {
    proto::PlanSegment segment;
    std::size_t part = 0;
    std::int32_t first_row = 0;  ///< Within the part.
  };

  /// Looks the sequence up if it is waiting, and places the next reads of completions.
  void Begin(const PassBudget& budget);
  void PlaceReads(const PassBudget& budget);
  /// Whether an empty pass has room and time for what a completion wants of the part's last row,
  /// beside what else is read of it. Several completions of a prompt read the same row.
  bool HasRoomForRead(const SequencePart& part, const TokenChooser& chooser,
                      const PassBudget& budget) const;
  /// Number of rows computed if a part is computed up to row `end`: rows that are not stored, rows
  /// that are read, and rows between a read one and the end of its page.
  std::int64_t RowsTo(std::size_t part, std::int32_t end) const;
  /// Number of stored rows that are computed again because of reads. Those of parts of which only
  /// the last row is read do not count.
  std::int64_t StoredRowsToRead() const;
  struct Reads {
    PassCost cost;  ///< Only `reads` and `logit_bytes` are set.
    PassWork work;
  };
  /// Read `i` of a part. Of pooled rows, the first one counts for the bytes of all.
  Reads ReadOf(const SequencePart& part, std::size_t i) const;
  /// The reads of a part's rows before `end`.
  Reads ReadsTo(std::size_t part, std::int32_t end) const;
  /// The row of the part's first read that does not fit, if those before it are placed; the part's
  /// end if all fit.
  std::int32_t FirstRowWithoutRoom(std::size_t part, const PassCost& room) const;
  /// What is wanted of a read: a score read or the next of a completion. A pooled row counts as a
  /// read of that row alone.
  struct Wanted {
    proto::RowRead read;
    const proto::LabelList& labels;
  };
  Wanted WantedOf(const SequencePart::Read& read) const;
  /// The row up to which the pass computes each part, or kUntouched: for all rows that are left,
  /// and for as many as fit into `room`.
  std::vector<std::int32_t> AllEnds() const;
  std::vector<std::int32_t> EndsWithin(PassCost room) const;
  /// The first parts of all chains, in the order in which they get room: completions take turns.
  std::vector<std::size_t> ChainsInTurn() const;
  /// The turns begin behind the last completion that these rows belong to.
  void EndTurn(const std::vector<std::int32_t>& ends);
  /// Whether prompt rows are left, or reads of scores. Completions may wait for reads of a prompt.
  bool IsPromptLeft() const;
  Part PartTo(std::vector<std::int32_t> ends) const;
  void Emit(PassBuilder& pass, const std::vector<std::int32_t>& ends);
  void AddPieces(PassBuilder& pass, std::size_t part, std::int32_t end, std::vector<Piece>& pieces);
  /// Reads read `i` of the part, which is row `row` of the pass.
  void AddRead(PassBuilder& pass, const SequencePart& part, std::size_t i, std::int64_t row);
  void AddPiece(PassBuilder& pass, const Piece& piece, std::int32_t end);
  static std::vector<bool> NeededPieces(const std::vector<Piece>& pieces);
  void TakeToken(Completion& completion, const TokenChooser::Choice& choice);

  const proto::PlanLimits limits_;
  const proto::PackedSequence& sequence_;
  std::vector<proto::RowLogits>& results_;  // [reads of the sequence]
  std::vector<Completion> completions_;
  std::vector<SequencePart> parts_;  // [segments]
  const bool takes_several_passes_;
  SequencePages pages_;
  std::optional<TextSteps> steps_;

  State state_ = State::kWaiting;
  std::optional<std::int64_t> cached_rows_;
  std::size_t first_turn_ = 0;                 // Part of the completion that comes first.
  std::vector<std::int32_t> targets_in_pass_;  // See SequencePart::Read::target.
  std::int64_t added_rows_ = 0;                // 0 when no pass has rows of this run.
};

}  // namespace scorecast::coordinator
