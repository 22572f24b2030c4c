#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "coordinator/resources/reply_field.h"

namespace scorecast::coordinator {

/// The reply to a GET of a resource.
struct ResourceContent {
  int status = 200;  ///< An HTTP status code.
  std::string content_type = "application/json";
  std::string body;
  ReplyFields fields = {};  ///< Further fields of the reply's header.
  /// Differs from that of every other content, and has no quotes; empty: none. A client that has
  /// the content of this ETag already gets a reply without a body.
  std::string entity_tag = {};
};

/// A content that any number of replies share, so that each takes no memory for a copy of it.
using SharedContent = std::shared_ptr<const ResourceContent>;

inline SharedContent Share(ResourceContent content) {
  return std::make_shared<const ResourceContent>(std::move(content));
}

/// Something that clients read without a request to an endpoint, such as the state of the service.
struct Resource {
  std::string path;  ///< May have a name in braces: see url_pattern.h.
  /// Called on any thread. Must return soon, and must not wait for the ranks.
  std::function<SharedContent()> get;
  std::string description;  ///< One line, for /openapi.json.
  /// Whether it tells of the state of the service, so that it is also read while the service
  /// drains.
  bool is_state = false;
  bool is_open = false;  ///< Who has no key may read it, too.
  /// Called instead of `get` if `path` has a name in braces, with what stands there in a URL.
  std::function<SharedContent(std::string_view id)> get_by_id = nullptr;
};

}  // namespace scorecast::coordinator
