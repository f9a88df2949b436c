// One binding function for each file of the core.
#pragma once

#include <nanobind/nanobind.h>

void bind_terms(nanobind::module_& m);
void bind_scorer(nanobind::module_& m);
void bind_mixture(nanobind::module_& m);
