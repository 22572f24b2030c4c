#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/model/token_id.h"

namespace scorecast::coordinator {

/// The user-defined symbols of a serialized SentencePiece model, which are single tokens wherever
/// they occur in a text: their ids and texts, in order. The library has no access to them. `model`
/// must be a model that the library has loaded.
std::vector<std::pair<proto::TokenId, std::string>> UserDefinedPieces(std::string_view model);

}  // namespace scorecast::coordinator
