#include "coordinator/transports/batch/batch.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <spdlog/spdlog.h>

#include "coordinator/transports/batch/line_reader.h"
#include "coordinator/request/request_error.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;

/// One line of output, and how it counts.
struct Record {
  enum class Kind { kAnswered, kRefused, kErrorRecord };
  Kind kind = Kind::kAnswered;
  JsonAnswerBody json;
};

using FinishRecord = std::function<Record()>;

Record ErrorRecord(JsonAnswerBody custom_id, const Error& error, std::int64_t line_number) {
  Record record{Record::Kind::kErrorRecord, {}};
  record.json["custom_id"] = std::move(custom_id);
  record.json["response"] = nullptr;
  JsonAnswerBody& body = record.json["error"];
  body["code"] = error.code;
  body["reason"] = error.reason;
  body["message"] = error.message;
  body["line"] = line_number;
  return record;
}

Record ResponseRecord(const std::string& custom_id, JsonAnswer answer) {
  Record record{answer.status_code == 200 ? Record::Kind::kAnswered : Record::Kind::kRefused, {}};
  record.json["custom_id"] = custom_id;
  JsonAnswerBody& response = record.json["response"];
  response["status_code"] = answer.status_code;
  response["body"] = std::move(answer.body);
  record.json["error"] = nullptr;
  return record;
}

/// The lines that were read and are not written yet, in their order. Shared by the thread that
/// reads, the one that writes, and the computing one that says what is ready.
class Window {
 public:
  explicit Window(const BatchOptions& options) : options_(options) {}

  struct Slot {
    std::int64_t bytes = 0;
    FinishRecord finish;  ///< Set when the line's answer is ready.
  };

  /// Waits for room for a line. Null where the output has failed: nothing more need be read.
  std::shared_ptr<Slot> Open(std::int64_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failed_ || HasRoom(bytes); });
    if (failed_) {
      return nullptr;
    }
    auto slot = std::make_shared<Slot>(Slot{bytes, {}});
    slots_.push_back(slot);
    bytes_ += bytes;
    changed_.notify_all();
    return slot;
  }

  void Ready(Slot& slot, FinishRecord finish) {
    const std::lock_guard lock(mutex_);
    slot.finish = std::move(finish);
    changed_.notify_all();
  }

  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  /// Of the oldest line, once it is ready; nothing when all are taken and the window is closed.
  /// `before_waiting` is called, outside the lock, when there is nothing to take yet.
  FinishRecord Take(const std::function<void()>& before_waiting) {
    std::unique_lock lock(mutex_);
    const auto can_take = [&] { return !slots_.empty() && slots_.front()->finish; };
    if (!can_take()) {
      lock.unlock();
      before_waiting();
      lock.lock();
    }
    changed_.wait(lock, [&] { return can_take() || (closed_ && slots_.empty()); });
    return slots_.empty() ? nullptr : std::move(slots_.front()->finish);
  }

  /// The line taken last is written, and leaves its room.
  void Written() {
    const std::lock_guard lock(mutex_);
    bytes_ -= slots_.front()->bytes;
    slots_.pop_front();
    changed_.notify_all();
  }

  void Fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
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
  bool closed_ = false;
  bool failed_ = false;
};

/// Writes the window's records until it is closed and empty. What is ready after the output has
/// failed is taken and dropped, so that nothing is in flight when a run ends.
class Writer {
 public:
  Writer(std::ostream& out, Window& window) : out_(out), window_(window) {}

  BatchSummary Run() {
    while (const FinishRecord finish = window_.Take([&] { Flush(); })) {
      if (summary_.failure.empty()) {
        Write(finish());
      }
      window_.Written();
    }
    Flush();
    return summary_;
  }

 private:
  void Write(const Record& record) {
    switch (record.kind) {
      case Record::Kind::kAnswered:
        ++summary_.answered;
        break;
      case Record::Kind::kRefused:
        ++summary_.refused;
        break;
      case Record::Kind::kErrorRecord:
        ++summary_.error_records;
        break;
    }
    out_ << ToJsonText(record.json) << '\n';
    FailUnlessGood();
  }

  void Flush() {
    if (summary_.failure.empty()) {
      out_.flush();
      FailUnlessGood();
    }
  }

  void FailUnlessGood() {
    if (!out_) {
      summary_.failure = "the output could not be written";
      window_.Fail();
    }
  }

  std::ostream& out_;
  Window& window_;
  BatchSummary summary_;
};

