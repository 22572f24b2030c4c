#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "coordinator/templates/template_text.h"

namespace scorecast::coordinator {

/// Reads a template's file line by line. A line is "key: value", empty, or a comment that begins
/// with #. A kind of template derives its reader.
class TemplateReader {
 public:
  /// `origin` names the file in faults, and must outlive the reader.
  explicit TemplateReader(const std::string& origin) : origin_(origin) {}
  virtual ~TemplateReader() = default;
  TemplateReader(const TemplateReader&) = delete;
  TemplateReader& operator=(const TemplateReader&) = delete;

 protected:
  void ReadLines(std::string_view text);

  /// Reads a line. A key comes again only if MayRepeat.
  virtual void ReadValue(const std::string& key, std::string_view value) = 0;
  virtual bool MayRepeat(const std::string& key) const = 0;

  /// Throws StartupError, one line that names the file, the line while one is read, and `what`.
  [[noreturn]] void Fail(const std::string& what) const;

  // The value of a line as JSON.
  nlohmann::json Value(const std::string& key, std::string_view text) const;
  std::string String(const std::string& key, std::string_view text) const;
  bool Bool(const std::string& key, std::string_view text) const;
  /// A list of one or more strings, which are not empty.
  std::vector<std::string> Strings(const std::string& key, std::string_view text) const;
  /// A text with places, which is not JSON any more.
  TemplateText Text(std::string_view text, const TemplatePlaces& places) const;

 private:
  void ReadLine(std::string_view line);

  const std::string& origin_;
  int line_ = 0;
  std::set<std::string> seen_;
};

}  // namespace scorecast::coordinator
