#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/json/body_form.h"
#include "coordinator/json/body_reader.h"

namespace scorecast::coordinator {

/// How a request was read that is a message.
struct ReadRequest : EndpointRequest {
  const BodyForm* form = nullptr;  ///< The form of the body, or the message's own.
  bool is_message = false;         ///< The client sent a message, not a body.
  BodyNotes notes;

  virtual google::protobuf::Message& base_message() = 0;
  virtual const google::protobuf::Message& base_message() const = 0;
  /// Moves the RequestOptions out of the message, after it has been read.
  virtual void SetOptions() = 0;

  /// The name by which the client gave a field of the message.
  const std::string& NameOf(int field) const;
  /// Whether the client gave the field `text` as a string that is the value of the boolean `truth`:
  /// see FieldDescription.strings_set.
  bool IsStringOf(int truth, int text) const;
  /// The client's name of one of the fields `of_tokens`, or of the longest list if none is given.
  std::string SizeField(std::span<const int> of_tokens) const;
  /// Whether a list, which the message cannot tell from an absent one, is given but empty.
  bool IsEmptyList(int field) const;
};

/// A request whose fields are those of a message.
template <typename Message>
struct MessageRequest final : ReadRequest {
  /// What an endpoint does with requests of this message. See EndpointRequest.
  struct Uses {
    proto::Expected<PreparedRequest> (*prepare)(MessageRequest request,
                                                const RequestContext& context,
                                                const OnDelta& on_delta);
    std::int64_t (*response_bytes_bound)(const MessageRequest& request,
                                         const proto::ModelConfig& config);
    ModelKinds kinds = ModelKinds::All();  ///< See EndpointRequest.
    std::array<int, 2> tokens_fields{};    ///< Say how many tokens are generated; 0: none.
  };

  MessageRequest() = default;
  explicit MessageRequest(const Uses& own_uses) : uses(own_uses) {}

  Message message;
  Uses uses{};

  google::protobuf::Message& base_message() override { return message; }
  const google::protobuf::Message& base_message() const override { return message; }

  void SetOptions() override {
    if (message.has_timeout_ms()) {
      timeout_ms = message.timeout_ms();
    }
    if (message.has_model()) {
      model = std::move(*message.mutable_model());
    }
    if (message.has_cache_salt()) {
      cache_salt = std::move(*message.mutable_cache_salt());
    }
    if constexpr (requires { message.priority(); }) {
      priority = message.priority();
    }
  }

  proto::Expected<PreparedRequest>
      Prepare(const RequestContext& context, const OnDelta& on_delta) && override {
    return uses.prepare(std::move(*this), context, on_delta);
  }
  std::int64_t ResponseBytesBound(const proto::ModelConfig& config) const override {
    return uses.response_bytes_bound(*this, config);
  }
  std::string SizeField() const override { return ReadRequest::SizeField(uses.tokens_fields); }
  ModelKinds kinds() const override { return uses.kinds; }
  bool streams() const override {
    if constexpr (requires { message.stream(); }) {
      return message.stream();
    }
    return false;
  }
};

}  // namespace scorecast::coordinator
