// One binding function for each file of the core.
#pragma once

#include <nanobind/nanobind.h>

void bind_bif(nanobind::module_& m);
void bind_families(nanobind::module_& m);
void bind_scores(nanobind::module_& m);
void bind_terms(nanobind::module_& m);
void bind_scorer(nanobind::module_& m);
