#include "coordinator/transports/batch/kept_records.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "coordinator/transports/batch/files/compression.h"
#include "coordinator/transports/batch/files/input_file.h"
#include "proto/base/count.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

constexpr int kOk = 200;

/// The bytes of a file from an offset on.
class FileTail : public ByteSource {
 public:
  FileTail(const std::filesystem::path& path, std::int64_t offset)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)), offset_(offset) {
    if (fd_ < 0) {
      const int error = errno;
      throw proto::StartupError("cannot read " + proto::OneLinePath(path.string()) + ": " +
                                std::generic_category().message(error));
    }
  }
  ~FileTail() override { close(fd_); }
  FileTail(const FileTail&) = delete;
  FileTail& operator=(const FileTail&) = delete;

  proto::Expected<std::size_t, std::string> Read(std::span<char> to) override {
    for (;;) {
      const ssize_t bytes = pread(fd_, to.data(), to.size(), offset_);
      if (bytes >= 0) {
        offset_ += bytes;
        return static_cast<std::size_t>(bytes);
      }
      if (errno != EINTR) {
        return proto::Unexpected(std::generic_category().message(errno));
      }
    }
  }

 private:
  const int fd_;
  std::int64_t offset_;
};

/// Adds the bytes [begin, end) of a file, as far as it has them.
void AddBytes(const std::filesystem::path& path, std::int64_t begin, std::int64_t end,
              proto::Digest& digest) {
  constexpr std::int64_t kBufferBytes = std::int64_t{256} << 10;
  FileTail tail(path, begin);
  std::vector<char> buffer(kBufferBytes);
  while (begin < end) {
    const auto read = tail.Read(
        std::span(buffer).first(static_cast<std::size_t>(std::min(end - begin, kBufferBytes))));
    if (!read) {
      throw proto::StartupError("cannot read " + proto::OneLinePath(path.string()) + ": " +
                                read.error());
    }
    if (*read == 0) {
      return;
    }
    digest.Add(std::as_bytes(std::span(buffer).first(*read)));
    begin += static_cast<std::int64_t>(*read);
  }
}

/// Finds out what kind of record a text is, without building its values: a record may be long.
class RecordScanner : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// Whether the record has a response. An error record has none.
  bool has_response() const { return has_response_; }
  std::int64_t status_code() const { return status_code_; }
  bool has_response_field() const { return has_response_field_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ == 2 && in_response_ && key_ == "status_code") {
      status_code_ = static_cast<std::int64_t>(value);
    }
    return true;
  }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    has_response_ = has_response_ || (depth_ == 1 && in_response_);
    ++depth_;
    return true;
  }
  bool key(string_t& key) override {
    key_ = key;
    if (depth_ == 1) {
      in_response_ = key == "response";
      has_response_field_ = has_response_field_ || in_response_;
    }
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  int depth_ = 0;
  std::string key_;
  bool in_response_ = false;
  bool has_response_field_ = false;
  bool has_response_ = false;
  std::int64_t status_code_ = 0;
};

/// Counts a record by its kind. False if the line is none: a crash of the host may leave any bytes.
bool Count(const std::string& line, KeptRecords& kept) {
  RecordScanner record;
  if (!nlohmann::json::sax_parse(line, &record) || !record.has_response_field()) {
    return false;
  }
  if (!record.has_response()) {
    ++kept.error_records;
  } else if (record.status_code() == kOk) {
    ++kept.succeeded;
  } else {
    ++kept.refused;
  }
  return true;
}

}  // namespace

KeptRecords FindKeptRecords(const std::filesystem::path& output, const RunState& state) {
  const std::string name = proto::OneLinePath(output.string());
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(output));
  if (size < state.output_bytes) {
    throw proto::StartupError(name + " has " + proto::Count(size, "byte") + ", fewer than the " +
                              std::to_string(state.output_bytes) +
                              " that were written to it: give --restart to begin anew");
  }
  KeptRecords kept{.output_bytes = state.output_bytes,
                   .output_digest = {},
                   .succeeded = state.written.succeeded,
                   .refused = state.written.refused,
                   .error_records = state.written.error_records};
  AddBytes(output, 0, state.output_bytes, kept.output_digest);
  if (kept.output_digest.value() != state.output_digest) {
    throw proto::StartupError(name + " has changed in its first " +
                              std::to_string(state.output_bytes) +
                              " bytes, which were written to it: put back what the run wrote, or "
                              "give --restart to begin anew");
  }
  if (size == state.output_bytes) {
    return kept;
  }
  // The state names the records before the first of their bytes is written.
  if (state.next.records() == state.written.records()) {
    throw proto::StartupError(name + " has " + proto::Count(size, "byte") + ", more than the " +
                              std::to_string(state.output_bytes) +
                              " that were written to it: give --restart to begin anew");
  }
  const KeptRecords written = kept;
  InputFile tail(std::make_unique<FileTail>(output, state.output_bytes), output.string(),
                 std::numeric_limits<std::int64_t>::max());
  const bool is_plain = CompressionOfName(output) == Compression::kNone;
  std::string line;
  std::int64_t end = 0;
  bool is_whole = true;
  while (tail.Next(line) == InputFile::Result::kLine) {
    // The last line may have no newline.
    is_whole =
        tail.offset() == end + static_cast<std::int64_t>(line.size()) + 1 && Count(line, kept);
    if (!is_whole) {
      break;
    }
    end = tail.offset();
  }
  if (is_plain) {
    kept.output_bytes += end;
  } else if (is_whole && tail.failure().empty()) {
    kept.output_bytes = size;
  } else {
    kept = written;
  }
  if (kept.records() > state.next.records()) {
    throw proto::StartupError(name + " has records that the run in " + name +
                              ".state did not write: give --restart to begin anew");
  }
  AddBytes(output, state.output_bytes, kept.output_bytes, kept.output_digest);
  return kept;
}

}  // namespace scorecast::coordinator
