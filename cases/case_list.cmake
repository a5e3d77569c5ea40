# Writes the list of cases: cases/FAMILY/NAME.cpp defines holdfast::cases::FAMILY_NAME.
#   cmake -DFUNCTION=shipped_cases -DFILES=fallocate/modes.cpp;... -DOUTPUT=x.cpp -P case_list.cmake
set(declarations)
set(entries)
foreach(file IN LISTS FILES)
    string(REGEX REPLACE "\\.cpp$" "" name ${file})
    string(REPLACE "/" "_" name ${name})
    string(APPEND declarations "extern const Case ${name};\n")
    string(APPEND entries "        &cases::${name},\n")
endforeach()
file(WRITE ${OUTPUT}
"#include <array>

#include \"cases/case.h\"

namespace holdfast {

namespace cases {
${declarations}}  // namespace cases

std::span<const Case* const> ${FUNCTION}() {
    static constexpr auto list = std::to_array<const Case*>({
${entries}    });
    return list;
}

}  // namespace holdfast
")
