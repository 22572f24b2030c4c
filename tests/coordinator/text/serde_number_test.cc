#include "coordinator/text/files/serde_number.h"

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace serde_number_test {

// Expected values: PyPI's tokenizers 0.23.3 reads a Unigram model with these scores and writes it
// again.
TEST(SerdeNumber, GivesTheReferencesLastBit) {
  EXPECT_EQ(SerdeNumber("-12.982908554684185"), -12.982908554684183);
  EXPECT_EQ(SerdeNumber("-12.013631564778425"), -12.013631564778423);
  EXPECT_EQ(SerdeNumber("-12.846008495951335"), -12.846008495951336);
  EXPECT_EQ(SerdeNumber("-14.864844673032227"), -14.864844673032229);
  EXPECT_EQ(SerdeNumber("-13.570439767683549"), -13.570439767683547);
  EXPECT_EQ(SerdeNumber("-12.809137326340203"), -12.809137326340204);
  EXPECT_EQ(SerdeNumber("-14.977634180636647"), -14.977634180636649);
  EXPECT_EQ(SerdeNumber("-0.47066643262976604"), -0.4706664326297661);
  EXPECT_EQ(SerdeNumber("-3.5694694063783707"), -3.5694694063783707);
  EXPECT_EQ(SerdeNumber("-8.163438379439278"), -8.163438379439278);
  EXPECT_EQ(SerdeNumber("-5.549327498221189"), -5.549327498221189);
  EXPECT_EQ(SerdeNumber("-3.14159265358979323846264338327950288"), -3.141592653589793);
  EXPECT_EQ(SerdeNumber("123456789012345678901234567890.5"), 1.2345678901234568e+29);
  EXPECT_EQ(SerdeNumber("1.7976931348623157e308"), 1.7976931348623157e+308);
  EXPECT_EQ(SerdeNumber("2.2250738585072014e-308"), 2.2250738585072014e-308);
  EXPECT_EQ(SerdeNumber("5e-324"), 5e-324);
}

TEST(SerdeNumber, ReadsEveryForm) {
  EXPECT_EQ(SerdeNumber("0.0"), 0.0);
  EXPECT_EQ(SerdeNumber("-1.5"), -1.5);
  EXPECT_EQ(SerdeNumber("1e3"), 1000.0);
  EXPECT_EQ(SerdeNumber("25E-2"), 0.25);
  EXPECT_EQ(SerdeNumber("-1.25e+1"), -12.5);
  EXPECT_EQ(SerdeNumber("1e-400"), 0.0);
  EXPECT_EQ(SerdeNumber("0e999999999999"), 0.0);
  EXPECT_EQ(SerdeNumber("0.333333333333333333333333333"), 0.33333333333333337);
}

}  // namespace serde_number_test
}  // namespace scorecast::coordinator
