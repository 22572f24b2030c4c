#include "coordinator/transports/batch/files/record_file.h"

#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>

#include "coordinator/transports/batch/files/file_bytes.h"
#include "proto/base/count.h"

namespace scorecast::coordinator {
namespace {

constexpr std::size_t kPendingBytes = std::size_t{64} << 10;

}  // namespace

RecordFile::RecordFile(const std::filesystem::path& path)
    : name_(path == "-" ? "standard output" : path.string()),
      sink_(OpenToWrite(path)),
      compressor_(MakeCompressor(CompressionOfName(path))) {}

RecordFile::RecordFile(std::unique_ptr<ByteSink> sink, std::string name)
    : name_(std::move(name)),
      sink_(std::move(sink)),
      compressor_(MakeCompressor(CompressionOfName(name_))) {}

void RecordFile::BeginAt(std::int64_t size, const proto::Digest& digest) {
  const std::optional<std::int64_t> present = present_bytes();
  if (present.value_or(0) < size) {
    throw std::runtime_error(name_ + " has " + proto::Count(present.value_or(0), "byte") +
                             ", fewer than the " + std::to_string(size) +
                             " that were written to it");
  }
  if (present) {
    const std::string fault = sink_->CutTo(size);
    if (!fault.empty()) {
      throw std::runtime_error("cannot cut " + name_ + ": " + fault);
    }
  }
  written_ = size;
  written_digest_ = digest;
  size_ = size;
  digest_ = digest;
}

void RecordFile::WritePart(std::string_view part) {
  if (!failure_.empty()) {
    return;
  }
  unflushed_bytes_ += static_cast<std::int64_t>(part.size());
  if (compressor_ != nullptr) {
    compressor_->Add(part, pending_);
  } else {
    pending_ += part;
  }
  if (pending_.size() >= kPendingBytes) {
    WritePending();
  }
}

void RecordFile::Flush() {
  if (!failure_.empty()) {
    return;
  }
  if (compressor_ != nullptr && unflushed_bytes_ > 0) {
    compressor_->End(pending_);
  }
  WritePending();
  if (failure_.empty()) {
    size_ = written_;
    digest_ = written_digest_;
    unflushed_bytes_ = 0;
  }
}

void RecordFile::Sync() {
  Flush();
  if (failure_.empty()) {
    const std::string fault = sink_->Sync();
    if (!fault.empty()) {
      Fail(fault);
    }
  }
}

void RecordFile::Finish() {
  if (compressor_ != nullptr && written_ == 0 && unflushed_bytes_ == 0) {
    compressor_->End(pending_);
  }
  Sync();
}

void RecordFile::WritePending() {
  if (failure_.empty()) {
    const std::string fault = sink_->Write(pending_);
    if (fault.empty()) {
      written_ += static_cast<std::int64_t>(pending_.size());
      written_digest_.Add(std::as_bytes(std::span(pending_)));
    } else {
      Fail(fault);
    }
  }
  pending_.clear();
}

void RecordFile::Fail(const std::string& why) {
  failure_ = "cannot write " + name_ + ": " + why;
  if (sink_->size()) {
    // A part of a record is of no use. If the file cannot be cut, it ends with that part.
    static_cast<void>(sink_->CutTo(size_));
  }
}

}  // namespace scorecast::coordinator
