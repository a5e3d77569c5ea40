// main() of the system tests: as GoogleTest's, but a disk server can be started of the same program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/disk/held/server.h"

int main(int argc, char** argv) {
    if (const int socket = holdfast::disk_server_socket(argc, argv); socket >= 0)
        return holdfast::run_disk_server(socket);
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
