#include "coordinator/front/replica_list.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "proto/base/error.h"
#include "proto/base/host_port.h"
#include "proto/base/one_line.h"
#include "proto/base/regular_file.h"
#include "proto/log/log.h"

namespace scorecast::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxNameBytes = 64;

/// Names are in lines of the log, and labels of metrics.
bool IsReplicaName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~' && c != '"'; });
}

/// Lists and address files are short.
constexpr std::int64_t kMaxFileBytes = std::int64_t{1} << 20;

/// The text of a file, or why it cannot be read. Never waits, as the reading of a FIFO would.
proto::Expected<std::string, std::string> TextOf(const fs::path& path) {
  try {
    return proto::ReadRegularFile(path, kMaxFileBytes);
  } catch (const proto::StartupError& error) {
    // The log has the name of the file already.
    const std::string name = proto::OneLinePath(path.string()) + ": ";
    const std::string fault = error.what();
    return proto::Unexpected(fault.starts_with(name) ? fault.substr(name.size()) : fault);
  }
}

}  // namespace

ReplicaList::ReplicaList(fs::path path, AddressReader read_address)
    : path_(std::move(path)), read_address_(std::move(read_address)) {}

ReplicaList::Sources ReplicaList::ReadFile() {
  auto text = TextOf(path_);
  if (!text) {
    return proto::Unexpected(std::move(text).error());
  }
  const bool is_same = std::exchange(last_text_, *text) == *text;
  if (!is_same && !text->ends_with('\n')) {
    text->resize(text->find_last_of('\n') + 1);  // npos + 1 is 0.
  }
  std::vector<Source> sources;
  std::set<std::string> names;
  std::istringstream lines(*text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string name;
    std::string where;
    std::string more;
    words >> name >> where >> more;
    if (name.empty() || name.front() == '#') {
      continue;
    }
    const auto fault = [&](const std::string& what) {
      return proto::Unexpected("line " + std::to_string(number) + ": " + what);
    };
    if (!IsReplicaName(name)) {
      return fault("the name " + proto::Quoted(name) + " is not 1 to 64 visible ASCII characters");
    }
    if (where.empty() || !more.empty()) {
      return fault("it is neither NAME HOST:PORT nor NAME ADDRESS_FILE");
    }
    if (!names.insert(name).second) {
      return fault("the name " + name + " stands twice");
    }
    if (proto::ParseHostPort(where)) {
      sources.push_back({name, where});
    } else {
      sources.push_back({name, {}, path_.parent_path() / where});
    }
  }
  return sources;
}

ReplicaList::Sources ReplicaList::ReadDirectory() const {
  std::error_code error;
  std::vector<Source> sources;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path file = entry->path();
    std::error_code ignored;
    const bool is_hidden = file.filename().string().starts_with('.');
    // A service writes a new file before it gives it its name.
    if (is_hidden || file.extension() == ".new" || !fs::is_regular_file(file, ignored)) {
      continue;
    }
    if (!IsReplicaName(file.stem().string())) {
      return proto::Unexpected("the name of " + proto::Quoted(file.filename().string()) +
                               " is not 1 to 64 visible ASCII characters");
    }
    sources.push_back({file.stem().string(), {}, file});
  }
  if (error) {
    return proto::Unexpected(error.message());
  }
  std::ranges::sort(sources, {}, &Source::name);
  const auto twice = std::ranges::adjacent_find(sources, {}, &Source::name);
  if (twice != sources.end()) {
    return proto::Unexpected("two files are of the name " + twice->name);
  }
  return sources;
}

ReplicaList::Sources ReplicaList::ReadSources() {
  std::error_code ignored;
  return fs::is_directory(path_, ignored) ? ReadDirectory() : ReadFile();
}

std::optional<std::string> ReplicaList::AddressIn(const Source& source) {
  if (!source.address.empty()) {
    return source.address;
  }
  const auto text = TextOf(source.file);
  std::error_code ignored;
  if (!text && fs::status(source.file, ignored).type() == fs::file_type::not_found) {
    Note(source.file, "");
    return std::nullopt;
  }
  std::string fault = text ? "" : text.error();
  if (text) {
    auto address = read_address_(*text);
    if (address && proto::ParseHostPort(*address)) {
      Note(source.file, "");
      return *std::move(address);
    }
    fault = address ? "it has no HOST:PORT" : std::move(address).error();
  }
  Note(source.file, fault);
  const auto old = std::ranges::find(replicas_, source.name, &ListedReplica::name);
  return old == replicas_.end() ? std::nullopt : std::optional(old->address);
}

bool ReplicaList::Look() {
  const Sources sources = ReadSources();
  Note(path_, sources ? "" : sources.error());
  if (!sources) {
    return false;
  }
  std::erase_if(faults_, [&](const auto& fault) {
    return std::ranges::find(*sources, fault.first, &Source::file) == sources->end();
  });
  std::vector<ListedReplica> replicas;
  for (const Source& source : *sources) {
    if (auto address = AddressIn(source)) {
      replicas.push_back({source.name, *std::move(address)});
    }
  }
  std::set<std::string> missed;
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    const ListedReplica& old = replicas_[i];
    const bool is_seen =
        std::ranges::find(replicas, old.name, &ListedReplica::name) != replicas.end();
    if (!is_seen && !missed_.contains(old.name)) {
      // In its place, because requests that name no model are for the first one.
      replicas.insert(replicas.begin() + static_cast<std::ptrdiff_t>(std::min(i, replicas.size())),
                      old);
      missed.insert(old.name);
    }
  }
  missed_ = std::move(missed);
  if (replicas == replicas_) {
    return false;
  }
  replicas_ = std::move(replicas);
  return true;
}

std::string ReplicaList::fault() const {
  const auto found = faults_.find(path_);
  return found == faults_.end() ? "" : found->second;
}

void ReplicaList::Note(const fs::path& file, const std::string& fault) {
  if (fault.empty()) {
    faults_.erase(file);
    return;
  }
  std::string& last = faults_[file];
  if (last != fault) {
    proto::LogWarning("{}: {}; what it says of replicas stays as it was",
                      proto::OneLinePath(file.string()), fault);
    last = fault;
  }
}

}  // namespace scorecast::coordinator
