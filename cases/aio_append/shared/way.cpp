#include "cases/aio_append/shared/way.h"

#include <cerrno>
#include <utility>

#include <sys/syscall.h>
#include <sys/uio.h>

#include "fixtures/io/uring.h"

namespace holdfast {
namespace {

constexpr unsigned most_writes = 16;

class AioWay : public Way {
 public:
    [[nodiscard]] long system_call() const override { return SYS_io_submit; }

    [[nodiscard]] long submit(std::span<const Write> writes) override {
        std::vector<iocb> requests;
        for (const auto& write : writes)
            requests.push_back(prepare_write(*write.file, write.offset, write.bytes, requests.size(), write.flags));
        return context_.try_submit(requests);
    }

    [[nodiscard]] std::optional<AioEvent> event(std::chrono::milliseconds bound) override {
        return context_.wait_for(bound);
    }

 private:
    AioContext context_{most_writes};
};

class UringWay : public Way {
 public:
    [[nodiscard]] long system_call() const override { return SYS_io_uring_enter; }

    [[nodiscard]] long submit(std::span<const Write> writes) override {
        for (std::size_t i = 0; i < writes.size(); ++i)
            ring_.prepare_write(writes[i].file->descriptor(), writes[i].offset, writes[i].bytes, i, writes[i].flags);
        return ring_.submit();
    }

    [[nodiscard]] std::optional<AioEvent> event(std::chrono::milliseconds bound) override {
        return ring_.wait_for(bound);
    }

 private:
    Uring ring_{most_writes};
};

class SynchronousWay : public Way {
 public:
    [[nodiscard]] long system_call() const override { return SYS_pwritev2; }

    [[nodiscard]] long submit(std::span<const Write> writes) override {
        const auto& write = writes.front();
        const iovec vector{const_cast<std::byte*>(write.bytes.data()), write.bytes.size()};
        const auto written =
            ::pwritev2(write.file->descriptor(), &vector, 1, static_cast<off_t>(write.offset), write.flags);
        event_ = AioEvent{.id = 0, .result = written < 0 ? -errno : written};
        return 1;
    }

    [[nodiscard]] std::optional<AioEvent> event(std::chrono::milliseconds) override {
        return std::exchange(event_, std::nullopt);
    }

 private:
    std::optional<AioEvent> event_;
};

}  // namespace

std::unique_ptr<Way> aio_way() { return std::make_unique<AioWay>(); }
std::unique_ptr<Way> uring_way() { return std::make_unique<UringWay>(); }
std::unique_ptr<Way> synchronous_way() { return std::make_unique<SynchronousWay>(); }

}  // namespace holdfast
