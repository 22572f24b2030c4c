#pragma once

#include <string>

namespace scorecast::coordinator {

/// What an HTTP request asks for, however it arrived, without its body.
struct WebRequest {
  std::string method;
  std::string path;  ///< See PathOf.
  /// What a field of the service that the client knows says of the path: "/pinecone", or nothing.
  std::string path_prefix;
  // Values of the fields; empty if they are absent.
  std::string content_type;
  std::string content_encoding;  ///< See EncodingOf.
  std::string accept_encoding;
  std::string if_none_match{};  ///< A front does not pass it on.
};

}  // namespace scorecast::coordinator
