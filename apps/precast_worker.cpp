// Compiles one request in a process of its own, because EP compilers crash, hang, and crash again while unloading.
#include "compile/worker_main.hpp"

int main(int argc, char** argv) {
  return precast::compile::worker_main(argc, argv);
}
