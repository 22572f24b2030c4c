#include "coordinator/templates/model_card.h"

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace model_card_test {

TEST(ModelCard, TitleIsTheFirstHeading) {
  EXPECT_EQ(ModelCardTitle("# One\n# Two\n"), "One");
  EXPECT_EQ(ModelCardTitle("<p>\n\n#  A title"), "A title");
  EXPECT_EQ(ModelCardTitle("## Part\n#tag\n"), "");
  EXPECT_EQ(ModelCardTitle("# \n"), "");
  EXPECT_EQ(ModelCardTitle(""), "");
}

TEST(ModelCard, FrontMatterAndCodeHaveNoTitle) {
  EXPECT_EQ(ModelCardTitle("---\n# comment\ntags:\n- a\n---\n\n# Title\n"), "Title");
  EXPECT_EQ(ModelCardTitle("```python\n# comment\n```\n# Title\n"), "Title");
  EXPECT_EQ(ModelCardTitle("Text\n---\n# Title\n"), "Title");
  EXPECT_EQ(ModelCardTitle("---\n# comment\n"), "");
}

}  // namespace model_card_test
}  // namespace scorecast::coordinator
