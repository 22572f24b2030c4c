#include "coordinator/schedule/pass/sequence_run.h"

#include <algorithm>
#include <utility>

#include "coordinator/schedule/pages/block_cache.h"
#include "coordinator/schedule/pages/capacity.h"
#include "coordinator/schedule/pass/pass_builder.h"
#include "coordinator/schedule/pass/sequence_work.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::Check;
using proto::kKvPageRows;
using proto::KvRows;
using proto::PackedSequence;
using proto::PlanSegment;
using proto::SegmentKind;

namespace {

/// Marks a part of which a pass computes and reads nothing.
constexpr std::int32_t kUntouched = -1;

/// What completions read of one row takes at most 1/kReadsShare of a pass.
constexpr double kReadsShare = 4;

/// Whether a pass may have all these reads of completions. It may always have one.
bool HasTimeForReads(const PassWork& reads, const PassBudget& budget) {
  return reads.reads <= 1 || kReadsShare * budget.rates.Seconds(reads) <= budget.seconds;
}

std::int32_t PageBegin(std::int32_t row) { return row / kKvPageRows * kKvPageRows; }

}  // namespace

SequenceRun::SequenceRun(const PackedSequence& sequence, std::vector<proto::RowLogits>& results,
                         std::vector<Generation> generations, std::string salt, BlockCache& cache,
                         const proto::PlanLimits& limits, const std::optional<TextCut>& cut)
    : limits_(limits),
      sequence_(sequence),
      results_(results),
      parts_(PartsOf(sequence, limits, generations)),
      takes_several_passes_(TakesSeveralPasses(sequence, limits, generations)),
      pages_(parts_, takes_several_passes_, std::move(salt), cache) {
  results_.resize(sequence.reads.size());
  for (Generation& generation : generations) {
    completions_.push_back({std::move(generation)});
  }
  if (cut) {
    steps_.emplace(parts_.front(), limits_, *cut);
  }
}

bool SequenceRun::FitsEmptyPass(const PassBudget& budget) const {
  PassCost cost;
  PassWork work;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const SequencePart& part = parts_[i];
    if (pages_.is_left(i)) {
      cost += {.rows = part.rows(), .kv_rows = KvRows(part.rows())};
      cost += ReadsTo(i, part.rows()).cost;
    }
  }
  for (const Completion& completion : completions_) {
    ++cost.reads;
    if (completion.is_active) {
      // Of a run that was preempted, some reads are placed already.
      const TokenChooser& chooser = *completion.generation.chooser;
      cost.logit_bytes += completion.is_read_placed ? 0 : WantedBytes(chooser, limits_);
      work += WorkOfRead(chooser.Wanted(), chooser.Labels().size());
    }
  }
  return FitsPass(cost, limits_) && HasTimeForReads(work, budget);
}

bool SequenceRun::has_rows_left() const {
  if (steps_) {
    return steps_->is_left();
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (pages_.is_left(i)) {
      return true;
    }
  }
  return std::any_of(completions_.begin(), completions_.end(), [](const Completion& completion) {
    return completion.is_active && !completion.is_read_placed;
  });
}

bool SequenceRun::has_active_completions() const {
  return std::any_of(completions_.begin(), completions_.end(),
                     [](const Completion& completion) { return completion.is_active; });
}

std::int64_t SequenceRun::RowsTo(std::size_t index, std::int32_t end) const {
  const std::int32_t stored = pages_.stored(index);
  std::int64_t rows = std::max(end - stored, 0);
  std::int32_t page_begin = -1;
  for (const SequencePart::Read& read : parts_[index].reads) {
    if (read.row < std::min(stored, end) && PageBegin(read.row) != page_begin) {
      page_begin = PageBegin(read.row);
      rows += std::min(page_begin + kKvPageRows, stored) - read.row;
    }
  }
  return rows;
}

std::int64_t SequenceRun::StoredRowsToRead() const {
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto& reads = parts_[i].reads;
    if (!reads.empty() && reads.front().row + 1 < parts_[i].rows()) {
      rows += RowsTo(i, pages_.stored(i));
    }
  }
  return rows;
}

