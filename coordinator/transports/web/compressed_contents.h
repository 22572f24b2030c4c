#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "coordinator/resources/resource.h"
#include "coordinator/transports/web/inflate.h"

namespace scorecast::coordinator {

/// The last compressed body of each resource, so that most replies with it need not compress it
/// again: contents change seldom (/metrics ten times a second), or never. Any thread may use it.
class CompressedContents {
 public:
  /// The body of the content that `path` has now.
  std::shared_ptr<const std::string> Get(const std::string& path, const SharedContent& content,
                                         ContentCoding coding);

 private:
  struct Entry {
    std::weak_ptr<const ResourceContent> content;
    std::shared_ptr<const std::string> body;
  };

  std::mutex mutex_;
  std::map<std::pair<std::string, ContentCoding>, Entry> entries_;  ///< At most two a resource.
};

}  // namespace scorecast::coordinator
