#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "coordinator/request/request_options.h"

namespace scorecast::coordinator {

/// Whether a name behind `before` is a version, or begins with one. Fireworks' URLs are those of
/// OpenAI behind "/inference", such as "/inference/v1/chat/completions", and name no model of
/// DeepInfra's "/inference/{model}".
inline bool IsVersionOfFireworks(std::string_view before, std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('/'), name.size()));
  return before.ends_with("/inference/") && (name == "v1" || name.starts_with("v1/"));
}

/// Whether a path is one of those that a URL of an endpoint stands for: "/inference/{model}" stands
/// for "/inference/" and any name behind it but IsVersionOfFireworks. A name may have slashes. A
/// URL without braces stands for itself.
inline bool StandsFor(std::string_view url, std::string_view path) {
  const auto open = url.find('{');
  if (open == std::string_view::npos) {
    return url == path;
  }
  const std::string_view before = url.substr(0, open);
  const std::string_view behind = url.substr(url.find('}') + 1);
  return path.size() > before.size() + behind.size() && path.starts_with(before) &&
         path.ends_with(behind) && !IsVersionOfFireworks(before, path.substr(before.size()));
}

/// What a path for which the URL stands has in the place of the braces. Empty without braces.
inline std::string_view NamedIn(std::string_view url, std::string_view path) {
  const auto open = url.find('{');
  if (open == std::string_view::npos || !StandsFor(url, path)) {
    return {};
  }
  return path.substr(open, path.size() - open - (url.size() - url.find('}') - 1));
}

/// The same of the one of an endpoint's URLs that stands for the path.
inline std::string_view NamedIn(std::span<const std::string_view> urls, std::string_view path) {
  const auto own = std::ranges::find_if(
      urls, [path](std::string_view url) { return !NamedIn(url, path).empty(); });
  return own == urls.end() ? std::string_view() : NamedIn(*own, path);
}

/// The model that a request's URL names, which may be empty, counts if the request names none.
inline void NameModel(std::string_view url_model, RequestOptions& request) {
  if (!request.model && !url_model.empty()) {
    request.model = std::string(url_model);
  }
}

/// The name in braces of a URL. Empty if it has none.
inline std::string_view PatternName(std::string_view url) {
  const auto open = url.find('{');
  return open == std::string_view::npos ? std::string_view()
                                        : url.substr(open + 1, url.find('}') - open - 1);
}

}  // namespace scorecast::coordinator
