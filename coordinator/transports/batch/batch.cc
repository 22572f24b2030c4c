#include "coordinator/transports/batch/batch.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "coordinator/endpoints/refused_urls.h"
#include "coordinator/generate/seed.h"
#include "coordinator/json/json_text.h"
#include "coordinator/json/json_writer.h"
#include "coordinator/request/request_error.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;

enum class RecordKind { kSucceeded, kRefused, kErrorRecord };

/// Writes a line's record, in parts, and returns its kind for the summary.
using WriteRecord = std::function<RecordKind(JsonWriter& writer)>;

RecordKind WriteErrorRecord(const OrderedJson& custom_id, const Error& error,
                            std::int64_t line_number, JsonWriter& writer) {
  writer.BeginObject();
  writer.Member("custom_id", custom_id);
  writer.Member("response", nullptr);
  writer.Key("error");
  writer.BeginObject();
  writer.Member("code", error.code);
  writer.Member("reason", error.reason);
  writer.Member("message", error.message);
  writer.Member("line", line_number);
  writer.EndObject();
  writer.EndObject();
  return RecordKind::kErrorRecord;
}

RecordKind WriteResponseRecord(const std::string& custom_id, const Endpoint& endpoint,
                               const DeferredResponse& deferred, JsonWriter& writer) {
  const auto response = deferred.form();
  writer.BeginObject();
  writer.Member("custom_id", custom_id);
  writer.Key("response");
  writer.BeginObject();
  writer.Member("status_code", response ? 200 : response.error().code);
  writer.Key("body");
  if (response) {
    (*response)->WriteJson(writer);
  } else {
    writer.Value(endpoint.ErrorToJson(response.error()));
  }
  writer.EndObject();
  writer.Member("error", nullptr);
  writer.EndObject();
  return response ? RecordKind::kSucceeded : RecordKind::kRefused;
}

/// The lines that were read and are not written yet, in their order. Shared by the thread that
/// reads, the thread that writes, and the computing thread, which says which records are ready.
class Window {
 public:
  explicit Window(const BatchOptions& options) : options_(options) {}

  struct Slot {
    std::int64_t bytes = 0;
    std::int64_t response_bytes = 0;  ///< Bound on its response.
    WriteRecord write;                ///< Set when the line's record can be formed.
    RequestService::Request request;  ///< Null if the line is not a request, or has no request yet.
  };

  /// Waits for room for a line. Null if the output has failed: no further line need be read.
  std::shared_ptr<Slot> Open(std::int64_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failed_ || HasRoom(bytes); });
    if (failed_) {
      return nullptr;
    }
    auto slot = std::make_shared<Slot>();
    slot->bytes = bytes;
    slots_.push_back(slot);
    bytes_ += bytes;
    changed_.notify_all();
    return slot;
  }

  /// Waits for room for the response of the line opened last. There is always room if all earlier
  /// lines are written. Returns at once if the output has failed.
  void AwaitResponseRoom(Slot& slot, std::int64_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return failed_ || slots_.size() == 1 ||
             response_bytes_ + bytes <= options_.max_response_bytes_in_flight;
    });
    slot.response_bytes = bytes;
    response_bytes_ += bytes;
  }

  /// Records the line's request. False if the output has failed: the caller must then cancel the
  /// request.
  bool Admitted(Slot& slot, const RequestService::Request& request) {
    const std::lock_guard lock(mutex_);
    slot.request = request;
    return !failed_;
  }

  void Ready(Slot& slot, WriteRecord write) {
    const std::lock_guard lock(mutex_);
    slot.write = std::move(write);
    changed_.notify_all();
  }

  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  /// Takes the record of the oldest line once it is ready. Returns null when all are taken and the
  /// window is closed. If there is nothing to take yet, `before_waiting` is called, outside the
  /// lock, and again at the time that it returns, if any.
  WriteRecord Take(const std::function<std::optional<Clock::time_point>()>& before_waiting) {
    std::unique_lock lock(mutex_);
    const auto can_return = [&] {
      return slots_.empty() ? closed_ : static_cast<bool>(slots_.front()->write);
    };
    while (!can_return()) {
      lock.unlock();
      const std::optional<Clock::time_point> again = before_waiting();
      lock.lock();
      if (!again) {
        changed_.wait(lock, can_return);
      } else if (changed_.wait_until(lock, *again, can_return)) {
        break;
      }
    }
    return slots_.empty() ? nullptr : std::move(slots_.front()->write);
  }

  /// Frees the room of the line taken last, which is written.
  void Written() {
    const std::lock_guard lock(mutex_);
    bytes_ -= slots_.front()->bytes;
    response_bytes_ -= slots_.front()->response_bytes;
    slots_.pop_front();
    changed_.notify_all();
  }

  /// Records that the output has failed. Returns the requests to cancel.
  std::vector<RequestService::Request> Fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
    std::vector<RequestService::Request> requests;
    for (const std::shared_ptr<Slot>& slot : slots_) {
      requests.push_back(slot->request);
    }
    return requests;
  }

 private:
  bool HasRoom(std::int64_t bytes) const {
    return slots_.empty() || (slots_.size() < options_.max_lines_in_flight &&
                              bytes_ + bytes <= options_.max_bytes_in_flight);
  }

  const BatchOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Slot>> slots_;
  std::int64_t bytes_ = 0;
  std::int64_t response_bytes_ = 0;
  bool closed_ = false;
  bool failed_ = false;
};

