#include "coordinator/schedule/sequence_run.h"

#include <algorithm>
#include <utility>

#include "coordinator/schedule/capacity.h"
#include "coordinator/schedule/kept_segments.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::Check;
using proto::kKvPageRows;
using proto::KvRows;
using proto::PackedSequence;
using proto::PlanSegment;
using proto::Segment;
using proto::SegmentKind;

namespace {

/// Of a part of which nothing is to be computed or read in a pass.
constexpr std::int32_t kUntouched = -1;

std::int32_t PageBegin(std::int32_t row) { return row / kKvPageRows * kKvPageRows; }

}  // namespace

SequenceRun::SequenceRun(PackedSequence sequence, std::vector<Generation> answers, std::string salt,
                         BlockCache& cache, const proto::PlanLimits& limits)
    : cache_(cache),
      limits_(limits),
      salt_(std::move(salt)),
      label_lists_(std::move(sequence.label_lists)),
      weighting_(sequence.block_weighting),
      score_reads_(sequence.reads),
      results_(sequence.reads.size()) {
  const std::vector<bool> must_be_kept = MustBeKept(sequence, limits, answers);
  const bool has_suffix =
      !sequence.segments.empty() && sequence.segments.back().kind == SegmentKind::kSuffix;
  auto token = sequence.tokens.cbegin();
  std::vector<std::int32_t> begins;
  for (std::size_t i = 0; i < sequence.segments.size(); ++i) {
    Part& part = parts_.emplace_back();
    part.segment = sequence.segments[i];
    begins.push_back(static_cast<std::int32_t>(token - sequence.tokens.cbegin()));
    part.tokens.assign(token, token + part.segment.length);
    token += part.segment.length;
    part.must_be_kept = must_be_kept[i];
    prefix_parts_ += part.segment.kind == SegmentKind::kPrefix ? 1 : 0;
    part.is_shared = part.segment.kind == SegmentKind::kPrefix ||
                     (part.segment.kind == SegmentKind::kBlock && has_suffix);
  }
  for (std::size_t i = 0; i < score_reads_.size(); ++i) {
    const std::int32_t row = score_reads_[i].row;
    const auto part = std::upper_bound(begins.begin(), begins.end(), row) - begins.begin() - 1;
    parts_[static_cast<std::size_t>(part)].reads.push_back(
        {row - begins[static_cast<std::size_t>(part)], static_cast<std::int32_t>(i)});
  }
  for (Part& part : parts_) {
    std::stable_sort(part.reads.begin(), part.reads.end(),
                     [](const Read& a, const Read& b) { return a.row < b.row; });
  }
  for (Generation& answer : answers) {
    parts_[answer.segment].is_answered = true;
    answers_.push_back({std::move(answer)});
  }
  takes_several_ = !answers_.empty() || !FitsEmptyPass();
}

bool SequenceRun::FitsEmptyPass() const {
  PassCost cost;
  for (const Part& part : parts_) {
    if (part.is_left()) {
      cost += {part.rows(), static_cast<std::int64_t>(part.reads.size()), KvRows(part.rows())};
    }
  }
  cost.reads += static_cast<std::int64_t>(answers_.size());
  return FitsPass(cost, limits_);
}

bool SequenceRun::has_rows_left() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.is_left(); }) ||
         std::any_of(answers_.begin(), answers_.end(), [](const Answer& answer) {
           return answer.is_active && !answer.is_read_placed;
         });
}

bool SequenceRun::has_answers() const {
  return std::any_of(answers_.begin(), answers_.end(),
                     [](const Answer& answer) { return answer.is_active; });
}

bool SequenceRun::is_done() const { return !has_rows_left() && in_flight_.empty(); }

std::int64_t SequenceRun::RowsTo(const Part& part, std::int32_t end) const {
  std::int64_t rows = std::max(end - part.stored, 0);
  std::int32_t page_begin = -1;
  for (const Read& read : part.reads) {
    if (read.row < std::min(part.stored, end) && PageBegin(read.row) != page_begin) {
      page_begin = PageBegin(read.row);
      rows += std::min(page_begin + kKvPageRows, part.stored) - read.row;
    }
  }
  return rows;
}

