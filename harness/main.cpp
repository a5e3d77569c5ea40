#include "cases/shipped.h"
#include "harness/program.h"

int main(int argc, char** argv) {
    return holdfast::run_program({holdfast::shipped_cases(), holdfast::shipped_expectations()}, argc, argv);
}
