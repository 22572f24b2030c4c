#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "coordinator/generate/completion_generator.h"
#include "coordinator/service/call.h"
#include "coordinator/service/held_bytes.h"
#include "coordinator/transports/batch/open_line.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// A line of a batch that streams gets this 400.
proto::Error NoStreamOfLine();

/// The request of a line of a batch at a service. It bounds its own response. Until its record is
/// written it has only its rows and completions.
class LineCall : public Call {
 public:
  /// A response that could be larger than `max_response_bytes` is refused.
  LineCall(std::shared_ptr<OpenLine> line, std::int64_t max_response_bytes);

  HeldBytes& replies() override { return response_; }
  std::optional<proto::Error> StreamFault() const override { return NoStreamOfLine(); }

 private:
  void OnDelta(std::size_t output, CompletionDelta delta) override;
  void OnEnd() override;

  std::shared_ptr<OpenLine> line_;  ///< Null once it is ready, which then has the call.
  HeldBytes response_;
};

}  // namespace scorecast::coordinator