std::int64_t SequenceRun::ReadsTo(const Part& part, std::int32_t end) {
  return std::count_if(part.reads.begin(), part.reads.end(),
                       [&](const Read& read) { return read.row < end; });
}

std::size_t SequenceRun::ChainEnd(std::size_t part) const {
  std::size_t end = part + 1;
  while (end < parts_.size() && parts_[end].segment.continues) {
    ++end;
  }
  return end;
}

void SequenceRun::PlaceReads() {
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    Answer& answer = answers_[i];
    if (!answer.is_active || answer.is_read_placed) {
      continue;
    }
    const std::size_t segment = answer.generation.segment;
    Part& part = parts_[parts_[segment].rows() > 0 ? segment : prefix_parts_ - 1];
    part.reads.push_back({part.rows() - 1, static_cast<std::int32_t>(score_reads_.size() + i)});
    answer.is_read_placed = true;
  }
}

SequenceRun::Outcome SequenceRun::AddWhole(PassBuilder& pass, std::int64_t spare_pages) {
  const bool was_open = is_open_;
  Open();
  PlaceReads();
  std::int64_t rows = 0;
  std::int64_t reads = 0;
  std::int64_t kv_rows = 0;
  std::vector<std::int32_t> ends;
  for (const Part& part : parts_) {
    ends.push_back(part.is_left() ? part.rows() : kUntouched);
    rows += RowsTo(part, part.rows());
    reads += static_cast<std::int64_t>(part.reads.size());
    if (part.stored < part.rows() && !(takes_several_ && part.must_be_kept)) {
      kv_rows += KvRows(part.rows() - PageBegin(part.stored));
    }
  }
  const bool fits = rows <= pass.rows() && reads <= pass.reads() && kv_rows <= pass.pass_kv_rows();
  if (!fits || (takes_several_ && !Reserve(was_open ? 0 : spare_pages))) {
    if (!was_open) {
      ReleasePages();
    }
    return fits ? Outcome::kNoPages : Outcome::kNoRoom;
  }
  CopyOverlaps(pass);
  Emit(pass, ends);
  return Outcome::kAdded;
}

SequenceRun::Outcome SequenceRun::AddPart(PassBuilder& pass, std::int64_t most_rows,
                                          std::int64_t spare_pages) {
  const bool was_open = is_open_;
  if (std::min(pass.rows(), most_rows) == 0) {
    return Outcome::kNoRoom;
  }
  Open();
  PlaceReads();
  if (!Reserve(was_open ? 0 : spare_pages)) {
    if (!was_open) {
      ReleasePages();
    }
    return Outcome::kNoPages;
  }
  CopyOverlaps(pass);
  const std::vector<std::int32_t> ends = EndsInPart(pass, most_rows);
  const std::int64_t before = pass.computed_rows();
  Emit(pass, ends);
  return pass.computed_rows() > before ? Outcome::kAdded : Outcome::kNoRoom;
}