/// A line's place in the window, as the sink of its request. The window bounds the responses of all
/// lines together, so that a line waits and is not refused; the sink bounds its own response. A
/// response is formed when its line is written, one at a time. Until then a line has only its rows
/// and completions.
class LineSink : public ResponseSink {
 public:
  LineSink(const Endpoint& endpoint, std::shared_ptr<Window> window,
           std::shared_ptr<Window::Slot> slot, std::string custom_id,
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
    window_->Ready(*slot_, [&endpoint = endpoint_, custom_id = custom_id_,
                            response = std::move(response)](JsonWriter& writer) {
      return WriteResponseRecord(custom_id, endpoint, response, writer);
    });
  }

 private:
  const Endpoint& endpoint_;
  const std::shared_ptr<Window> window_;
  const std::shared_ptr<Window::Slot> slot_;
  const std::string custom_id_;
  HeldBytes response_;
};

/// Writes the window's records until it is closed and empty. After the output has failed, records
/// are taken and dropped, so that nothing is in flight when a run ends.
class Writer {
 public:
  Writer(RecordFile& out, Window& window, RequestService& service)
      : out_(out), window_(window), service_(service) {}

  BatchSummary Run() {
    while (WriteRecord write = window_.Take([&] { return FlushBeforeWaiting(); })) {
      if (summary_.failure.empty()) {
        Write(write);
      }
      // Frees the line's rows before another line may take their room.
      write = nullptr;
      window_.Written();
    }
    if (summary_.failure.empty()) {
      out_.Finish();
      FailIfOutputHas();
    }
    return summary_;
  }

 private:
  /// A part of a compressed file that is flushed by itself is compressed by itself, so there should
  /// not be many.
  static constexpr auto kCompressedFlushInterval = std::chrono::seconds(1);

  void Write(const WriteRecord& write) {
    JsonWriter writer([&](std::string_view part) { out_.WritePart(part); });
    const RecordKind kind = write(writer);
    writer.Finish();
    out_.EndRecord();
    switch (kind) {
      case RecordKind::kSucceeded:
        ++summary_.succeeded;
        break;
      case RecordKind::kRefused:
        ++summary_.refused;
        break;
      case RecordKind::kErrorRecord:
        ++summary_.error_records;
        break;
    }
    FailIfOutputHas();
  }

  /// Flushes, or returns when to flush.
  std::optional<Clock::time_point> FlushBeforeWaiting() {
    if (!summary_.failure.empty() || out_.unflushed_bytes() == 0) {
      return std::nullopt;
    }
    const Clock::time_point now = Clock::now();
    if (out_.is_compressed() && now < flushed_ + kCompressedFlushInterval) {
      return flushed_ + kCompressedFlushInterval;
    }
    out_.Flush();
    flushed_ = now;
    FailIfOutputHas();
    return std::nullopt;
  }

  void FailIfOutputHas() {
    if (!out_.failure().empty()) {
      summary_.failure = out_.failure();
      service_.Cancel(window_.Fail());
    }
  }

  RecordFile& out_;
  Window& window_;
  RequestService& service_;
  BatchSummary summary_;
  Clock::time_point flushed_ = Clock::now();
};

/// Begins the request of each line at the endpoint that the line names, or refuses the line.
class LineTaker {
 public:
  LineTaker(RequestService& service, const BatchOptions& options, std::shared_ptr<Window> window)
      : service_(service), options_(options), window_(std::move(window)) {}

