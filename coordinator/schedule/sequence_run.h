#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coordinator/schedule/block_cache.h"
#include "coordinator/schedule/job.h"
#include "coordinator/schedule/pass_builder.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// How far one sequence and its answers have come: which rows are stored, in which pages, and what
/// is left to compute. A row that an answer's token adds is like any other.
///
/// Prefixes, and blocks that a suffix sees, are looked up in the cache and put into it. K/V that
/// no later pass needs lies in the pass's own places; so does, of a sequence that fits one pass,
/// what no page is free for.
class SequenceRun {
 public:
  /// `answers` are this sequence's, and passed CapacityFault with it. All arguments by reference
  /// outlive the run.
  SequenceRun(proto::PackedSequence sequence, std::vector<Generation> answers, std::string salt,
              BlockCache& cache, const proto::PlanLimits& limits);
  ~SequenceRun() { ReleasePages(); }

  SequenceRun(const SequenceRun&) = delete;
  SequenceRun& operator=(const SequenceRun&) = delete;

  enum class Outcome {
    kAdded,    ///< In AddPart: some rows or all.
    kNoRoom,   ///< The pass has not enough left: no row was added.
    kNoPages,  ///< Others hold the pages that it needs: no row was added.
  };
  // A run that needs pages of its own begins only where `spare_pages` more are left.

  /// Adds all rows that are left, for a run that fits a pass.
  Outcome AddWhole(PassBuilder& pass, std::int64_t spare_pages = 0);
  /// Adds as many rows as fit, `most_rows` at most, from the first that is left on.
  Outcome AddPart(PassBuilder& pass, std::int64_t most_rows, std::int64_t spare_pages = 0);
  /// How many reads of the pass are this run's, by the last Add; they follow each other.
  std::size_t added_reads() const { return in_flight_.size(); }
  std::int64_t added_rows() const { return added_rows_; }

  /// What came back for them: answers go on or end.
  void Take(std::span<proto::RowLogits> rows);

  /// Whether all that is left would fit an empty pass if nothing were cached.
  bool FitsEmptyPass() const;
  bool has_rows_left() const;
  /// The prompt is stored, and answers are being generated.
  bool is_generating() const { return is_prompt_stored_ && has_rows_left(); }
  /// Answers have not ended.
  bool has_answers() const;
  bool is_prompt_stored() const { return is_prompt_stored_; }
  /// It holds pages that it needs in later passes.
  bool is_under_way() const { return is_open_; }
  /// Rows of it were added to a pass, which is not over.
  bool is_riding() const { return is_riding_; }
  /// It needs pages of its own before it can begin.
  bool takes_several_passes() const { return takes_several_; }
  bool is_done() const;
  /// Of the prompt's rows, those that its first pass found stored.
  std::int64_t cached_rows() const { return cached_rows_.value_or(0); }
  std::vector<proto::RowLogits>& results() { return results_; }

  /// Gives all pages back. What was stored is computed again when the run is next added.
  void ReleasePages();

 private:
  /// Where some rows of a segment lie.
  struct Page {
    std::int32_t page = -1;
    /// What the rows are known as in the cache; null where they are not, or not yet.
    BlockCache::Node* node = nullptr;
    bool is_own = false;  ///< The page was taken and belongs to no node.
  };

  struct Read {
    std::int32_t row = 0;     ///< Of the segment.
    std::int32_t target = 0;  ///< Index of results, or, behind these, of an answer.
  };

  struct Part {
    proto::Segment segment;  ///< Its length is not looked at.
    std::vector<proto::TokenId> tokens;
    std::vector<Read> reads;      ///< Still to come, by row.
    bool must_be_kept = false;    ///< Where the run takes several passes.
    bool is_shared = false;       ///< Other parts see it, and other sequences may have it too.
    bool is_answered = false;     ///< An answer is being generated into it.
    std::vector<Page> pages;      ///< From the first row on.
    std::int32_t stored = 0;      ///< Rows; all where nobody needs the K/V any more.
    BlockCache::Overlap overlap;  ///< Whence rows of the first missing page can be copied.