SequenceRun::Wanted SequenceRun::WantedOf(const SequencePart::Read& read) const {
  static const proto::LabelList no_labels;
  const auto target = static_cast<std::size_t>(read.target);
  if (target < sequence_.reads.size()) {
    const proto::RowRead& score = sequence_.reads[target];
    if (score.is_pooled()) {
      proto::RowRead row = score;
      row.first_row = row.row;
      return {row, no_labels};
    }
    return {score, sequence_.label_lists.at(static_cast<std::size_t>(score.label_list))};
  }
  const TokenChooser& chooser = *completions_[target - sequence_.reads.size()].generation.chooser;
  return {chooser.Wanted(), chooser.Labels()};
}

SequenceRun::Reads SequenceRun::ReadOf(const SequencePart& part, std::size_t i) const {
  const Wanted wanted = WantedOf(part.reads[i]);
  Reads read{.cost = {.reads = 1}, .work = WorkOfRead(wanted.read, wanted.labels.size())};
  const bool is_pooled_with_last = i > 0 && part.reads[i - 1].target == part.reads[i].target;
  if (!is_pooled_with_last) {
    read.cost.logit_bytes = proto::ReadBytes(wanted.read, wanted.labels.size(), limits_);
  }
  return read;
}

SequenceRun::Reads SequenceRun::ReadsTo(std::size_t index, std::int32_t end) const {
  const SequencePart& part = parts_[index];
  Reads reads;
  for (std::size_t i = 0; i < part.reads.size() && part.reads[i].row < end; ++i) {
    const Reads read = ReadOf(part, i);
    reads.cost += read.cost;
    reads.work += read.work;
  }
  return reads;
}

std::int32_t SequenceRun::FirstRowWithoutRoom(std::size_t index, const PassCost& room) const {
  const SequencePart& part = parts_[index];
  PassCost cost;
  for (std::size_t i = 0; i < part.reads.size(); ++i) {
    cost += ReadOf(part, i).cost;
    if (!cost.FitsInto(room)) {
      return part.reads[i].row;
    }
  }
  return part.rows();
}

bool SequenceRun::HasRoomForRead(const SequencePart& part, const TokenChooser& chooser,
                                 const PassBudget& budget) const {
  PassCost cost;
  PassWork of_completions;
  for (std::size_t i = part.reads.size(); i > 0 && part.reads[i - 1].row == part.rows() - 1; --i) {
    const Reads read = ReadOf(part, i - 1);
    cost += read.cost;
    if (std::cmp_greater_equal(part.reads[i - 1].target, sequence_.reads.size())) {
      of_completions += read.work;
    }
  }
  if (cost.reads == 0) {
    return true;
  }
  cost += {.reads = 1, .logit_bytes = WantedBytes(chooser, limits_)};
  of_completions += WorkOfRead(chooser.Wanted(), chooser.Labels().size());
  return FitsPass(cost, limits_) && HasTimeForReads(of_completions, budget);
}

void SequenceRun::PlaceReads(const PassBudget& budget) {
  for (std::size_t i = 0; i < completions_.size(); ++i) {
    Completion& completion = completions_[i];
    if (!completion.is_active || completion.is_read_placed) {
      continue;
    }
    const std::size_t segment = completion.generation.segment;
    // An empty suffix continues the prefix's last row.
    SequencePart& part = parts_[parts_[segment].rows() > 0 ? segment : PrefixParts(parts_) - 1];
    if (!HasRoomForRead(part, *completion.generation.chooser, budget)) {
      continue;  // It waits for a later pass.
    }
    part.reads.push_back({part.rows() - 1, static_cast<std::int32_t>(sequence_.reads.size() + i)});
    completion.is_read_placed = true;
  }
}

