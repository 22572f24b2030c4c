#include "coordinator/transports/batch/run_files.h"

#include <chrono>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "coordinator/generate/seed.h"
#include "coordinator/transports/batch/files/file_bytes.h"
#include "coordinator/transports/batch/kept_records.h"
#include "coordinator/transports/batch/own_lines.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/base/replace_file.h"

namespace scorecast::coordinator {
namespace {

using proto::StartupError;

std::string NameOf(const std::filesystem::path& path) { return proto::OneLinePath(path.string()); }

/// Whether the path is that of a regular file, or of none yet.
bool MayBeRegularFile(const std::filesystem::path& path) {
  std::error_code fault;
  const std::filesystem::file_status status = std::filesystem::status(path, fault);
  return path != "-" && (!std::filesystem::exists(status) || is_regular_file(status));
}

std::optional<RunState> ReadState(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) {
    return std::nullopt;
  }
  std::string text;
  try {
    std::ifstream file(path, std::ios::binary);
    file.exceptions(std::ios::badbit | std::ios::failbit);
    text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  } catch (const std::ios::failure&) {  // A directory can be opened, but not read.
    throw StartupError("cannot read the state of the run, " + NameOf(path) +
                       ": make it readable, or give --restart to begin anew");
  }
  proto::Expected<RunState, std::string> state = RunState::FromText(text);
  if (!state) {
    throw StartupError("the state file " + NameOf(path) + " " + state.error() +
                       ", or give --restart to begin anew, which drops what the output has");
  }
  return *std::move(state);
}

/// When the file was last changed, or now if that is not known. In seconds since 1970.
std::int64_t TimeOf(const std::filesystem::path& path) {
  std::error_code fault;
  const auto changed = std::filesystem::last_write_time(path, fault);
  const auto time =
      fault ? std::chrono::system_clock::now() : std::chrono::file_clock::to_sys(changed);
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

StartupError CannotGoOn(const std::filesystem::path& output, const std::string& differences) {
  return StartupError("the run in " + NameOf(output) + " cannot go on: " + differences +
                      "; give --restart to begin anew");
}

/// Reads the input up to a point of the run that wrote the state.
void CheckInput(InputFile& input, const std::filesystem::path& path, const RunPoint& point) {
  if (input.SkipTo(point.input_bytes) && input.digest() == point.input_digest) {
    return;
  }
  if (!input.failure().empty()) {
    throw StartupError(input.failure());
  }
  throw StartupError("the input " + NameOf(path) + " has changed in its first " +
                     std::to_string(point.input_bytes) +
                     " bytes, whose responses are written: give --restart to begin anew");
}

/// What a symbolic link names, even if that does not exist. weakly_canonical takes such a link for
/// a file.
std::filesystem::path TargetOf(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // Linux follows no more.
  std::error_code fault;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, fault); ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, fault);
    if (fault) {
      break;
    }
    path = path.parent_path() / target;  // The target, if it is absolute.
  }
  return path;
}

}  // namespace

RunFiles::RunFiles(const RunOptions& options)
    : is_regular_output_(MayBeRegularFile(options.output)) {
  state_.settings = options.settings;
  state_.settings.emplace_back("--shard", options.share.ToText());
  state_.build = options.build;
  if (is_regular_output_) {
    std::error_code fault;
    // Two names of one file must give one lock.
    output_path_ = std::filesystem::weakly_canonical(TargetOf(options.output), fault);
    if (fault) {
      output_path_ = options.output;
    }
    state_path_ = output_path_.string() + ".state";
    if (std::filesystem::exists(output_path_, fault) &&
        std::filesystem::equivalent(options.input, output_path_, fault)) {
      throw StartupError("--output " + NameOf(options.output) +
                         " is also the --input, which would be lost");
    }
  }
  OpenInput(options);
  if (!is_regular_output_) {
    no_resumption_reason_ = options.output == "-"
                                ? "its output is standard output"
                                : "its output " + NameOf(options.output) + " is not a regular file";
    BeginAnew(options);
    OpenOutput(options.output, options.is_dry_run);
    return;
  }
  OpenOutput(output_path_, options.is_dry_run);
  const std::optional<RunState> state = options.restart ? std::nullopt : ReadState(state_path_);
  std::error_code absent;
  const auto bytes = std::filesystem::file_size(output_path_, absent);
  // An empty file that is compressed has bytes, too.
  const bool has_records = !absent && bytes > 0 &&
                           (!state || state->next.records() > 0 ||
                            bytes != static_cast<std::uintmax_t>(state->output_bytes));
  if (state && has_records && no_resumption_reason_.empty()) {
    GoOn(options, *state);
  } else {
    if (has_records && !options.restart) {
      throw StartupError(NameOf(options.output) + " is not empty, and " +
                         (no_resumption_reason_.empty()
                              ? "there is no " + NameOf(state_path_.filename()) +
                                    " beside it from which its run could go on"
                              : "a run cannot go on if " + no_resumption_reason_) +
                         ": give --restart to begin anew");
    }
    BeginAnew(options);
  }
}