std::vector<std::int32_t> SequenceRun::EndsInPart(const PassBuilder& pass,
                                                  std::int64_t most_rows) const {
  std::int64_t rows = std::min(pass.rows(), most_rows);
  std::int64_t reads = pass.reads();
  std::int64_t kv_rows = pass.pass_kv_rows();
  bool one_at_a_time_is_used = false;
  std::vector<std::int32_t> ends(parts_.size(), kUntouched);
  for (std::size_t begin = 0; begin < parts_.size();) {
    const std::size_t chain_end = ChainEnd(begin);
    PassCost left;  // Of a chain that is computed whole.
    bool is_left = false;
    for (std::size_t i = begin; i < chain_end; ++i) {
      const Part& part = parts_[i];
      left += {RowsTo(part, part.rows()), static_cast<std::int64_t>(part.reads.size()),
               KvRows(part.rows())};
      is_left = is_left || part.is_left();
    }
    if (!is_left) {
      begin = chain_end;
      continue;
    }
    if (!parts_[begin].must_be_kept) {
      if (left.rows > rows || left.reads > reads || left.kv_rows > kv_rows) {
        return ends;
      }
      for (std::size_t i = begin; i < chain_end; ++i) {
        ends[i] = parts_[i].rows();
      }
      rows -= left.rows;
      reads -= left.reads;
      kv_rows -= left.kv_rows;
      begin = chain_end;
      continue;
    }
    if (!parts_[begin].is_shared && !parts_[begin].is_answered) {
      if (one_at_a_time_is_used) {
        return ends;  // The pages of the one before it are free when this pass is over.
      }
      one_at_a_time_is_used = true;
    }
    for (std::size_t i = begin; i < chain_end; ++i) {
      const Part& part = parts_[i];
      const std::int64_t again = RowsTo(part, part.stored);
      const std::int64_t read_again = ReadsTo(part, part.stored);
      if (again > rows || read_again > reads) {
        return ends;
      }
      std::int32_t end = part.stored + static_cast<std::int32_t>(std::min<std::int64_t>(
                                           rows - again, part.rows() - part.stored));
      if (ReadsTo(part, end) > reads) {
        end = part.reads[static_cast<std::size_t>(reads)].row;
      }
      ends[i] = end;
      rows -= RowsTo(part, end);
      reads -= ReadsTo(part, end);
      if (end < part.rows()) {
        return ends;
      }
    }
    begin = chain_end;
  }
  return ends;
}

void SequenceRun::AddPieces(PassBuilder& pass, std::size_t index, std::int32_t end,
                            std::vector<Piece>& pieces) {
  Part& part = parts_[index];
  const bool is_prefix = part.segment.kind == SegmentKind::kPrefix;
  const std::int32_t present = std::max(end, part.pages.empty() ? 0 : part.stored);
  for (std::int32_t begin = 0; begin < present;) {
    const auto page_index = static_cast<std::size_t>(begin / kKvPageRows);
    if (page_index == part.pages.size()) {
      if (const auto page = NewPage(part)) {
        part.pages.push_back({*page, nullptr, true});
      }
    }
    std::int32_t rows = part.rows() - begin;
    Piece piece;
    PlanSegment& segment = piece.segment;
    if (page_index < part.pages.size()) {
      rows = std::min(rows, kKvPageRows);
      segment.kv = {true, part.pages[page_index].page * kKvPageRows};
    } else {
      segment.kv = pass.TakePlaces(rows);
    }
    segment.kind = part.segment.kind;
    segment.continues = !is_prefix && (part.segment.continues || begin > 0);
    segment.first_position = part.segment.first_position + begin;
    segment.stored = std::clamp(part.stored - begin, 0, rows);
    segment.compute_end = std::clamp(present - begin, 0, rows);
    segment.compute_begin = segment.stored;
    for (const Read& read : part.reads) {
      if (begin <= read.row && read.row < std::min(end, begin + rows)) {
        segment.compute_begin = std::min(segment.compute_begin, read.row - begin);
        break;
      }
    }
    piece.part = index;
    piece.first_row = begin;
    pieces.push_back(piece);
    begin += rows;
  }
}

std::vector<bool> SequenceRun::NeededPieces(const std::vector<Piece>& pieces) {
  // From behind: who comes later and computes.
  std::vector<bool> needed(pieces.size());
  bool any = false;
  bool any_suffix = false;
  bool in_chain = false;
  for (std::size_t i = pieces.size(); i-- > 0;) {
    const PlanSegment& segment = pieces[i].segment;
    in_chain = in_chain || segment.computed() > 0;
    any = any || in_chain;
    switch (segment.kind) {
      case SegmentKind::kPrefix:
        needed[i] = any;
        break;
      case SegmentKind::kBlock:
        needed[i] = in_chain || any_suffix;
        break;
      case SegmentKind::kSuffix:
        needed[i] = in_chain;
        any_suffix = any_suffix || in_chain;
        break;
    }
    if (!segment.continues) {
      in_chain = false;
    }
  }
  return needed;
}

