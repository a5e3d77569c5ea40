#include "harness/results/result_file.h"

#include <csignal>
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixtures/base/failure.h"
#include "harness/results/replace_file.h"
#include "harness/results/result_examples.h"

namespace holdfast {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class ResultFileTest : public testing::Test {
 protected:
    ResultFileTest() {
        auto name = std::filesystem::temp_directory_path().string() + "/result_file_test.XXXXXX";
        directory = ::mkdtemp(name.data());
    }
    ~ResultFileTest() override { std::filesystem::remove_all(directory); }

    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator{directory})
            found.push_back(entry.path().filename().string());
        return found;
    }
    [[nodiscard]] ResultFile make() const { return {path(), example.run, example.machine}; }
    [[nodiscard]] std::filesystem::path path() const { return directory / "r.json"; }

    std::filesystem::path directory;
    Results example = example_results();
};

TEST_F(ResultFileTest, IsThereFromTheBeginning) {
    const auto file = make();
    const auto results = read_result_file(path());
    EXPECT_TRUE(results.cases.empty());
    EXPECT_EQ(results.run.id, "r1");
}

TEST_F(ResultFileTest, HasEachCaseOnceItWasAdded) {
    auto file = make();
    for (std::size_t i = 0; i < example.cases.size(); ++i) {
        file.add(example.cases[i]);
        EXPECT_EQ(read_result_file(path()).cases.size(), i + 1);
    }
    file.finish();
    file.finish();
    const auto results = read_result_file(path());
    EXPECT_EQ(results.summary(), example.summary());
    EXPECT_EQ(results.cases[3].kernel_log, example.cases[3].kernel_log);
    EXPECT_EQ(names(), std::vector<std::string>{"r.json"});
}

TEST_F(ResultFileTest, EndsInTheOrderThatIsAskedFor) {
    auto file = make();
    file.add(example.cases[1]);
    file.add(example.cases[0]);
    file.finish(std::span{example.cases}.first(2));
    const auto results = read_result_file(path());
    ASSERT_EQ(results.cases.size(), 2U);
    EXPECT_EQ(results.cases[0].filesystem, example.cases[0].filesystem);
    EXPECT_EQ(results.cases[1].filesystem, example.cases[1].filesystem);
}

TEST_F(ResultFileTest, IsCompleteWheneverTheProcessIsKilled) {
    for (int attempt = 0; attempt < 20; ++attempt) {
        const auto child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            auto file = make();
            for (;;) file.add(example.cases[2]);
        }
        ::usleep(2000 + 1500 * static_cast<useconds_t>(attempt));
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        if (!std::filesystem::exists(path())) continue;
        EXPECT_NO_THROW((void)read_result_file(path()));
    }
    EXPECT_TRUE(std::filesystem::exists(path()));
}

TEST_F(ResultFileTest, ThousandsOfCasesCostLittle) {
    const auto begin = std::chrono::steady_clock::now();
    auto file = make();
    for (int i = 0; i < 5'000; ++i) file.add(example.cases[1]);
    file.finish();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{60});
    EXPECT_EQ(nlohmann::json::parse(std::ifstream{path()}).at("cases").size(), 5'000U);
}

TEST_F(ResultFileTest, RefusesAPlaceThatCannotBeWritten) {
    const auto refuses = [&](const std::filesystem::path& place, const char* message) {
        EXPECT_THAT([&] { ResultFile(place, example.run, example.machine); },
                    ThrowsMessage<BadInput>(AllOf(HasSubstr(place.string()), HasSubstr(message))));
    };
    refuses(directory / "none" / "r.json", "No such file or directory");
    refuses(directory, "not a regular file");
    refuses("/dev/null", "not a regular file");
    refuses("/proc/r.json", "cannot be written");
}

TEST_F(ResultFileTest, ALinkStaysALink) {
    std::ofstream{directory / "target"} << "old";
    std::filesystem::create_symlink("target", path());
    make().finish();
    EXPECT_TRUE(std::filesystem::is_symlink(path()));
    EXPECT_EQ(read_result_file(directory / "target").run.id, "r1");
}

TEST_F(ResultFileTest, ReplacingKeepsToTheUmask) {
    const auto umask = ::umask(027);
    replace_file(path(), {"a", "", "b"}, true);
    ::umask(umask);
    struct stat status {};
    ASSERT_EQ(::stat(path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0640U);
    EXPECT_EQ(status.st_size, 2);
}

TEST_F(ResultFileTest, AFileThatCannotBeReadIsNamed) {
    EXPECT_THAT([&] { (void)read_result_file(path()); }, ThrowsMessage<BadInput>(HasSubstr("r.json: cannot be read")));
    std::ofstream{path()} << "{\"schema\":\n \"holdfast-results/0\"}";
    EXPECT_THAT([&] { (void)read_result_file(path()); },
                ThrowsMessage<BadInput>(HasSubstr("r.json:2: schema: expected")));
}

}  // namespace
}  // namespace holdfast
