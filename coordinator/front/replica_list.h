#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// A replica that a front is told of.
struct ListedReplica {
  std::string name;
  std::string address;  ///< HOST:PORT of its request socket.

  bool operator==(const ListedReplica&) const = default;
};

/// The replicas of a front, as a file or a directory lists them. They appear, move and vanish.
///
/// - A line of a file is `NAME HOST:PORT` or `NAME ADDRESS_FILE`, a path relative to the directory
///   of the list. Empty lines, and those that begin with '#', are skipped.
/// - Every file of a directory is the address file of a replica. Its name is that of the file,
///   without a suffix. Files whose names begin with '.' or end in ".new" are skipped.
///
/// A replica whose address file is missing is not listed, because its service is not ready, or
/// drains. But a replica leaves only when two looks in a row do not see it: the list may be being
/// written. For the same reason the last line counts only if it is whole, or the same in two looks.
/// A list with a fault changes nothing, and an address file with a fault leaves its replica where
/// it was. The log says so once, until the fault is another one.
class ReplicaList {
 public:
  /// HOST:PORT in the contents of an address file, or what is wrong with them.
  using AddressReader =
      std::function<proto::Expected<std::string, std::string>(std::string_view contents)>;

  ReplicaList(std::filesystem::path path, AddressReader read_address);

  /// Reads the files. Returns whether the replicas have changed. Called by one thread at a time;
  /// may take a while.
  bool Look();
  /// Why the last look could not read the list itself; empty if it could.
  std::string fault() const;
  /// In the order of the file; of a directory in that of their names.
  const std::vector<ListedReplica>& replicas() const { return replicas_; }

 private:
  /// A replica, and where its address is.
  struct Source {
    std::string name;
    std::string address;  ///< Empty: it is in the file.
    std::filesystem::path file = {};
  };
  using Sources = proto::Expected<std::vector<Source>, std::string>;

  Sources ReadSources();
  Sources ReadFile();
  Sources ReadDirectory() const;
  /// Nothing if the file is missing.
  std::optional<std::string> AddressIn(const Source& source);
  /// Logs the fault of a file, unless it is the last one of this file. Empty: it has none.
  void Note(const std::filesystem::path& file, const std::string& fault);

  const std::filesystem::path path_;
  const AddressReader read_address_;
  std::vector<ListedReplica> replicas_;
  std::set<std::string> missed_;  ///< Names of those that the last look did not see.
  std::string last_text_;         ///< Of the file, at the last look.
  std::map<std::filesystem::path, std::string> faults_;  ///< Those that were logged last.
};

}  // namespace scorecast::coordinator
