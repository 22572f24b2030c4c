#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include <boost/asio/any_io_executor.hpp>

#include "coordinator/generate/completion_generator.h"
#include "coordinator/transports/connection/pending_request.h"
#include "coordinator/transports/connection/reply_format.h"

namespace scorecast::coordinator {

/// Sends the deltas of one request to the client, in order and before the response. Only one reply
/// with deltas is being written at a time. Deltas that arrive meanwhile wait here, merged into one
/// for each output. A client that does not read therefore takes no more memory than its response
/// has room for (see EndpointRequest::ResponseBytesBound). Safe to use from any thread.
class DeltaStream : public std::enable_shared_from_this<DeltaStream> {
 public:
  using Replied = std::function<void(Reply)>;

  /// Replies are formed on `executor`.
  DeltaStream(std::shared_ptr<ReplyFormat> format, std::shared_ptr<PendingRequest> pending,
              boost::asio::any_io_executor executor, Replied replied);

  /// Called on the computing thread. Returns at once, because replies are formed elsewhere.
  void Add(std::size_t output, CompletionDelta delta);
  /// Calls `respond` after all deltas have been passed to `replied`. No delta may be added
  /// afterwards.
  void Finish(std::function<void()> respond);

 private:
  /// Passes the waiting deltas on. Runs on the executor, one step at a time.
  void Step();
  void Post();

  const std::shared_ptr<ReplyFormat> format_;
  const std::shared_ptr<PendingRequest> pending_;
  const boost::asio::any_io_executor executor_;
  const Replied replied_;

  std::mutex mutex_;
  std::map<std::size_t, CompletionDelta> waiting_;  ///< By output.
  std::function<void()> respond_;
  bool is_busy_ = false;  ///< A step will come: it was posted, or follows the reply being written.
};

}  // namespace scorecast::coordinator
