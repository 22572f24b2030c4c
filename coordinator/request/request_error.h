#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {

/// A 400.
proto::Error BadRequest(std::string reason, std::string message, std::string param);

/// The 400 of a text if the model directory has no tokenizer.
proto::Error NoTokenizer(std::string param);

proto::Error InvalidUtf8(std::string param);

/// "items[3]"
std::string At(std::string_view field, std::size_t index);

using proto::Quoted;

}  // namespace scorecast::coordinator
