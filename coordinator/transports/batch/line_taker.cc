#include "coordinator/transports/batch/line_taker.h"

#include <exception>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "coordinator/endpoints/refused_urls.h"
#include "coordinator/generate/seed.h"
#include "coordinator/request/request_error.h"
#include "proto/base/check.h"
#include "proto/base/count.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;

/// A line's place in the window, as the sink of its request. The window bounds the responses of all
/// lines together, so that a line waits and is not refused; the sink bounds its own response. A
/// response is formed when its line is written, one at a time. Until then a line has only its rows
/// and completions.
class LineSink : public ResponseSink {
 public:
  LineSink(const Endpoint& endpoint, std::shared_ptr<LineWindow> window,
           std::shared_ptr<LineWindow::Slot> slot, std::string custom_id,
           std::int64_t max_response_bytes)
      : endpoint_(endpoint),
        window_(std::move(window)),
        slot_(std::move(slot)),
        custom_id_(std::move(custom_id)),
        response_(max_response_bytes) {}

  ClientId client() const override { return {}; }
  HeldBytes& held_bytes() override { return response_; }

  std::optional<Error> StreamFault() const override {
    return BadRequest("stream_not_here",
                      "A line of a batch gets one response: stream must be false. The request "
                      "socket streams.",
                      "stream");
  }

  void OnDelta(std::size_t, CompletionDelta) override {
    proto::Check(false, "requests that stream are refused");
  }

  void OnDone(DeferredResponse response) override {
    window_->Ready(*slot_,
                   [&endpoint = endpoint_, custom_id = custom_id_, response = std::move(response)] {
                     return ResponseRecord(custom_id, endpoint, response);
                   });
  }

 private:
  const Endpoint& endpoint_;
  const std::shared_ptr<LineWindow> window_;
  const std::shared_ptr<LineWindow::Slot> slot_;
  const std::string custom_id_;
  HeldBytes response_;
};

const std::string* StringIn(const nlohmann::json& json, const char* field) {
  if (!json.is_object()) {
    return nullptr;
  }
  const auto found = json.find(field);
  return found == json.end() ? nullptr : found->get_ptr<const std::string*>();
}

/// A body that is too much for the memory must not end the process.
ParsedRequest ParseBody(const Endpoint& endpoint, const nlohmann::json& body) {
  try {
    return endpoint.FromJson(body);
  } catch (const std::exception& exception) {
    return proto::Unexpected(FaultOf(exception));
  }
}

}  // namespace

LineTaker::LineTaker(RequestService& service, std::shared_ptr<LineWindow> window,
                     std::uint64_t seed, std::int64_t created, std::int64_t max_response_bytes)
    : service_(service),
      window_(std::move(window)),
      seed_(seed),
      created_(created),
      max_response_bytes_(max_response_bytes) {}

void LineTaker::Take(const BatchLine& line, const std::shared_ptr<LineWindow::Slot>& slot) const {
  const Clock::time_point begin = Clock::now();
  const proto::Expected<nlohmann::json> parsed = ParseJson(line.text, service_.max_values());
  if (!parsed) {
    return Refuse(nullptr, parsed.error(), line.line_number, *slot);
  }
  const nlohmann::json& json = parsed.value();
  const std::string* custom_id = StringIn(json, "custom_id");
  if (custom_id == nullptr) {
    return Refuse(nullptr,
                  BadRequest("missing_custom_id",
                             "A line must be an object with a string custom_id.", "custom_id"),
                  line.line_number, *slot);
  }
  const std::string* method = StringIn(json, "method");
  if (method == nullptr || *method != "POST") {
    return Refuse(*custom_id, BadRequest("wrong_method", "method must be \"POST\".", "method"),
                  line.line_number, *slot);
  }
  const std::string* url = StringIn(json, "url");
  const Endpoint* endpoint = url == nullptr ? nullptr : service_.FindByUrl(*url);
  if (endpoint == nullptr) {
    return Refuse(*custom_id, UrlFault(url), line.line_number, *slot);
  }
  const auto body = json.find("body");
  static const nlohmann::json kNoBody;
  ParsedRequest parsed_request = ParseBody(*endpoint, body == json.end() ? kNoBody : *body);
  Clock::duration waited{0};
  if (parsed_request) {
    const std::uint64_t seed = DerivedSeed(seed_, static_cast<std::uint64_t>(line.number));
    (*parsed_request)->default_seed = seed;
    (*parsed_request)->identity = ResponseIdentity{.id_seed = seed, .created = created_};
    const Clock::time_point waiting_since = Clock::now();
    window_->AwaitResponseRoom(*slot, service_.ResponseBytesBound(**parsed_request));
    waited = Clock::now() - waiting_since;
  }
  // The request's own time does not count while it waits for the lines before it.
  const RequestService::Request request = service_.Admit(
      *endpoint, std::move(parsed_request), begin + waited,
      std::make_shared<LineSink>(*endpoint, window_, slot, *custom_id, max_response_bytes_));
  if (!window_->Admitted(*slot, request)) {
    service_.Cancel({request});
  }
  service_.Prepare(request);
}

void LineTaker::RefuseTooLong(std::int64_t line_number, std::int64_t max_bytes,
                              LineWindow::Slot& slot) const {
  Refuse(nullptr,
         {413, "request_too_large",
          "The line is longer than " + proto::Count(max_bytes, "byte") + ".", ""},
         line_number, slot);
}

void LineTaker::Refuse(OrderedJson custom_id, Error error, std::int64_t line_number,
                       LineWindow::Slot& slot) const {
  spdlog::debug("batch: line {}: {} {}", line_number, error.reason, error.message);
  window_->Ready(slot, [custom_id = std::move(custom_id), error = std::move(error), line_number] {
    return ErrorRecord(custom_id, error, line_number);
  });
}

Error LineTaker::UrlFault(const std::string* url) const {
  if (const RefusedUrl* refused = url == nullptr ? nullptr : FindRefusedUrl(*url)) {
    return BadRequest("unknown_url", refused->message, "url");
  }
  std::string message = url == nullptr ? "url must be a string" : "Unknown url " + Quoted(*url);
  message += ": this server has";
  const char* separator = " ";
  for (const Endpoint* endpoint : service_.endpoints()) {
    for (const std::string_view own : endpoint->urls()) {
      message += separator;
      message += own;
      separator = ", ";
    }
  }
  return BadRequest("unknown_url", message + ".", "url");
}

}  // namespace scorecast::coordinator
