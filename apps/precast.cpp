#include "cli/command.hpp"

int main(int argc, char** argv) {
  precast::cli::run(argc, argv);
}
