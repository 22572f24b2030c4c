#include "coordinator/transports/batch/batch.h"

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "coordinator/transports/batch/line_taker.h"
#include "coordinator/transports/batch/open_line.h"
#include "coordinator/transports/batch/own_lines.h"
#include "coordinator/transports/batch/record.h"

namespace scorecast::coordinator {
namespace {

/// How long the records of an output that is not prompt may wait, and how many bytes of them. Each
/// flush takes some milliseconds, and ends a part of a file that is compressed by itself.
constexpr auto kFlushInterval = std::chrono::milliseconds(250);
constexpr std::size_t kFlushBytes = std::size_t{4} << 20;
/// A longer record is not held, but written in parts.
constexpr std::size_t kLongRecordBytes = std::size_t{4} << 20;

/// Writes the window's records until it is closed and empty. After the first one that is missing,
/// and after the output has failed, lines are taken and dropped, so that nothing is in flight when
/// a run ends.
class Writer {
 public:
  Writer(BatchOutput& out, LineWindow& window, LineComputer& computer, const BatchOptions& options)
      : out_(out),
        window_(window),
        computer_(computer),
        stop_reading_(options.stop_reading),
        progress_(options.progress),
        formed_(options.begin) {
    summary_.end = options.begin;
  }

  BatchSummary Run() {
    while (const auto line = window_.Take([&] { return FlushBeforeWaiting(); })) {
      if (summary_.failure.empty() && !summary_.is_interrupted) {
        Add(*line);
      }
      window_.Written();
    }
    Flush();
    return summary_;
  }

 private:
  void Add(OpenLine& line) {
    const Record record = line.Finish();
    RunPoint end = line.end();
    end.succeeded = formed_.succeeded;
    end.refused = formed_.refused;
    end.error_records = formed_.error_records;
    switch (record.kind) {
      case Record::Kind::kSucceeded:
        ++end.succeeded;
        break;
      case Record::Kind::kRefused:
        ++end.refused;
        break;
      case Record::Kind::kErrorRecord:
        ++end.error_records;
        break;
      case Record::Kind::kNone:
        LeaveLines(record.error);
        return;
    }
    AddText(record, end);
    if (progress_ != nullptr) {
      progress_->OnRecord(line.position());
    }
    if (bytes_ >= kFlushBytes || (!out_.is_prompt() && Clock::now() >= flush_at())) {
      Flush();
    }
  }

  /// Forms the record's text. Writes it at once if it is long.
  void AddText(const Record& record, const RunPoint& end) {
    std::string text;
    bool is_long = false;
    JsonWriter writer([&](std::string_view part) {
      if (!is_long && text.size() + part.size() > kLongRecordBytes) {
        is_long = true;
        Flush();
        OrFail([&] { out_.BeginRecord(end); });
        OrFail([&] { out_.WritePart(text); });
        text = {};
      }
      if (is_long) {
        OrFail([&] { out_.WritePart(part); });
      } else {
        text += part;
      }
    });
    record.write(writer);
    writer.Finish();
    formed_ = end;
    if (is_long) {
      OrFail([&] {
        out_.EndRecord();
        summary_.end = end;
      });
    } else {
      bytes_ += text.size();
      records_.push_back(std::move(text));
    }
  }

  /// A record is missing, and so no later one can be written.
  void LeaveLines(const std::optional<proto::Error>& because) {
    summary_.is_interrupted = true;
    if (!computer_.is_stopping()) {
      summary_.left_because = because;
    }
    Flush();
    window_.Stop();
    computer_.StopSoon();
    stop_reading_();
  }

  Clock::time_point flush_at() const { return flushed_ + kFlushInterval; }

  /// Flushes, or returns when to flush.
  std::optional<Clock::time_point> FlushBeforeWaiting() {
    if (records_.empty()) {
      return std::nullopt;
    }
    // The end of a run may come at any moment.
    if (out_.is_prompt() || computer_.is_stopping() || Clock::now() >= flush_at()) {
      Flush();
      return std::nullopt;
    }
    return flush_at();
  }

  void Flush() {
    if (!records_.empty()) {
      OrFail([&] {
        out_.Write(records_, formed_);
        summary_.end = formed_;
      });
    }
    records_.clear();
    bytes_ = 0;
    flushed_ = Clock::now();
  }

  /// Calls `write`, unless the output has failed.
  template <typename Write>
  void OrFail(const Write& write) {
    if (!summary_.failure.empty()) {
      return;
    }
    try {
      write();
    } catch (const std::exception& fault) {
      summary_.failure = fault.what();
      window_.Stop();
      computer_.Cancel();
      stop_reading_();
    }
  }

  BatchOutput& out_;
  LineWindow& window_;
  LineComputer& computer_;
  const std::function<void()> stop_reading_;
  BatchProgress* const progress_;
  BatchSummary summary_;
  RunPoint formed_;                   ///< Behind the last one of `records_`.
  std::vector<std::string> records_;  ///< Since the last flush.
  std::size_t bytes_ = 0;             ///< Of these.
  Clock::time_point flushed_ = Clock::now();
};

}  // namespace

int BatchSummary::ExitCode() const {
  if (!failure.empty()) {
    return 1;
  }
  if (is_interrupted) {
    return 75;
  }
  return end.refused + end.error_records > 0 ? 3 : 0;
}

Batch::Batch(InputFile& in, BatchOutput& out, LineComputer& computer, const BatchOptions& options)
    : in_(in),
      out_(out),
      computer_(computer),
      options_(options),
      window_(std::make_shared<LineWindow>(options.window)) {}

BatchSummary Batch::Run() {
  BatchSummary summary;
  std::thread writer([&] { summary = Writer(out_, *window_, computer_, options_).Run(); });
  RunPoint end;
  const bool came_to_end = ReadLines(end);
  window_->Close();
  writer.join();
  if (!summary.failure.empty()) {
    return summary;
  }
  summary.failure = in_.failure();
  summary.is_interrupted = summary.is_interrupted || !came_to_end;
  if (!summary.is_interrupted) {
    // Behind lines that are blank or belong to another share.
    summary.end.lines = end.lines;
    summary.end.input_bytes = end.input_bytes;
    summary.end.input_digest = end.input_digest;
  }
  return summary;
}

bool Batch::ReadLines(RunPoint& end) {
  const LineTaker taker(computer_, options_.seed, options_.created);
  OwnLines lines(in_, options_.share, options_.begin);
  std::string line;
  for (auto result = lines.Next(line); result != InputFile::Result::kEnd;
       result = lines.Next(line)) {
    computer_.WaitForRoom();
    lines.MoveHere(end);
    const auto opened = std::make_shared<OpenLine>(window_, line.size(), end, in_.position());
    if (!window_->Open(opened)) {
      return false;
    }
    if (result == InputFile::Result::kTooLong) {
      taker.RefuseTooLong(in_.line_number(), in_.max_line_bytes(), *opened);
    } else {
      taker.Take({line, in_.line_number(), lines.number()}, opened);
    }
  }
  lines.MoveHere(end);
  return !window_->is_stopped();
}

void Batch::Interrupt() {
  window_->Stop();
  computer_.StopSoon();
  options_.stop_reading();
}

}  // namespace scorecast::coordinator
