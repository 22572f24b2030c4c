#include "proto/base/regular_file.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/base/error.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::proto {
namespace regular_file_test {

class RegularFileTest : public ::testing::Test {
 protected:
  std::filesystem::path Path(const std::string& name) const { return directory_.path() / name; }

  /// Why the file cannot be read, without its name.
  static std::string FaultOf(const std::filesystem::path& path, std::int64_t most_bytes = 100) {
    try {
      ReadRegularFile(path, most_bytes);
    } catch (const StartupError& error) {
      const std::string text = error.what();
      EXPECT_TRUE(text.starts_with(path.string() + ": ")) << text;
      return text.substr(path.string().size() + 2);
    }
    return "";
  }

  const reference::TempDirectory directory_;
};

TEST_F(RegularFileTest, IsReadAsAWhole) {
  const std::string text("some\0text\n", 10);
  std::ofstream(Path("file"), std::ios::binary) << text;
  EXPECT_EQ(ReadRegularFile(Path("file")), text);
  EXPECT_EQ(ReadRegularFile(Path("file"), 10), text);
  EXPECT_EQ(FaultOf(Path("file"), 9), "10 bytes is more than the limit of 9");
  std::filesystem::resize_file(Path("file"), 0);
  EXPECT_EQ(ReadRegularFile(Path("file"), 0), "");
}

// The files of a Hugging Face snapshot are links.
TEST_F(RegularFileTest, MayBeALink) {
  std::ofstream(Path("file")) << "text";
  std::filesystem::create_symlink("file", Path("link"));
  std::filesystem::create_symlink("link", Path("link to it"));
  EXPECT_EQ(ReadRegularFile(Path("link to it")), "text");
  EXPECT_TRUE(FileExists(Path("link to it")));
}

// This includes a FIFO without a writer. Opening it does not wait for a writer.
TEST_F(RegularFileTest, IsNothingElse) {
  EXPECT_EQ(FaultOf(directory_.path()), "not a regular file");
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(FaultOf(Path("pipe")), "not a regular file");
  std::filesystem::create_symlink("pipe", Path("link"));
  EXPECT_EQ(FaultOf(Path("link")), "not a regular file");
  EXPECT_EQ(FaultOf("/dev/zero"), "not a regular file");

  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(Path("socket").string().size(), sizeof(address.sun_path));
  std::strcpy(address.sun_path, Path("socket").c_str());
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(FaultOf(Path("socket")), "not a regular file");
  close(listener);
}

TEST_F(RegularFileTest, IsNamedIfItIsMissing) {
  EXPECT_FALSE(FileExists(Path("nothing")));
  EXPECT_EQ(FaultOf(Path("nothing")), "cannot be opened: No such file or directory");
  std::filesystem::create_symlink("nothing", Path("link"));
  EXPECT_TRUE(FileExists(Path("link"))) << "what it should be is missing, and is not absent";
  EXPECT_EQ(FaultOf(Path("link")), "it is a link to a file that does not exist");
  std::filesystem::create_symlink("loop", Path("loop"));
  EXPECT_EQ(FaultOf(Path("loop")), "cannot be opened: Too many levels of symbolic links");
  EXPECT_FALSE(FileExists(Path("nothing") / "file"));
}

}  // namespace regular_file_test
}  // namespace scorecast::proto
