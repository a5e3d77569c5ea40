// The program with nothing but the planted cases: what the tests of the harness run.
#include "harness/planted/planted.h"
#include "harness/program.h"

int main(int argc, char** argv) {
    return holdfast::run_program({holdfast::planted_cases(), holdfast::planted_expectations()}, argc, argv);
}
