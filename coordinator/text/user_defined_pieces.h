#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/model/token_id.h"

namespace scorecast::coordinator {

/// The user-defined symbols of a serialized SentencePiece model: their ids and texts, in order.
/// Each is a single token wherever it occurs in a text. They are read here because the library
/// gives no access to them. `model` must be a model that the library has loaded.
std::vector<std::pair<proto::TokenId, std::string>> UserDefinedPieces(std::string_view model);

}  // namespace scorecast::coordinator