void SequenceRun::Begin(const PassBudget& budget) {
  if (state_ == State::kWaiting) {
    // A sequence without reads is not looked up. If all of it were cached, a pass would have
    // nothing to compute.
    pages_.Open(/*look_up=*/!sequence_.reads.empty() || !completions_.empty());
    state_ = State::kPrefill;
  }
  PlaceReads(budget);
}

SequenceRun::Outcome SequenceRun::AddWhole(PassBuilder& pass, std::int64_t spare_pages) {
  const bool begins = state_ == State::kWaiting;
  Begin(pass.budget());
  const Part part = PartTo(AllEnds());
  const bool fits = part.cost.FitsInto(pass.room()) && pass.HasTimeFor(part.work);
  if (!fits || !pages_.Reserve(begins ? spare_pages : 0)) {
    if (begins) {
      ReleasePages();
    }
    return fits ? Outcome::kNoPages : Outcome::kNoRoom;
  }
  pages_.CopyOverlaps(pass);
  Emit(pass, part.ends);
  return Outcome::kAdded;
}

SequenceRun::Outcome SequenceRun::AddPart(PassBuilder& pass, std::int64_t max_rows, double seconds,
                                          std::int64_t spare_pages) {
  if (std::min(pass.rows(), max_rows) == 0) {
    return Outcome::kNoRoom;
  }
  if (!TakePages(pass, spare_pages)) {
    return Outcome::kNoPages;
  }
  const PassRates& rates = pass.budget().rates;
  Part part = NextPart(pass.room(), max_rows);
  std::int64_t fewest = 1;
  std::int64_t too_many = part.cost.rows + 1;
  if (rates.Seconds(part.work) > seconds) {
    while (fewest + 1 < too_many) {
      const std::int64_t rows = (fewest + too_many) / 2;
      (rates.Seconds(NextPart(pass.room(), rows).work) <= seconds ? fewest : too_many) = rows;
    }
    part = NextPart(pass.room(), fewest);
  }
  AddPart(pass, part);
  return is_in_pass() ? Outcome::kAdded : Outcome::kNoRoom;
}

bool SequenceRun::TakePages(PassBuilder& pass, std::int64_t spare_pages) {
  const bool begins = state_ == State::kWaiting;
  Begin(pass.budget());
  if (!pages_.Reserve(spare_pages)) {
    if (begins) {
      ReleasePages();
    }
    return false;
  }
  pages_.CopyOverlaps(pass);
  return true;
}

SequenceRun::Part SequenceRun::NextPart(const PassCost& room, std::int64_t max_rows) const {
  PassCost within = room;
  within.rows = std::min(within.rows, max_rows);
  return PartTo(EndsWithin(within));
}

void SequenceRun::AddPart(PassBuilder& pass, const Part& part) {
  EndTurn(part.ends);
  Emit(pass, part.ends);
}

std::int64_t SequenceRun::RowsWithin(double seconds, const PassRates& rates) const {
  KeyCount count;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const SequencePart& part = parts_[i];
    const std::int64_t before = count.Next(part.segment.kind, part.segment.continues, part.rows());
    if (pages_.is_left(i)) {
      return scorecast::coordinator::RowsWithin(seconds, rates, before + pages_.stored(i),
                                                limits_.reach);
    }
  }
  return 0;
}

PassWork SequenceRun::WorkLeft() const {
  if (!steps_) {
    return PartTo(AllEnds()).work;
  }
  PassWork left = steps_->WorkLeft();
  left += ReadsTo(0, parts_.front().rows()).work;
  return left;
}

std::vector<std::int32_t> SequenceRun::AllEnds() const {
  std::vector<std::int32_t> ends;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    ends.push_back(pages_.is_left(i) ? parts_[i].rows() : kUntouched);
  }
  return ends;
}

