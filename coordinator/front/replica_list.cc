#include "coordinator/front/replica_list.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "proto/base/host_port.h"
#include "proto/base/one_line.h"
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

struct FileText {
  std::string text;
  int error = 0;  ///< errno, if it cannot be read.
};

FileText TextOf(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return {{}, EISDIR};
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return {{}, errno == 0 ? EIO : errno};
  }
  return {std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()}};
}

}  // namespace

ReplicaList::ReplicaList(fs::path path, AddressReader read_address)
    : path_(std::move(path)), read_address_(std::move(read_address)) {}

ReplicaList::Sources ReplicaList::ReadFile() const {
  const FileText file = TextOf(path_);
  if (file.error != 0) {
    return proto::Unexpected(std::string(std::strerror(file.error)));
  }
  std::vector<Source> sources;
  std::set<std::string> names;
  std::istringstream lines(file.text);
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

ReplicaList::Sources ReplicaList::ReadSources() const {
  std::error_code ignored;
  return fs::is_directory(path_, ignored) ? ReadDirectory() : ReadFile();
}

std::optional<std::string> ReplicaList::AddressIn(const Source& source) {
  if (!source.address.empty()) {
    return source.address;
  }
  const FileText file = TextOf(source.file);
  if (file.error == ENOENT) {
    Note(source.file, "");
    return std::nullopt;
  }
  std::string fault = file.error == 0 ? "" : std::strerror(file.error);
  if (fault.empty()) {
    auto address = read_address_(file.text);
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
  if (replicas == replicas_) {
    return false;
  }
  replicas_ = std::move(replicas);
  return true;
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
