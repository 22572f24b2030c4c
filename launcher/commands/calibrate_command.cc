#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <unistd.h>

#include "coordinator/transports/batch/files/file_bytes.h"
#include "launcher/calibrate/calibration.h"
#include "launcher/client/calibration_report.h"
#include "launcher/client/labelled_lines.h"
#include "launcher/commands/commands.h"
#include "launcher/log/progress_text.h"
#include "proto/base/count.h"
#include "proto/base/one_line.h"
#include "proto/base/replace_file.h"

namespace scorecast::launcher {
namespace {

/// Shows how many lines are answered, if standard error is a terminal.
class LineProgress {
 public:
  explicit LineProgress(std::size_t lines) : text_(static_cast<std::int64_t>(lines)) {
    if (isatty(STDERR_FILENO) == 1) {
      Add();
      thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
    }
  }
  ~LineProgress() {
    if (thread_.joinable()) {
      thread_.request_stop();
      thread_.join();
      EraseBar();
    }
  }
  LineProgress(const LineProgress&) = delete;
  LineProgress& operator=(const LineProgress&) = delete;

  void CountLine() { ++done_; }

 private:
  static constexpr std::chrono::milliseconds kInterval{500};

  void Run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    do {
      Add();
      DrawBar(text_);
    } while (!stopped_.wait_for(lock, stop, kInterval, [&] { return stop.stop_requested(); }));
  }

  void Add() {
    const std::int64_t done = done_;
    text_.Add({ProgressText::Clock::now(), done, done});
  }

  std::atomic<std::int64_t> done_ = 0;
  ProgressText text_;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;
};

/// Collects the answers of a server.
class AnswerCollector {
 public:
  explicit AnswerCollector(const std::vector<LabelledLine>& lines) : lines_(lines) {}

  /// False if the response is a refusal, or not one to the line.
  bool Take(std::size_t index, const v1::Response& response) {
    const std::string fault = FaultOf(lines_[index], response);
    if (!fault.empty()) {
      if (!faulty_ || index < *faulty_) {
        faulty_ = index;
        fault_ = fault;
      }
      return false;
    }
    for (int i = 0; i < response.systemone().answers_size(); ++i) {
      Add(lines_[index], static_cast<std::size_t>(i), response.systemone().answers(i));
    }
    return true;
  }

  /// Throws std::runtime_error if a response was no answer: of several, for the first line.
  void Check(const std::filesystem::path& file) const {
    if (faulty_) {
      throw std::runtime_error(PlaceOf(lines_[*faulty_].line_number, file) + fault_);
    }
  }

  const Calibration& calibration() const { return calibration_; }
  const Temperatures& present() const { return *present_; }
  /// Number of questions with one option, which have nothing to calibrate.
  std::int64_t single() const { return single_; }

 private:
  std::string FaultOf(const LabelledLine& line, const v1::Response& response) {
    if (!response.has_systemone()) {
      const v1::Error& error = response.error();
      return std::to_string(error.code()) + " " + error.reason() + ": " + error.message();
    }
    const v1::SystemOneResponse& answered = response.systemone();
    if (answered.answers_size() != line.request.questions_size()) {
      return "the server's response has other questions";
    }
    Temperatures present{};
    if (answered.temperatures_size() != static_cast<int>(present.size())) {
      return "the server does not tell its temperatures; it is another version of scorecast";
    }
    std::ranges::copy(answered.temperatures(), present.begin());
    if (present_ && present != *present_) {
      return "the server's temperatures have changed during the run";
    }
    present_ = present;
    return "";
  }

  void Add(const LabelledLine& line, std::size_t question, const v1::DecisionAnswer& answer) {
    LabelledAnswer labelled;
    const std::vector<double> probabilities(answer.probabilities().begin(),
                                            answer.probabilities().end());
    const std::size_t size = probabilities.size();
    if (answer.type() == "noul") {
      labelled.logits = LogitsOfNoul(answer.noul(), (*present_)[0]);
    } else if (size < 2) {
      ++single_;
      return;
    } else {
      labelled.group = answer.type() == "score" ? TemperatureGroup::kScore : ChoiceGroup(size);
      labelled.logits =
          LogitsOf(probabilities, (*present_)[static_cast<std::size_t>(labelled.group)]);
    }
    labelled.right = line.right[question];
    labelled.is_held_out = line.is_held_out;
    calibration_.Add(line.line_number, question, std::move(labelled));
  }

  const std::vector<LabelledLine>& lines_;
  Calibration calibration_;
  std::optional<Temperatures> present_;
  std::int64_t single_ = 0;
  std::optional<std::size_t> faulty_;
  std::string fault_;
};

v1::Request ToRequest(const LabelledLine& line, const ServerFlags& flags) {
  v1::Request request;
  request.set_request_id(1);
  v1::SystemOneRequest& systemone = *request.mutable_systemone();
  systemone = line.request;
  if (flags.priority != 0) {
    systemone.set_priority(flags.priority);
  }
  if (flags.timeout_ms) {
    systemone.set_timeout_ms(*flags.timeout_ms);
  }
  return request;
}

}  // namespace

int RunCalibrateCommand(const CalibrateFlags& flags) {
  std::error_code absent;
  if (flags.output == "-" || std::filesystem::equivalent(flags.input, flags.output, absent)) {
    throw std::runtime_error("--output must be a file, and not the one of --input");
  }
  coordinator::CheckWritable(flags.output);
  const std::vector<LabelledLine> lines = ReadLabelledLines(flags.input);
  AnswerCollector collector(lines);
  {
    LineProgress progress(lines.size());
    CallServerManyTimes(
        flags.server, lines.size(),
        [&](std::size_t index) { return ToRequest(lines[index], flags.server); },
        [&](std::size_t index, const v1::Response& response) {
          progress.CountLine();
          return collector.Take(index, response);
        });
  }
  collector.Check(flags.input);
  const CalibrationResult result = collector.calibration().Run(collector.present());
  proto::ReplaceFile(flags.output, TemperatureLine(result.temperatures));
  for (const std::string& line : CalibrationReport(result, collector.present())) {
    std::printf("%s\n", line.c_str());
  }
  if (collector.single() > 0) {
    std::printf("%s with one option counted nowhere\n",
                proto::Count(collector.single(), "question").c_str());
  }
  FlushOutput();
  return kExitOk;
}

}  // namespace scorecast::launcher