void SequenceRun::Emit(PassBuilder& pass, const std::vector<std::int32_t>& ends) {
  if (!cached_rows_) {
    cached_rows_ = 0;
    std::int64_t asked = 0;
    for (const Part& part : parts_) {
      *cached_rows_ += part.stored;
      asked += part.is_shared && root_ != nullptr ? part.rows() : 0;
    }
    cache_.Count(asked, *cached_rows_);
  }
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    AddPieces(pass, i, ends[i], pieces);
  }
  const std::vector<bool> needed = NeededPieces(pieces);
  added_rows_ = 0;
  if (std::any_of(needed.begin(), needed.end(), [](bool is_needed) { return is_needed; })) {
    pass.BeginSequence(label_lists_, weighting_);
    is_riding_ = true;
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (needed[i]) {
      AddPiece(pass, pieces[i], ends[pieces[i].part]);
    }
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    std::erase_if(part.reads, [&](const Read& read) { return read.row < ends[i]; });
    part.stored = std::max(part.stored, ends[i]);
    CachePages(i);
  }
  is_prompt_stored_ = is_prompt_stored_ || !has_rows_left();
}

void SequenceRun::AddPiece(PassBuilder& pass, const Piece& piece, std::int32_t end) {
  const Part& part = parts_[piece.part];
  const PlanSegment& segment = piece.segment;
  const std::int64_t first_computed = pass.computed_rows();
  pass.AddSegment(segment,
                  std::span(part.tokens)
                      .subspan(static_cast<std::size_t>(piece.first_row + segment.compute_begin),
                               static_cast<std::size_t>(segment.computed())));
  added_rows_ += segment.computed();
  for (const Read& read : part.reads) {
    const std::int32_t row = read.row - piece.first_row;
    if (read.row >= end || row < segment.compute_begin || row >= segment.compute_end) {
      continue;
    }
    const auto target = static_cast<std::size_t>(read.target);
    const bool is_answers = target >= score_reads_.size();
    proto::RowRead wanted =
        is_answers ? answers_[target - score_reads_.size()].generation.chooser->Wanted()
                   : score_reads_[target];
    if (is_answers) {
      wanted.label_list = PassBuilder::kNoLabels;
    }
    pass.AddRead(first_computed + row - segment.compute_begin, wanted);
    in_flight_.push_back(read.target);
  }
}

void SequenceRun::Take(std::span<proto::RowLogits> rows) {
  Check(rows.size() == in_flight_.size(), "a pass answers each of its reads");
  is_riding_ = false;
  for (BlockCache::Node* source : std::exchange(sources_, {})) {
    cache_.Release(*source);
  }
  ReturnTwins();
  const std::vector<std::int32_t> targets = std::exchange(in_flight_, {});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto target = static_cast<std::size_t>(targets[i]);
    if (target < results_.size()) {
      results_[target] = std::move(rows[i]);
    } else {
      TakeAnswer(answers_[target - results_.size()], rows[i]);
    }
  }
  for (std::size_t begin = 0; begin < parts_.size(); begin = ChainEnd(begin)) {
    ReturnPagesIfOver(begin);
  }
}

void SequenceRun::TakeAnswer(Answer& answer, const proto::RowLogits& row) {
  answer.is_read_placed = false;
  const TokenChooser::Choice choice = answer.generation.chooser->Take(row);
  switch (choice.kind) {
    case TokenChooser::Choice::Kind::kToken:
      parts_[answer.generation.segment].tokens.push_back(choice.token);
      break;
    case TokenChooser::Choice::Kind::kReadAgain:
      break;
    case TokenChooser::Choice::Kind::kEnd:
      answer.is_active = false;
      parts_[answer.generation.segment].is_answered = false;
      break;
  }
}

}  // namespace scorecast::coordinator
