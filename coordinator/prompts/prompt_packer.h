#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coordinator/prompts/item_prompts.h"
#include "coordinator/prompts/sequence_layout.h"
#include "proto/base/error.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/label_list.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// What is wanted from every row that is read.
struct RowWants {
  std::span<const proto::LabelList> label_lists;  ///< One for all items, or one for each.
  bool normalizer = false;
  std::int32_t top_k = 0;
  /// Every row is read once more, behind the first read, with the normalizer. The first read then
  /// has the same bits as without the second one.
  bool second_reads = false;
  /// The rows that are read are those before the tokens of an item, each for that token, with the
  /// normalizer. There must be no rows and no second reads then.
  bool likelihood = false;
};

/// The sequences of a request.
struct PackedPrompts {
  /// Where the rows that are read for an item are: consecutive reads of one sequence.
  struct ItemReads {
    std::size_t sequence = 0;
    std::size_t first = 0;
    std::size_t count = 0;
  };

  std::vector<proto::PackedSequence> sequences;
  std::vector<ItemReads> items;  ///< [items]
  /// Tokens of all sequences. Those of a prefix count once for all packed sequences that begin with
  /// it.
  std::int64_t prompt_tokens = 0;
};

/// Makes the sequences of a request, and says which rows they read. The request has one or more
/// prefixes, each with items behind it, which never see each other. The caller numbers all items of
/// the request from 0. The functions that add sequences return the error of one that can never be
/// computed.
class PromptPacker {
 public:
  /// `items_field` names the items in errors. The label lists and `limits` must outlive the packer.
  PromptPacker(std::string items_field, std::size_t num_items, const RowWants& wants,
               const proto::PlanLimits& limits);

  /// Begins a prefix, whose tokens the sequences that are added from here on share. All blocks of
  /// the one before it must be packed.
  void Begin(std::vector<TokenId> prefix);

  /// Adds an item. A whole prompt becomes a sequence at once, also if the prefix is empty, because
  /// a packed sequence has one. Other items become blocks at PackBlocks. The rows `rows`, counted
  /// from the first of `tokens.ids`, are read; if there are none, the last row is or, for a block
  /// without tokens, the last row of the prefix. The tokens of a whole prompt that has as many
  /// before them as the prefix count as the item's.
  std::optional<proto::Error> Add(std::size_t item, Continuation tokens,
                                  std::vector<std::int32_t> rows = {});

  /// Adds a sequence that begins with an item: prefix and `tokens.head`, and a suffix. Its last row
  /// is read.
  std::optional<proto::Error> AddItemFirst(std::size_t item, Continuation tokens);

  /// The scheduler goes through the blocks of a sequence for each pass that computes some of them.
  static constexpr std::size_t kMostBlocks = std::size_t{1} << 15;

  /// Packs the blocks of this prefix as one sequence. If that can never be computed, or there are
  /// more than kMostBlocks, it packs several that begin with the same prefix. A block's rows are
  /// the same segments in either case, and so have the same bits. Returns an error for an item that
  /// does not fit even alone. Does nothing if there are no blocks.
  std::optional<proto::Error> PackBlocks();

  /// Packs the blocks of this prefix as one sequence in any case. The last row of the prefix is the
  /// first read if `reads_prefix`, even if there are no blocks.
  std::optional<proto::Error> PackBlocksAsOne(bool reads_prefix);

  PackedPrompts Take() && { return std::move(packed_); }

 private:
  struct Block {
    std::size_t item = 0;
    std::vector<std::int32_t> rows;
  };

  proto::PackedSequence LayOut(std::size_t begin, std::size_t end, bool reads_prefix) const;
  std::optional<proto::Error> PackRange(std::size_t begin, std::size_t end);
  void AddPacked(proto::PackedSequence sequence, std::size_t begin, std::size_t end);
  std::optional<proto::Error> AddPrompt(proto::PackedSequence sequence, std::size_t item,
                                        std::span<const std::int32_t> rows);
  void AddReads(proto::PackedSequence& sequence, std::span<const std::int32_t> rows,
                std::int32_t begin, std::int32_t last, std::size_t label_list) const;
  /// Reads the row before each token, for that token. `row_before` is the row before the first one,
  /// whose own row is `first_row`.
  void AddTargets(proto::PackedSequence& sequence, std::int32_t row_before, std::int32_t first_row,
                  std::span<const TokenId> tokens) const;
  /// Number of reads of block `index`.
  std::size_t ReadsOfBlock(std::size_t index) const;
  bool has_own_labels() const { return wants_.label_lists.size() > 1; }

  std::string FieldOf(std::size_t item) const;

  const std::string items_field_;
  const RowWants wants_;
  const proto::PlanLimits& limits_;
  PackedPrompts packed_;
  SharedIds prefix_;
  SharedIds rest_;  ///< The suffix of the first item that stands first. Null if there is none.
  bool is_prefix_counted_ = false;
  std::vector<std::vector<TokenId>> blocks_;
  std::vector<Block> items_of_blocks_;
};

}  // namespace scorecast::coordinator
