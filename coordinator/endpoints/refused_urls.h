#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scorecast::coordinator {

/// A URL of other engines that this server does not have.
struct RefusedUrl {
  std::string path;
  std::string message;  ///< Names the URL and says what there is instead.
};

const std::vector<RefusedUrl>& RefusedUrls();

/// Null if the URL is none of them.
const RefusedUrl* FindRefusedUrl(std::string_view path);

}  // namespace scorecast::coordinator
