#pragma once

#include <vector>

#include "coordinator/request/values.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

// Views of parts of a message, which must outlive them.

inline std::span<const TokenId> ViewOf(const google::protobuf::RepeatedField<TokenId>& ids) {
  return {ids.data(), static_cast<std::size_t>(ids.size())};
}
inline std::span<const TokenId> ViewOf(const v1::TokenIds& message) {
  return ViewOf(message.ids());
}
TextOrIds ViewOf(const v1::TextOrIds& message);
TextOrId ViewOf(const v1::TextOrId& message);
std::vector<TextOrIds> ViewsOf(const google::protobuf::RepeatedPtrField<v1::TextOrIds>& messages);
std::vector<std::string_view> ViewsOf(const google::protobuf::RepeatedPtrField<std::string>& texts);

/// Sets the lists of ids in `given`.
void ViewIds(const v1::LabelTokenIds& message, GivenLabels& given);

/// A number of elements.
template <typename List>
std::size_t SizeOf(const List& list) {
  return static_cast<std::size_t>(list.size());
}

}  // namespace scorecast::coordinator
