// What the shared library shows. No other name of precast's leaves it.
#pragma once

#define PRECAST_API __attribute__((visibility("default")))
