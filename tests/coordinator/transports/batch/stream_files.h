#pragma once

#include <algorithm>
#include <cstdint>
#include <istream>
#include <memory>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "coordinator/request/server_options.h"
#include "coordinator/transports/batch/batch.h"
#include "coordinator/transports/batch/batch_output.h"
#include "coordinator/transports/batch/files/input_file.h"
#include "coordinator/transports/batch/files/record_file.h"
#include "coordinator/transports/batch/line_computer.h"
#include "coordinator/transports/batch/service_lines.h"

namespace scorecast::coordinator {

/// Reads what a stream has in its buffer, and lets it get more only if that is empty.
class StreamSource : public ByteSource {
 public:
  explicit StreamSource(std::istream& in) : in_(in) {}

  proto::Expected<std::size_t, std::string> Read(std::span<char> to) override {
    if (in_.peek() == std::istream::traits_type::eof()) {
      if (in_.bad()) {
        return proto::Unexpected(std::string("the stream failed"));
      }
      return std::size_t{0};
    }
    const auto present = static_cast<std::size_t>(in_.rdbuf()->in_avail());
    in_.read(to.data(), static_cast<std::streamsize>(std::min(present, to.size())));
    return static_cast<std::size_t>(in_.gcount());
  }

 private:
  std::istream& in_;
};

/// Writes to a stream, and flushes it.
class StreamSink : public ByteSink {
 public:
  explicit StreamSink(std::ostream& out) : out_(out) {}

  std::string Write(std::string_view bytes) override {
    out_ << bytes << std::flush;
    return out_ ? "" : "the stream failed";
  }

 private:
  std::ostream& out_;
};

/// Writes records to a file without a state.
class PlainOutput : public BatchOutput {
 public:
  explicit PlainOutput(RecordFile& file) : file_(file) {}

  bool is_prompt() const override { return true; }

  void Write(std::span<const std::string> records, const RunPoint&) override {
    for (const std::string& record : records) {
      file_.Write(record);
    }
    Flush();
  }
  void BeginRecord(const RunPoint&) override {}
  void WritePart(std::string_view part) override { file_.WritePart(part); }
  void EndRecord() override {
    file_.EndRecord();
    Flush();
  }

 private:
  void Flush() {
    file_.Flush();
    if (!file_.failure().empty()) {
      throw std::runtime_error(file_.failure());
    }
  }

  RecordFile& file_;
};

inline BatchSummary RunBatchOnStreams(std::istream& in, std::ostream& out, LineComputer& computer,
                                      const BatchOptions& options,
                                      std::int64_t max_line_bytes = kDefaultMaxRequestBytes) {
  InputFile input(std::make_unique<StreamSource>(in), "in", max_line_bytes);
  RecordFile records(std::make_unique<StreamSink>(out), "out");
  records.BeginAt(0);
  PlainOutput output(records);
  return Batch(input, output, computer, options).Run();
}

inline BatchSummary RunBatchOnStreams(std::istream& in, std::ostream& out, RequestService& service,
                                      const BatchOptions& options,
                                      std::int64_t max_line_bytes = kDefaultMaxRequestBytes) {
  ServiceLines lines(service);
  return RunBatchOnStreams(in, out, lines, options, max_line_bytes);
}

}  // namespace scorecast::coordinator
