#include "coordinator/front/batch/response_sizes.h"

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace response_sizes_test {

TEST(ResponseSizes, AreExpectedToBeTwiceTheMean) {
  ResponseSizes sizes;
  EXPECT_EQ(sizes.Expect(1), std::int64_t{4} << 20) << "nothing is known";
  EXPECT_EQ(sizes.Expect(1000), std::int64_t{4} << 20);
  sizes.Learn(100, 50);
  EXPECT_EQ(sizes.Expect(10), 10);
  sizes.Learn(300, 1950);
  EXPECT_EQ(sizes.Expect(10), 100);
}

}  // namespace response_sizes_test
}  // namespace scorecast::coordinator
