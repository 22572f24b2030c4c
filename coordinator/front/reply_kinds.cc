#include "coordinator/front/reply_kinds.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "proto/base/letter_case.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

using Kind = v1::Response::ResultCase;

/// The kinds of replies to a request: the last part, and the parts before it.
struct ReplyKinds {
  int request_field = 0;
  Kind last = v1::Response::RESULT_NOT_SET;
  Kind delta = v1::Response::RESULT_NOT_SET;
};

constexpr std::array kReplyKinds = {
    ReplyKinds{v1::Request::kScoreFieldNumber, v1::Response::kScore},
    ReplyKinds{v1::Request::kChunkedFieldNumber, v1::Response::kChunked,
               v1::Response::kChunkedDelta},
    ReplyKinds{v1::Request::kRerankFieldNumber, v1::Response::kRerank},
    ReplyKinds{v1::Request::kSystemoneFieldNumber, v1::Response::kSystemone},
    ReplyKinds{v1::Request::kEmbeddingsFieldNumber, v1::Response::kEmbeddings},
    ReplyKinds{v1::Request::kCompletionsFieldNumber, v1::Response::kCompletions,
               v1::Response::kCompletionsDelta},
    ReplyKinds{v1::Request::kChatFieldNumber, v1::Response::kCompletions,
               v1::Response::kCompletionsDelta},
    ReplyKinds{v1::Request::kHttpFieldNumber, v1::Response::kHttp, v1::Response::kHttp}};

bool IsErrorCode(std::int64_t code) { return code >= 400 && code <= 599; }

/// RFC 9110, 5.6.2.
bool IsToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

/// RFC 9110, 5.5: no control character but tabs, so no line ends in it.
bool IsFieldValue(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '\t' || (byte >= 0x20 && byte != 0x7F);
  });
}

/// Fields that are about a connection or the length of a body are the front's own.
bool IsOfConnection(std::string_view name) {
  constexpr std::array<std::string_view, 7> kNames = {
      "connection", "content-length", "keep-alive", "te", "trailer", "upgrade", "transfer-encoding",
  };
  return std::ranges::any_of(
      kNames, [&](std::string_view known) { return proto::EqualsWithoutCase(name, known); });
}

std::string FaultOfHead(const v1::HttpReply& reply) {
  constexpr int kMostFields = 64;
  constexpr std::uint32_t kOk = 200;
  constexpr std::uint32_t kNotModified = 304;
  const std::uint32_t status = reply.status();
  if (status != kOk && status != kNotModified && !IsErrorCode(status)) {
    return "the status " + std::to_string(status);
  }
  if (reply.fields_size() > kMostFields) {
    return std::to_string(reply.fields_size()) + " fields in the header";
  }
  for (const v1::HttpField& field : reply.fields()) {
    if (!IsToken(field.name()) || IsOfConnection(field.name())) {
      return "the field " + proto::Quoted(proto::OneLine(field.name()).substr(0, 64));
    }
    if (!IsFieldValue(field.value())) {
      return "the value of " + field.name();
    }
  }
  return {};
}

}  // namespace

std::string FaultOfReply(int request_field, const v1::Response& response, bool is_first,
                         bool is_last) {
  if (response.has_error()) {
    const v1::Error& error = response.error();
    if (!is_last || !IsErrorCode(error.code())) {
      return "an error with the code " + std::to_string(error.code());
    }
    const bool is_reason = std::ranges::all_of(error.reason(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
    return is_reason && !error.reason().empty() ? std::string() : "an error without a reason";
  }
  const auto kinds = std::ranges::find(kReplyKinds, request_field, &ReplyKinds::request_field);
  if (kinds == kReplyKinds.end() ||
      response.result_case() != (is_last ? kinds->last : kinds->delta)) {
    const auto* const field = v1::Response::descriptor()->FindFieldByNumber(response.result_case());
    return field == nullptr ? "no result" : "a result of the kind " + field->name();
  }
  return response.has_http() && is_first ? FaultOfHead(response.http()) : std::string();
}

bool IsSuccess(const v1::Response& response) {
  return !response.has_error() && (!response.has_http() || response.http().status() < 400);
}

bool IsRefusal(const v1::Response& response) {
  const auto is_one = [](auto code) { return code == 429 || code == 503; };
  return response.has_http() ? is_one(response.http().status())
                             : response.has_error() && is_one(response.error().code());
}

std::string RefusalText(const v1::Response& refusal) {
  return refusal.has_http() ? std::to_string(refusal.http().status())
                            : std::to_string(refusal.error().code()) + " " +
                                  proto::OneLine(refusal.error().reason());
}

bool IsDraining(const v1::Response& response, const Replica& replica) {
  constexpr int kUnavailable = 503;
  return response.has_http()
             ? response.http().status() == kUnavailable && replica.connection->status().draining()
             : response.has_error() && response.error().code() == kUnavailable &&
                   response.error().reason() == "draining";
}

}  // namespace scorecast::coordinator
