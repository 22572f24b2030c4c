#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/generate/completion_position.h"
#include "coordinator/json/json_writer.h"
#include "coordinator/request/values.h"

namespace google::protobuf {
class Descriptor;
class Message;
}  // namespace google::protobuf

namespace scorecast::coordinator {

/// What is counted of a response.
struct ResponseFigures {
  Usage usage;
  Timings timings;
  std::int64_t items = 0;  ///< See Readout::Items.
};

/// How far a completion was sent.
struct StreamPosition {
  std::size_t output = 0;  ///< Index of the completion in the response.
  CompletionPosition reached;
};

/// What an endpoint returns for one request, or a delta of it: a message.
class EndpointResponse {
 public:
  /// `description` describes its form in JSON: see proto/json_description.proto. If it is null,
  /// the message's own type does.
  explicit EndpointResponse(std::unique_ptr<google::protobuf::Message> message,
                            const google::protobuf::Descriptor* description = nullptr);
  ~EndpointResponse();
  EndpointResponse(const EndpointResponse&) = delete;
  EndpointResponse& operator=(const EndpointResponse&) = delete;

  const google::protobuf::Message& message() const { return *message_; }

  /// The response as the endpoint's clients know it.
  void WriteJson(JsonWriter& writer) const;

  /// JSON has this list even if it is empty, although its description omits empty lists. `field` is
  /// the list's number.
  void KeepIfEmpty(int field) { kept_.push_back(field); }

  /// JSON has this text for a field, which the message does not have: it may be written as it is
  /// made, so that it is never in memory as a message. `field` is its number.
  void SetWritten(int field, std::string json) { written_.emplace(field, std::move(json)); }

  /// The deltas of a stream of JSON have all of it, so no event follows them.
  void SetNoEvent() { is_event_ = false; }
  bool is_event() const { return is_event_; }

  /// It is a delta, and brings its completion up to here.
  void SetPosition(const StreamPosition& position) { position_ = position; }
  const std::optional<StreamPosition>& position() const { return position_; }

  /// Sets the message's field `model`, if it has one.
  void SetModel(const std::string& model);
  /// Sets the message's fields `model`, `usage` and `timings`, as far as it has them. The number of
  /// tokens generated is that of its `usage`.
  void Complete(const std::string& model, const ResponseFigures& figures);
  const ResponseFigures& figures() const { return figures_; }

 private:
  const std::unique_ptr<google::protobuf::Message> message_;
  const google::protobuf::Descriptor& description_;
  std::vector<int> kept_;
  std::map<int, std::string> written_;
  bool is_event_ = true;
  std::optional<StreamPosition> position_;
  ResponseFigures figures_;
};

}  // namespace scorecast::coordinator