/// From a line to the door that answers it.
class LineTaker {
 public:
  LineTaker(const JsonDoors& doors, const BatchOptions& options)
      : doors_(doors), options_(options) {}

  /// `ready` is called once, now or later.
  void Take(std::string_view line, std::int64_t line_number,
            const std::function<void(FinishRecord)>& ready) const {
    const Clock::time_point arrived = Clock::now();
    const proto::Expected<nlohmann::json> parsed = ParseJson(line);
    if (!parsed) {
      return Refuse(nullptr, parsed.error(), line_number, ready);
    }
    const nlohmann::json& json = parsed.value();
    const std::string* custom_id = StringIn(json, "custom_id");
    if (custom_id == nullptr) {
      return Refuse(nullptr,
                    BadRequest("missing_custom_id",
                               "A line must be an object with a string custom_id.", "custom_id"),
                    line_number, ready);
    }
    const std::string* method = StringIn(json, "method");
    if (method == nullptr || *method != "POST") {
      return Refuse(*custom_id, BadRequest("wrong_method", "method must be \"POST\".", "method"),
                    line_number, ready);
    }
    const std::string* url = StringIn(json, "url");
    const auto door = url == nullptr ? doors_.end() : doors_.find(*url);
    if (door == doors_.end()) {
      return Refuse(*custom_id, BadRequest("unknown_url", UrlMessage(url), "url"), line_number,
                    ready);
    }
    const auto body = json.find("body");
    static const nlohmann::json kNoBody;
    door->second(body == json.end() ? kNoBody : *body, arrived,
                 [ready, id = *custom_id](FinishJson finish) {
                   ready([id, finish = std::move(finish)] { return ResponseRecord(id, finish()); });
                 });
  }

  void RefuseTooLong(std::int64_t line_number,
                     const std::function<void(FinishRecord)>& ready) const {
    Refuse(
        nullptr,
        {413, "request_too_large",
         "The line is longer than " + std::to_string(options_.max_request_bytes) + " bytes.", ""},
        line_number, ready);
  }

 private:
  static void Refuse(JsonAnswerBody custom_id, Error error, std::int64_t line_number,
                     const std::function<void(FinishRecord)>& ready) {
    spdlog::debug("batch: line {}: {} {}", line_number, error.reason, error.message);
    ready([custom_id = std::move(custom_id), error = std::move(error), line_number] {
      return ErrorRecord(custom_id, error, line_number);
    });
  }

  static const std::string* StringIn(const nlohmann::json& json, const char* field) {
    if (!json.is_object()) {
      return nullptr;
    }
    const auto found = json.find(field);
    return found == json.end() ? nullptr : found->get_ptr<const std::string*>();
  }

  std::string UrlMessage(const std::string* url) const {
    std::string message = url == nullptr ? "url must be a string" : "Unknown url " + Quoted(*url);
    message += ": this server answers";
    const char* separator = " ";
    for (const auto& [name, door] : doors_) {
      message += separator + name;
      separator = ", ";
    }
    return message + ".";
  }

  const JsonDoors& doors_;
  const BatchOptions& options_;
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

BatchSummary RunBatch(std::istream& in, std::ostream& out, const JsonDoors& doors,
                      Scheduler& scheduler, const BatchOptions& options) {
  // Shared with the computing thread, which may still be leaving Ready when the last line is
  // written.
  const auto window = std::make_shared<Window>(options);
  BatchSummary summary;
  std::thread writer([&] { summary = Writer(out, *window).Run(); });

  const LineTaker taker(doors, options);
  LineReader reader(in, options.max_request_bytes);
  std::string line;
  for (auto result = reader.Next(line); result != LineReader::Result::kEnd;
       result = reader.Next(line)) {
    if (result == LineReader::Result::kLine && IsBlank(line)) {
      continue;
    }
    scheduler.WaitForRoom();
    const std::shared_ptr<Window::Slot> slot = window->Open(static_cast<std::int64_t>(line.size()));
    if (slot == nullptr) {
      break;
    }
    const auto ready = [window, slot](FinishRecord finish) {
      window->Ready(*slot, std::move(finish));
    };
    if (result == LineReader::Result::kTooLong) {
      taker.RefuseTooLong(reader.line_number(), ready);
    } else {
      taker.Take(line, reader.line_number(), ready);
    }
  }
  window->Close();
  writer.join();
  if (in.bad() && summary.failure.empty()) {
    summary.failure = "the input could not be read";
  }
  return summary;
}

}  // namespace scorecast::coordinator
