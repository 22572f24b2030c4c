#include "coordinator/transports/socket/frame_reply_writer.h"

#include <utility>

#include "coordinator/transports/socket/forwarded.h"
#include "proto/scorecast.pb.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {
namespace {

v1::HttpReply HeaderMessage(int status, const ReplyFields& fields) {
  v1::HttpReply header;
  header.set_status(static_cast<std::uint32_t>(status));
  for (const auto& [name, value] : fields) {
    v1::HttpField& field = *header.add_fields();
    field.set_name(std::string(name));
    field.set_value(value);
  }
  return header;
}

}  // namespace

FrameReplyWriter::FrameReplyWriter(ReplyTerms terms, FrameReplyTerms frame_terms)
    : ReplyWriter(std::move(terms)), frame_terms_(std::move(frame_terms)) {}

FrameReplyWriter::~FrameReplyWriter() = default;

std::string FrameReplyWriter::BeforeBytes(v1::HttpReply part, bool is_last, std::size_t bytes,
                                          const std::optional<StreamPosition>& position) const {
  v1::Response rest;
  rest.set_request_id(frame_terms_.request_id);
  if (position) {
    ToMessage(*position, *rest.mutable_position());
  }
  if (is_last && frame_terms_.state != nullptr) {
    constexpr std::uint32_t kUnavailable = 503;
    ToMessage(frame_terms_.state->Get(/*is_fresh=*/part.status() == kUnavailable),
              *rest.mutable_status());
  }
  part.set_last(is_last);
  return proto::ToFrameBefore(rest, v1::Response::kHttpFieldNumber, part,
                              v1::HttpReply::kBodyFieldNumber, bytes);
}

std::string FrameReplyWriter::WriteHeader(int status, const ReplyFields& fields,
                                          std::optional<std::size_t> bytes) {
  return BeforeBytes(HeaderMessage(status, fields), /*is_last=*/true,
                     is_head() ? 0 : bytes.value_or(0));
}

std::string FrameReplyWriter::WriteHeaderOfParts(int status, const ReplyFields& fields) {
  header_ = std::make_unique<v1::HttpReply>(HeaderMessage(status, fields));
  return {};
}

std::string FrameReplyWriter::WritePart(std::string_view bytes, bool is_last,
                                        const PartNote& note) {
  const std::unique_ptr<v1::HttpReply> header = std::move(header_);
  v1::HttpReply part = header == nullptr ? v1::HttpReply() : std::move(*header);
  if (note.error_code != 0) {
    part.set_status(static_cast<std::uint32_t>(note.error_code));
  }
  std::string frame = BeforeBytes(std::move(part), is_last, bytes.size(), note.position);
  frame += bytes;
  return frame;
}

}  // namespace scorecast::coordinator