SequenceRun::Part SequenceRun::PartTo(std::vector<std::int32_t> ends) const {
  Part to;
  KeyCount count;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const SequencePart& part = parts_[i];
    const std::int32_t end = std::max(ends[i], pages_.stored(i));
    const std::int64_t before = count.Next(part.segment.kind, part.segment.continues, end);
    const std::int64_t rows = RowsTo(i, ends[i]);
    to.work.keys += KeyCount::Keys(before, end - rows, end, limits_.reach);
    to.cost.rows += rows;
    const Reads reads = ReadsTo(i, ends[i]);
    to.cost += reads.cost;
    to.work += reads.work;
    if (ends[i] > pages_.stored(i) && !(takes_several_passes_ && part.must_be_kept)) {
      to.cost.kv_rows += KvRows(part.rows() - PageBegin(pages_.stored(i)));
    }
  }
  to.work.rows = to.cost.rows;
  to.ends = std::move(ends);
  return to;
}

std::vector<std::size_t> SequenceRun::ChainsInTurn() const {
  std::vector<std::size_t> chains;
  std::vector<std::size_t> growing;
  for (std::size_t begin = 0; begin < parts_.size(); begin = ChainEnd(parts_, begin)) {
    (parts_[begin].is_growing ? growing : chains).push_back(begin);
  }
  const auto first = std::ranges::lower_bound(growing, first_turn_);
  chains.insert(chains.end(), first, growing.end());
  chains.insert(chains.end(), growing.begin(), first);
  return chains;
}

void SequenceRun::EndTurn(const std::vector<std::int32_t>& ends) {
  std::size_t last = first_turn_;
  bool are_all_added = true;
  for (const std::size_t begin : ChainsInTurn()) {
    const std::size_t chain_end = ChainEnd(parts_, begin);
    bool is_left = false;
    bool is_added = true;
    for (std::size_t i = begin; i < chain_end && parts_[begin].is_growing; ++i) {
      is_left = is_left || pages_.is_left(i);
      is_added = is_added && (!pages_.is_left(i) || ends[i] == parts_[i].rows());
    }
    last = is_left && is_added ? chain_end : last;
    are_all_added = are_all_added && is_added;
  }
  first_turn_ = are_all_added ? 0 : last;
}

bool SequenceRun::IsPromptLeft() const {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const bool has_scores_left =
        std::ranges::any_of(parts_[i].reads, [&](const SequencePart::Read& read) {
          return std::cmp_less(read.target, sequence_.reads.size());
        });
    if (pages_.stored(i) < parts_[i].segment.length || has_scores_left) {
      return true;
    }
  }
  return false;
}

std::vector<std::int32_t> SequenceRun::EndsWithin(PassCost room) const {
  bool has_unseen_chain = false;
  std::vector<std::int32_t> ends(parts_.size(), kUntouched);
  for (const std::size_t begin : ChainsInTurn()) {
    const std::size_t chain_end = ChainEnd(parts_, begin);
    PassCost left;  // What computing the whole chain takes.
    bool is_left = false;
    for (std::size_t i = begin; i < chain_end; ++i) {
      const SequencePart& part = parts_[i];
      left += {.rows = RowsTo(i, part.rows()), .kv_rows = KvRows(part.rows())};
      left += ReadsTo(i, part.rows()).cost;
      is_left = is_left || pages_.is_left(i);
    }
    if (!is_left) {
      continue;
    }
    if (!parts_[begin].must_be_kept) {
      if (!left.FitsInto(room)) {
        return ends;
      }
      for (std::size_t i = begin; i < chain_end; ++i) {
        ends[i] = parts_[i].rows();
      }
      room -= left;
      continue;
    }
    if (!parts_[begin].is_shared && !parts_[begin].is_growing) {
      if (has_unseen_chain) {
        return ends;  // This chain needs the pages of the one before it, which the pass still uses.
      }
      has_unseen_chain = true;
    }
    for (std::size_t i = begin; i < chain_end; ++i) {
      const SequencePart& part = parts_[i];
      const std::int32_t stored = pages_.stored(i);
      const std::int64_t rows_again = RowsTo(i, stored);
      const std::int32_t readable = FirstRowWithoutRoom(i, room);
      if (rows_again > room.rows || readable < stored) {
        return ends;
      }
      const std::int32_t end =
          std::min(readable, stored + static_cast<std::int32_t>(std::min<std::int64_t>(
                                          room.rows - rows_again, part.rows() - stored)));
      ends[i] = end;
      room.rows -= RowsTo(i, end);
      room -= ReadsTo(i, end).cost;
      if (end < part.rows()) {
        return ends;
      }
    }
  }
  return ends;
}

