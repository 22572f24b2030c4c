#include "coordinator/transports/web/compressed_contents.h"

#include "coordinator/transports/web/reply_coding.h"

namespace scorecast::coordinator {

std::shared_ptr<const std::string> CompressedContents::Get(const std::string& path,
                                                           const SharedContent& content,
                                                           ContentCoding coding) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find({path, coding});
    if (found != entries_.end() && found->second.content.lock() == content) {
      return found->second.body;
    }
  }
  // Without the lock: two threads may do the same work.
  auto body = std::make_shared<const std::string>(Compressed(content->body, coding));
  const std::lock_guard lock(mutex_);
  entries_[{path, coding}] = {content, body};
  return body;
}

}  // namespace scorecast::coordinator