void RunFiles::OpenInput(const RunOptions& options) {
  if (options.input == "-") {
    no_resumption_reason_ = "its input is standard input";
  } else if (!MayBeRegularFile(options.input)) {
    no_resumption_reason_ = "its input " + NameOf(options.input) + " is not a regular file";
  }
  if (options.is_dry_run && !no_resumption_reason_.empty()) {
    CheckReadable(options.input);
  } else if (options.input == "-") {
    stoppable_.emplace();
    input_.emplace(stoppable_->MakeSource(), "standard input", options.max_line_bytes);
  } else {
    input_.emplace(options.input, options.max_line_bytes);
  }
}

void RunFiles::OpenOutput(const std::filesystem::path& path, bool is_dry_run) {
  if (is_dry_run) {
    CheckWritable(path);
    if (is_regular_output_) {
      OutputLock::CheckFree(path);
    }
    return;
  }
  records_.emplace(path);
  if (is_regular_output_) {
    lock_.emplace(path);
  }
}

void RunFiles::BeginAnew(const RunOptions& options) {
  state_.seed = options.seed ? *options.seed : DrawSeed();
  state_.model_name = options.model_name.value_or(options.default_model_name);
  // Not the time of the run, so that two runs of an input have the same records.
  state_.created = TimeOf(options.input);
}

void RunFiles::GoOn(const RunOptions& options, const RunState& state) {
  const std::string name = NameOf(options.output);
  RunSettings was = state.settings;
  RunSettings is = state_.settings;
  const auto add = [&](const char* flag, std::string before, std::string now) {
    was.emplace_back(flag, std::move(before));
    is.emplace_back(flag, std::move(now));
  };
  // If they are absent, the run keeps its own.
  if (options.seed) {
    add("--seed", std::to_string(state.seed), std::to_string(*options.seed));
  }
  if (options.model_name) {
    add("--served-model-name", state.model_name, *options.model_name);
  }
  const std::string differences = Differences(was, is);
  if (!differences.empty()) {
    throw CannotGoOn(options.output, differences);
  }
  const KeptRecords kept = FindKeptRecords(output_path_, state);
  CheckInput(*input_, options.input, state.written);
  begin_ = state.written;
  OwnLines lines(*input_, options.share, begin_);
  std::string line;
  for (std::int64_t left = kept.records() - begin_.records(); left > 0; --left) {
    if (lines.Next(line) == InputFile::Result::kEnd) {
      throw StartupError(!input_->failure().empty()
                             ? input_->failure()
                             : "the input " + NameOf(options.input) + " has fewer lines than " +
                                   name + " has records: give --restart to begin anew");
    }
    lines.MoveHere(begin_);
  }
  begin_.succeeded = kept.succeeded;
  begin_.refused = kept.refused;
  begin_.error_records = kept.error_records;
  if (begin_.input_bytes != state.next.input_bytes) {
    InputFile ahead(options.input, options.max_line_bytes);
    CheckInput(ahead, options.input, state.next);
  } else if (begin_.input_digest != state.next.input_digest) {
    CheckInput(*input_, options.input, state.next);
  }
  begin_bytes_ = kept.output_bytes;
  begin_digest_ = kept.output_digest;
  other_build_ = state.build == state_.build ? "" : state.build;
  state_.seed = state.seed;
  state_.created = state.created;
  weights_before_ = state.weights;
  state_.model_name = state.model_name;
}

void RunFiles::SetWeights(RunSettings checksums) {
  state_.weights = std::move(checksums);
  if (const std::string differences =
          weights_before_ ? Differences(*weights_before_, state_.weights) : "";
      !differences.empty()) {
    throw CannotGoOn(output_path_, differences);
  }
}

void RunFiles::Begin() {
  records_->BeginAt(begin_bytes_, begin_digest_);
  if (begin_.records() == 0) {
    // The old state no longer belongs to what the output has.
    std::error_code absent;
    std::filesystem::remove(state_path_, absent);
  }
  state_.written = begin_;
  state_.next = begin_;
  state_.output_bytes = begin_bytes_;
  state_.output_digest = begin_digest_.value();
  WriteState();
}

void RunFiles::Write(std::span<const std::string> records, const RunPoint& end) {
  state_.next = end;
  WriteState();
  for (const std::string& record : records) {
    records_->Write(record);
  }
  FlushRecords();
}

void RunFiles::BeginRecord(const RunPoint& end) {
  state_.next = end;
  WriteState();
}

void RunFiles::EndRecord() {
  records_->EndRecord();
  FlushRecords();
}

void RunFiles::FlushRecords() {
  if (is_regular_output_) {
    records_->Sync();
  } else {
    records_->Flush();
  }
  if (!records_->failure().empty()) {
    throw std::runtime_error(records_->failure());
  }
  state_.written = state_.next;
  state_.output_bytes = records_->size();
  state_.output_digest = records_->digest();
}

void RunFiles::Finish(const RunPoint& end) {
  records_->Finish();
  if (!records_->failure().empty()) {
    throw std::runtime_error(records_->failure());
  }
  state_.written = end;
  state_.next = end;
  state_.output_bytes = records_->size();
  state_.output_digest = records_->digest();
  WriteState();
}

void RunFiles::StopReading() const {
  if (stoppable_) {
    stoppable_->Stop();
  }
}

void RunFiles::WriteState() {
  if (no_resumption_reason_.empty()) {
    proto::ReplaceFile(state_path_, state_.ToText());
  }
}

}  // namespace scorecast::coordinator