void SequenceRun::AddPieces(PassBuilder& pass, std::size_t index, std::int32_t end,
                            std::vector<Piece>& pieces) {
  const SequencePart& part = parts_[index];
  const bool is_prefix = part.segment.kind == SegmentKind::kPrefix;
  const std::int32_t stored = pages_.stored(index);
  const std::int32_t present = std::max(end, pages_.stored_in_pages(index));
  for (std::int32_t begin = 0; begin < present;) {
    std::int32_t rows = part.rows() - begin;
    Piece piece;
    PlanSegment& segment = piece.segment;
    if (const auto page = pages_.PageOf(index, static_cast<std::size_t>(begin / kKvPageRows))) {
      rows = std::min(rows, kKvPageRows);
      segment.kv = {true, *page * kKvPageRows};
    } else {
      segment.kv = pass.TakePlaces(rows);
    }
    segment.kind = part.segment.kind;
    segment.continues = !is_prefix && (part.segment.continues || begin > 0);
    segment.first_position = part.segment.first_position + begin;
    segment.stored = std::clamp(stored - begin, 0, rows);
    segment.compute_end = std::clamp(present - begin, 0, rows);
    segment.compute_begin = segment.stored;
    for (const SequencePart::Read& read : part.reads) {
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
  // Backwards: a piece is needed if its own rows, or later ones that see it, are computed.
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
    cached_rows_ = pages_.CountLookup(StoredRowsToRead());
  }
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    AddPieces(pass, i, ends[i], pieces);
  }
  const std::vector<bool> needed = NeededPieces(pieces);
  added_rows_ = 0;
  if (std::any_of(needed.begin(), needed.end(), [](bool is_needed) { return is_needed; })) {
    pass.BeginSequence(sequence_.block_weighting);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (needed[i]) {
      AddPiece(pass, pieces[i], ends[pieces[i].part]);
    }
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    std::erase_if(parts_[i].reads,
                  [&](const SequencePart::Read& read) { return read.row < ends[i]; });
    pages_.Store(i, ends[i]);
  }
  if (!IsPromptLeft()) {
    state_ = State::kDecode;
  }
}

void SequenceRun::AddStep(PassBuilder& pass, std::int32_t first_row) {
  Check(pass.empty(), "a step of a text is a pass of its own");
  state_ = State::kPrefill;
  SequencePart& text = parts_.front();
  const TextSteps::Step step = steps_->Next();
  const auto begin = static_cast<std::int32_t>(step.rows.begin);
  const auto end = static_cast<std::int32_t>(step.rows.end);
  pass.BeginSequence(sequence_.block_weighting);
  pass.BeginStep(step.stages, step.work);
  added_rows_ = 0;
  const std::int32_t end_read = step.has_reads ? end : 0;
  AddPiece(pass,
           {.segment = {.kind = text.segment.kind,
                        .first_position = text.segment.first_position,
                        .compute_begin = begin,
                        .stored = begin,
                        .compute_end = end,
                        .kv = {.kept = true, .first = first_row},
                        .later = text.rows() - end}},
           end_read);
  std::erase_if(text.reads, [&](const SequencePart::Read& read) { return read.row < end_read; });
  steps_->Advance();
  if (!steps_->is_left()) {
    state_ = State::kDecode;
  }
}

