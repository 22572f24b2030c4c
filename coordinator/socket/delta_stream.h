#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include <boost/asio/any_io_executor.hpp>

#include "coordinator/generate/completion_generator.h"
#include "coordinator/socket/pending_request.h"

namespace scorecast::coordinator {

/// What one request's answers grow by, on its way to the client: in order, before the answer
/// itself. One reply of it at a time is on its way; what comes meanwhile waits here, merged to one
/// delta a question, so that a client that does not read makes nothing pile up but text that its
/// answer has room for (see AnswerBytesBound). Safe to use from any thread.
class DeltaStream : public std::enable_shared_from_this<DeltaStream> {
 public:
  using Replied = std::function<void(Reply)>;

  /// Frames are formed on `executor`.
  DeltaStream(std::uint64_t request_id, std::shared_ptr<PendingRequest> pending,
              boost::asio::any_io_executor executor, Replied replied);

  /// Returns at once: the computing thread forms nothing.
  void Add(std::size_t question, CompletionDelta delta);
  /// Calls `answer` when all that was added is on its way; nothing is added any more.
  void Finish(std::function<void()> answer);

 private:
  /// On the executor, one at a time.
  void Step();
  void Post();

  const std::uint64_t request_id_;
  const std::shared_ptr<PendingRequest> pending_;
  const boost::asio::any_io_executor executor_;
  const Replied replied_;

  std::mutex mutex_;
  std::map<std::size_t, CompletionDelta> waiting_;  ///< By question.
  std::function<void()> answer_;
  bool is_busy_ = false;  ///< A step will come: it was posted, or follows the reply being written.
};

}  // namespace scorecast::coordinator
