// One binding function for each file of the core.
#pragma once

#include <nanobind/nanobind.h>
