#include "harness/boot/guest_job.h"

#include <nlohmann/json.hpp>

#include "fixtures/base/document.h"

namespace holdfast {

std::string GuestJob::to_text() const {
    return nlohmann::json{{"arguments", arguments},
                          {"share", {{"type", share_type}, {"options", share_options}, {"source", share_source}}},
                          {"modules", modules},
                          {"restart to end", restart_to_end}}
        .dump(4);
}

GuestJob GuestJob::load(const std::filesystem::path& file) {
    const auto document = Document::load(file);
    const auto share = document.required("share");
    return {.arguments = document.required("arguments").texts(),
            .share_type = share.required("type").text(),
            .share_options = share.required("options").text(),
            .share_source = share.required("source").text(),
            .modules = document.required("modules").texts(),
            .restart_to_end = document.required("restart to end").boolean()};
}

}  // namespace holdfast