void SequenceRun::AddPiece(PassBuilder& pass, const Piece& piece, std::int32_t end) {
  const SequencePart& part = parts_[piece.part];
  const PlanSegment& segment = piece.segment;
  const std::int64_t first_computed = pass.computed_rows();
  const std::int32_t computed_begin = piece.first_row + segment.compute_begin;
  const std::int32_t computed_end = piece.first_row + segment.compute_end;
  pass.AddSegment(segment, part.Tokens(computed_begin, computed_end),
                  part.TokenTypes(computed_begin, computed_end));
  added_rows_ += segment.computed();
  for (std::size_t i = 0; i < part.reads.size(); ++i) {
    const std::int32_t row = part.reads[i].row - piece.first_row;
    if (part.reads[i].row < end && row >= segment.compute_begin && row < segment.compute_end) {
      AddRead(pass, part, i, first_computed + row - segment.compute_begin);
    }
  }
}

void SequenceRun::AddRead(PassBuilder& pass, const SequencePart& part, std::size_t i,
                          std::int64_t row) {
  const std::int32_t target = part.reads[i].target;
  const Wanted wanted = WantedOf(part.reads[i]);
  if (!wanted.read.is_pooled()) {
    pass.AddRead(row, wanted.read, wanted.labels);
    targets_in_pass_.push_back(target);
    return;
  }
  const bool goes_on = i + 1 < part.reads.size() && part.reads[i + 1].target == target;
  if (!targets_in_pass_.empty() && targets_in_pass_.back() == target) {
    pass.AddPooledRow(row, goes_on);
    return;
  }
  const auto index = static_cast<std::size_t>(target);
  const std::int64_t rows = proto::RowsOfRead(sequence_.reads[index]);
  const std::int64_t left =
      rows == 1 ? 1 : std::ranges::count(part.reads, target, &SequencePart::Read::target);
  pass.AddPooledRead(row, {.raw = wanted.read.raw,
                           .keeps_length = wanted.read.keeps_length,
                           .goes_on = goes_on,
                           .rows_before = static_cast<std::int32_t>(rows - left),
                           .pooled = std::move(results_[index].embedding)});
  targets_in_pass_.push_back(target);
}

std::vector<SequenceRun::RowOfCompletion> SequenceRun::RowsOfCompletions(
    std::span<const proto::RowLogits> rows) const {
  Check(rows.size() == targets_in_pass_.size(), "a pass returns a row for each of its reads");
  std::vector<RowOfCompletion> of_completions;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto target = static_cast<std::size_t>(targets_in_pass_[i]);
    if (target >= results_.size()) {
      const Completion& completion = completions_[target - results_.size()];
      of_completions.push_back({completion.generation.chooser.get(), &rows[i]});
    }
  }
  return of_completions;
}

std::span<const TokenChooser::Choice> SequenceRun::Take(
    std::span<proto::RowLogits> rows, std::span<const TokenChooser::Choice> choices) {
  Check(rows.size() == targets_in_pass_.size(), "a pass returns a row for each of its reads");
  added_rows_ = 0;
  const std::vector<std::int32_t> targets = std::exchange(targets_in_pass_, {});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto target = static_cast<std::size_t>(targets[i]);
    if (target < results_.size()) {
      results_[target] = std::move(rows[i]);
    } else {
      Check(!choices.empty(), "each completion of a pass has a choice");
      TakeToken(completions_[target - results_.size()], choices.front());
      choices = choices.subspan(1);
    }
  }
  pages_.PassDone();
  if (!has_rows_left()) {
    state_ = State::kDone;
  }
  return choices;
}

void SequenceRun::TakeToken(Completion& completion, const TokenChooser::Choice& choice) {
  completion.is_read_placed = false;
  SequencePart& part = parts_[completion.generation.segment];
  switch (choice.kind) {
    case TokenChooser::Choice::Kind::kToken:
      part.generated.push_back(choice.token);
      break;
    case TokenChooser::Choice::Kind::kReadAgain:
      break;
    case TokenChooser::Choice::Kind::kEnd:
      completion.is_active = false;
      part.is_growing = false;
      break;
  }
}

void SequenceRun::ReleasePages() {
  pages_.Release();
  state_ = State::kWaiting;
}

}  // namespace scorecast::coordinator
