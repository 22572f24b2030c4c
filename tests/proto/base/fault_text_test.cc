#include "proto/base/fault_text.h"

#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proto/base/error.h"

namespace scorecast::proto {
namespace fault_text_test {

template <typename Function>
std::string TextOfFault(const Function& function) {
  try {
    function();
  } catch (const std::exception& fault) {
    return FaultText(fault);
  }
  return "";
}

TEST(FaultText, IsNotTheStandardLibrarys) {
  EXPECT_EQ(TextOfFault([] { throw std::bad_alloc(); }), "there is not enough memory");
  EXPECT_EQ(TextOfFault([] { (void)std::filesystem::file_size("/nonexistent/a\nb"); }),
            "/nonexistent/a\\x0ab: No such file or directory");
  EXPECT_EQ(TextOfFault([] { throw StartupError("--port is wrong"); }), "--port is wrong");
}

}  // namespace fault_text_test
}  // namespace scorecast::proto