    std::int32_t rows() const { return static_cast<std::int32_t>(tokens.size()); }
    /// Something of it is to be computed.
    bool is_left() const { return stored < rows() || !reads.empty(); }
  };

  struct Answer {
    Generation generation;
    bool is_active = true;
    bool is_read_placed = false;  ///< Among the reads of a part, or in flight.
  };

  /// One segment of the plan to be: a page, or a run of rows in the pass's own places.
  struct Piece {
    proto::PlanSegment segment;
    std::size_t part = 0;
    std::int32_t first_row = 0;  ///< Of the part.
  };

  // Pages.
  void Open();
  void Match(std::size_t part);
  bool ReadsWhatIsStored() const;
  /// Takes what pages the run still needs for what it has so far; false where they are not there.
  bool Reserve(std::int64_t spare_pages);
  /// For the rows of a part behind its last page; none where they lie in the pass's own places.
  std::optional<std::int32_t> NewPage(const Part& part);
  void CopyOverlaps(PassBuilder& pass);
  /// Puts pages that are full, or the last of their part, into the cache.
  void CachePages(std::size_t part);
  /// Pages of its own whose K/V a page of the cache holds too, when no pass uses them any more.
  void ReturnTwins();
  void ReleasePart(Part& part);
  void ReleaseOverlaps();
  /// Of a chain that nobody sees any more.
  void ReturnPagesIfOver(std::size_t chain);
  /// What the part's first page, or its last, is known behind, or as; null where it is not.
  BlockCache::Node* ParentOf(std::size_t part) const;
  BlockCache::Node* EndOf(std::size_t part) const;
  std::size_t ChainEnd(std::size_t part) const;

  // Into a pass.
  void PlaceReads();
  /// Rows to compute of a part up to row `end`, with those that are stored but read, and behind
  /// them in their page.
  std::int64_t RowsTo(const Part& part, std::int32_t end) const;
  static std::int64_t ReadsTo(const Part& part, std::int32_t end);
  /// [parts]: up to which row each is computed in a pass, or kUntouched.
  std::vector<std::int32_t> EndsInPart(const PassBuilder& pass, std::int64_t most_rows) const;
  void Emit(PassBuilder& pass, const std::vector<std::int32_t>& ends);
  void AddPieces(PassBuilder& pass, std::size_t part, std::int32_t end, std::vector<Piece>& pieces);
  void AddPiece(PassBuilder& pass, const Piece& piece, std::int32_t end);
  static std::vector<bool> NeededPieces(const std::vector<Piece>& pieces);
  void TakeAnswer(Answer& answer, const proto::RowLogits& row);

  BlockCache& cache_;
  const proto::PlanLimits& limits_;
  const std::string salt_;
  const std::vector<std::vector<proto::TokenId>> label_lists_;
  const proto::BlockWeighting weighting_;
  std::vector<proto::RowRead> score_reads_;
  std::vector<proto::RowLogits> results_;  // [score_reads_]
  std::vector<Answer> answers_;
  std::vector<Part> parts_;       // [segments]
  std::size_t prefix_parts_ = 0;  // The first ones.
  std::optional<std::int64_t> cached_rows_;

  bool takes_several_ = false;  ///< Passes.
  bool is_open_ = false;        ///< Looked up, and holding what was found.
  bool is_prompt_stored_ = false;
  bool is_riding_ = false;
  bool has_twins_ = false;  ///< See ReturnTwins.
  BlockCache::Node* root_ = nullptr;
  std::vector<std::int32_t> reserve_;       // Pages taken and not used yet.
  std::vector<BlockCache::Node*> sources_;  // Of copies of the pass in flight.
  std::vector<std::int32_t> in_flight_;     // Targets of the reads added.
  std::int64_t added_rows_ = 0;
};

}  // namespace scorecast::coordinator
