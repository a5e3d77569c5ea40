#include "harness/fio/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

MappedJobs map(const std::string& text, const std::vector<FioSetting>& settings = {}) {
    return map_jobs(text, "mine.fio", "/mnt/xfs", settings);
}

std::string refusal_of(const std::string& text) {
    try {
        (void)map(text);
    } catch (const BadInput& error) {
        return error.what();
    }
    return "taken";
}

TEST(FioJobs, AJobWithoutADirectoryGetsOne) {
    const auto mapped = map("; comment\n[write]\nrw=randwrite\ndirect\n");
    EXPECT_EQ(mapped.text, "[global]\ndirectory=/mnt/xfs\n; comment\n[write]\nrw=randwrite\ndirect\n");
    EXPECT_THAT(mapped.renamed, IsEmpty());
}

TEST(FioJobs, DirectoriesAreReplacedAndNamesKept) {
    const auto mapped = map("[global]\n  directory = /data:/more\n[a]\nfilename=one:two\\:half\n");
    EXPECT_EQ(mapped.text,
              "[global]\ndirectory=/mnt/xfs\n[global]\ndirectory=/mnt/xfs\n[a]\nfilename=one:two\\:half\n");
}

TEST(FioJobs, PathsAndDevicesBecomePlainFiles) {
    const auto mapped = map("[a]\nfilename=/dev/sdb:/data/x/y:../z\n[b]\nfilename=/dev/sdb\n");
    EXPECT_THAT(mapped.text, HasSubstr("[a]\nfilename=dev-sdb:data-x-y:z\n[b]\nfilename=dev-sdb\n"));
    EXPECT_THAT(mapped.renamed,
                ElementsAre(Pair("/dev/sdb", "dev-sdb"), Pair("/data/x/y", "data-x-y"), Pair("../z", "z")));
}

TEST(FioJobs, ASettingTakesThePlaceOfWhatIsThere) {
    EXPECT_EQ(map("[a]\nsize=12g\nrw=write\n[b]\nsize = 1g\n", {{"size", "16m"}}).text,
              "[global]\ndirectory=/mnt/xfs\nsize=16m\n[a]\nrw=write\n[b]\n");
    EXPECT_THAT(parse_fio_setting("runtime=2"), Pair("runtime", "2"));
    EXPECT_THROW((void)parse_fio_setting("runtime"), BadInput);
    EXPECT_THROW((void)parse_fio_setting("filename=/x"), BadInput);
}

TEST(FioJobs, WhatCannotBeMovedIsNamedWithItsLine) {
    EXPECT_THAT(refusal_of("[a]\nrw=write\ninclude other.fio\n"), HasSubstr("mine.fio:3: expected no include"));
    EXPECT_THAT(refusal_of("[a]\nfilename=-\n"), HasSubstr("mine.fio:2: expected files"));
    EXPECT_THAT(refusal_of("[a]\nopendir=/data\n"), HasSubstr("mine.fio:2: expected no opendir with a path"));
    EXPECT_THAT(refusal_of("[a\nrw=write\n"), HasSubstr("mine.fio:1: expected a ]"));
    EXPECT_THAT(refusal_of("rw=write\n"), HasSubstr("mine.fio:1: expected a section"));
    EXPECT_THAT(refusal_of("[global]\nrw=write\n"), HasSubstr("mine.fio: expected a job"));
}

}  // namespace
}  // namespace holdfast