  void Take(std::string_view line, std::int64_t line_number,
            const std::shared_ptr<Window::Slot>& slot) const {
    const Clock::time_point begin = Clock::now();
    const proto::Expected<nlohmann::json> parsed = ParseJson(line, service_.max_values());
    if (!parsed) {
      return Refuse(nullptr, parsed.error(), line_number, *slot);
    }
    const nlohmann::json& json = parsed.value();
    const std::string* custom_id = StringIn(json, "custom_id");
    if (custom_id == nullptr) {
      return Refuse(nullptr,
                    BadRequest("missing_custom_id",
                               "A line must be an object with a string custom_id.", "custom_id"),
                    line_number, *slot);
    }
    const std::string* method = StringIn(json, "method");
    if (method == nullptr || *method != "POST") {
      return Refuse(*custom_id, BadRequest("wrong_method", "method must be \"POST\".", "method"),
                    line_number, *slot);
    }
    const std::string* url = StringIn(json, "url");
    const Endpoint* endpoint = url == nullptr ? nullptr : service_.FindByUrl(*url);
    if (endpoint == nullptr) {
      return Refuse(*custom_id, UrlFault(url), line_number, *slot);
    }
    const auto body = json.find("body");
    static const nlohmann::json kNoBody;
    ParsedRequest parsed_request = endpoint->FromJson(body == json.end() ? kNoBody : *body);
    Clock::duration waited{0};
    if (parsed_request) {
      (*parsed_request)->default_seed = DerivedSeed(options_.seed, *custom_id);
      const Clock::time_point waiting_since = Clock::now();
      window_->AwaitResponseRoom(*slot, service_.ResponseBytesBound(**parsed_request));
      waited = Clock::now() - waiting_since;
    }
    // The request's own time does not count while it waits for the lines before it.
    const RequestService::Request request =
        service_.Admit(*endpoint, std::move(parsed_request), begin + waited,
                       std::make_shared<LineSink>(*endpoint, window_, slot, *custom_id,
                                                  options_.max_response_bytes));
    if (!window_->Admitted(*slot, request)) {
      service_.Cancel({request});
    }
    service_.Prepare(request);
  }

  void RefuseTooLong(const InputFile& in, Window::Slot& slot) const {
    Refuse(nullptr,
           {413, "request_too_large",
            "The line is longer than " + std::to_string(in.max_line_bytes()) + " bytes.", ""},
           in.line_number(), slot);
  }

 private:
  void Refuse(OrderedJson custom_id, Error error, std::int64_t line_number,
              Window::Slot& slot) const {
    spdlog::debug("batch: line {}: {} {}", line_number, error.reason, error.message);
    window_->Ready(slot, [custom_id = std::move(custom_id), error = std::move(error),
                          line_number](JsonWriter& writer) {
      return WriteErrorRecord(custom_id, error, line_number, writer);
    });
  }

  static const std::string* StringIn(const nlohmann::json& json, const char* field) {
    if (!json.is_object()) {
      return nullptr;
    }
    const auto found = json.find(field);
    return found == json.end() ? nullptr : found->get_ptr<const std::string*>();
  }

  Error UrlFault(const std::string* url) const {
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

  RequestService& service_;
  const BatchOptions& options_;
  const std::shared_ptr<Window> window_;
};

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

int BatchSummary::ExitCode() const {
  if (!failure.empty()) {
    return 1;
  }
  return refused + error_records > 0 ? 3 : 0;
}

BatchSummary RunBatch(InputFile& in, RecordFile& out, RequestService& service,
                      const BatchOptions& options) {
  // Shared with the computing thread, which may not have returned from Ready yet when the last line
  // is written.
  const auto window = std::make_shared<Window>(options);
  BatchSummary summary;
  std::thread writer([&] { summary = Writer(out, *window, service).Run(); });

  const LineTaker taker(service, options, window);
  std::string line;
  for (auto result = in.Next(line); result != InputFile::Result::kEnd; result = in.Next(line)) {
    if (result == InputFile::Result::kLine && IsBlank(line)) {
      continue;
    }
    service.WaitForRoom();
    const std::shared_ptr<Window::Slot> slot = window->Open(static_cast<std::int64_t>(line.size()));
    if (slot == nullptr) {
      break;
    }
    if (result == InputFile::Result::kTooLong) {
      taker.RefuseTooLong(in, *slot);
    } else {
      taker.Take(line, in.line_number(), slot);
    }
  }
  window->Close();
  writer.join();
  if (summary.failure.empty()) {
    summary.failure = in.failure();
  }
  return summary;
}

}  // namespace scorecast::coordinator
