#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {

/// An error with code 400.
proto::Error BadRequest(std::string reason, std::string message, std::string param);

/// The 400 for a field with text if the model directory has no tokenizer.
proto::Error NoTokenizer(std::string param);

/// The 400 for a field with text that is not valid UTF-8.
proto::Error InvalidUtf8(std::string param);

/// The 400 for a field that makes no sense for the logits of classes.
proto::Error NotForClassifiers(std::string param);

/// The 400 for a field that makes no sense for the logits of tokens.
proto::Error OnlyForClassifiers(std::string param);

/// The 404 for a model that is not the one that is served.
proto::Error NoSuchModel(std::string_view name, std::string_view served);

/// What a client is told whose request ended by an exception: a 503 if there was no memory, which
/// may come back, otherwise a 500.
proto::Error FaultOf(const std::exception& exception);

/// "items[3]"
std::string At(std::string_view field, std::size_t index);

using proto::Quoted;

}  // namespace scorecast::coordinator
