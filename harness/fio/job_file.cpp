#include "harness/fio/job_file.h"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>

#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

std::string trim(const std::string& text) {
    constexpr const char* blank = " \t\r";
    const auto first = text.find_first_not_of(blank);
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(blank) - first + 1);
}

// The names of a filename= or directory=, which colons separate; "\:" is a colon of a name.
std::vector<std::string> split_names(const std::string& value) {
    std::vector<std::string> names{""};
    for (std::size_t i = 0; i < value.size(); ++i) {
        if (value[i] == '\\' && i + 1 < value.size()) {
            names.back() += value.substr(i++, 2);
        } else if (value[i] == ':') {
            names.emplace_back();
        } else {
            names.back() += value[i];
        }
    }
    return names;
}

class Mapper {
 public:
    Mapper(std::string name, const std::filesystem::path& directory, const std::vector<FioSetting>& settings)
        : name_(std::move(name)), directory_(directory.string()), settings_(settings) {
        result_.text = fmt::format("[global]\ndirectory={}\n", directory_);
        add_settings();
    }

    void take(const std::string& line) {
        ++line_;
        const auto text = trim(line);
        if (text.empty() || text[0] == ';' || text[0] == '#') return keep(line);
        if (text[0] == '[') return take_section(line, text);
        const auto equals = text.find('=');
        const auto key = trim(text.substr(0, equals));
        const auto value = equals == std::string::npos ? "" : trim(text.substr(equals + 1));
        if (key == "include" || text.starts_with("include ")) refuse("no include: put what it includes in its place");
        if (!in_section_) refuse("a section, such as [global] or [job], before the first option");
        if (std::ranges::any_of(settings_, [&](const FioSetting& setting) { return setting.first == key; })) return;
        if (key == "directory") return keep("directory=" + directory_);
        if (key == "filename") return keep("filename=" + moved(value));
        constexpr std::array elsewhere{"opendir", "filename_format", "read_iolog", "mmap_file"};
        if (std::ranges::find(elsewhere, key) != elsewhere.end() && value.find('/') != std::string::npos)
            refuse(fmt::format("no {} with a path: its files would be elsewhere", key));
        keep(line);
    }

    MappedJobs finish() {
        if (!has_job_)
            throw BadInput(fmt::format("{}: expected a job: a section of another name than [global]", name_));
        return std::move(result_);
    }

 private:
    [[noreturn]] void refuse(const std::string& expected) const {
        throw BadInput(fmt::format("{}:{}: expected {}", name_, line_, expected));
    }
    void keep(const std::string& line) { result_.text += line + "\n"; }
    void add_settings() {
        for (const auto& [key, value] : settings_) result_.text += fmt::format("{}={}\n", key, value);
    }

    void take_section(const std::string& line, const std::string& text) {
        const auto end = text.find(']');
        if (end == std::string::npos) refuse("a ] at the end of the section's name");
        in_section_ = true;
        has_job_ |= text.substr(1, end - 1) != "global";
        keep(line);
    }

    std::string moved(const std::string& value) {
        std::string names;
        for (const auto& name : split_names(value)) {
            if (name == "-") refuse("files: standard input and output are not on a filesystem");
            names += (names.empty() ? "" : ":") + moved_name(name);
        }
        return names;
    }

    std::string moved_name(const std::string& name) {
        if (name.find('/') == std::string::npos) return name;
        auto plain = name.substr(name.find_first_not_of("/."));
        std::ranges::replace(plain, '/', '-');
        const std::pair renamed{name, plain};
        if (std::ranges::find(result_.renamed, renamed) == result_.renamed.end()) result_.renamed.push_back(renamed);
        return plain;
    }

    std::string name_;
    std::string directory_;
    const std::vector<FioSetting>& settings_;
    MappedJobs result_;
    std::size_t line_ = 0;
    bool in_section_ = false;
    bool has_job_ = false;
};

}  // namespace

FioSetting parse_fio_setting(const std::string& text) {
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
        throw BadInput(fmt::format("--set: expected KEY=VALUE, an option of fio, found {}", text));
    const FioSetting setting{text.substr(0, equals), text.substr(equals + 1)};
    if (setting.first == "directory" || setting.first == "filename")
        throw BadInput(fmt::format("--set: {} is the filesystem's own", setting.first));
    return setting;
}

MappedJobs map_jobs(std::string_view text, const std::string& name, const std::filesystem::path& directory,
                    const std::vector<FioSetting>& settings) {
    Mapper mapper{name, directory, settings};
    std::istringstream lines{std::string{text}};
    for (std::string line; std::getline(lines, line);) mapper.take(line);
    return mapper.finish();
}

}  // namespace holdfast
