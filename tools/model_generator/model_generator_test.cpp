#include "model_generator/model_generator.hpp"

#include <gtest/gtest.h>
