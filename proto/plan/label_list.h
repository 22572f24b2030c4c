#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "proto/model/token_id.h"

namespace scorecast::proto {

/// Tokens whose logits are read, in the order of the results. Never changes; copies share the ids.
class LabelList {
 public:
  using value_type = TokenId;
  using const_iterator = std::vector<TokenId>::const_iterator;
  using iterator = const_iterator;

  LabelList() = default;
  LabelList(std::vector<TokenId> ids)  // NOLINT(google-explicit-constructor)
      : ids_(std::make_shared<const std::vector<TokenId>>(std::move(ids))) {}
  LabelList(std::initializer_list<TokenId> ids) : LabelList(std::vector<TokenId>(ids)) {}

  const std::vector<TokenId>& ids() const {
    static const std::vector<TokenId> none;
    return ids_ == nullptr ? none : *ids_;
  }
  std::size_t size() const { return ids().size(); }
  bool empty() const { return ids().empty(); }
  const_iterator begin() const { return ids().begin(); }
  const_iterator end() const { return ids().end(); }
  TokenId operator[](std::size_t index) const { return ids()[index]; }

  /// Identifies the ids that copies share. Null for a list that was made without ids.
  const void* identity() const { return ids_.get(); }

  bool operator==(const LabelList& other) const { return ids() == other.ids(); }

 private:
  std::shared_ptr<const std::vector<TokenId>> ids_;
};

}  // namespace scorecast::proto
