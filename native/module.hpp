// One binding function for each file of the core.
#pragma once

#include <nanobind/nanobind.h>

void bind_terms(nanobind::module_& m);
void bind_scorer(nanobind::module_& m);
void bind_cells(nanobind::module_& m);
void bind_moments(nanobind::module_& m);
