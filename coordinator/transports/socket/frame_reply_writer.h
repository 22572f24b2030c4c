#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "coordinator/resources/reply_field.h"
#include "coordinator/transports/socket/server_state.h"
#include "coordinator/transports/web/reply_writer.h"

namespace scorecast::v1 {
class HttpReply;
}

namespace scorecast::coordinator {

/// Which request of the connection is replied to, and what the last part of the reply tells.
struct FrameReplyTerms {
  std::uint64_t request_id = 0;
  std::shared_ptr<RecentState> state;  ///< Null if the front was not asked to be told it.
};

/// Writes the reply to an HTTP request as frames of v1::HttpReply: a whole one as one frame, and
/// one in parts as a frame for each.
class FrameReplyWriter : public ReplyWriter {
 public:
  FrameReplyWriter(ReplyTerms terms, FrameReplyTerms frame_terms);
  ~FrameReplyWriter() override;

  std::uint64_t number() const override { return frame_terms_.request_id; }

 protected:
  std::string WriteHeader(int status, const ReplyFields& fields,
                          std::optional<std::size_t> bytes) override;
  /// Writes nothing: the first part has the header.
  std::string WriteHeaderOfParts(int status, const ReplyFields& fields) override;
  std::string WritePart(std::string_view bytes, bool is_last, const PartNote& note) override;

 private:
  /// The frame of a part, without its body, which has `bytes`.
  std::string BeforeBytes(v1::HttpReply part, bool is_last, std::size_t bytes,
                          const std::optional<StreamPosition>& position = std::nullopt) const;

  const FrameReplyTerms frame_terms_;
  std::unique_ptr<v1::HttpReply> header_;  ///< That of parts, until the first is written.
};

}  // namespace scorecast::coordinator
