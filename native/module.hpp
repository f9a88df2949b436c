// One binding function for each file of the core.
#pragma once

#include <nanobind/nanobind.h>

void bind_terms(nanobind::module_& m);
void bind_scorer(nanobind::module_& m);
void bind_link(nanobind::module_& m);
void bind_kept(nanobind::module_& m);
void bind_cells(nanobind::module_& m);
void bind_moments(nanobind::module_& m);
void bind_arrow(nanobind::module_& m);
void bind_delimited(nanobind::module_& m);
void bind_histogram(nanobind::module_& m);
void bind_row_keys(nanobind::module_& m);
void bind_rows_of_text(nanobind::module_& m);
void bind_bif(nanobind::module_& m);
void bind_families(nanobind::module_& m);
void bind_scores(nanobind::module_& m);
void bind_junction(nanobind::module_& m);
void bind_gibbs(nanobind::module_& m);
void bind_loopy(nanobind::module_& m);
void bind_rows(nanobind::module_& m);
void bind_sampling(nanobind::module_& m);
void bind_gaussians(nanobind::module_& m);
void bind_sparse(nanobind::module_& m);
void bind_stars(nanobind::module_& m);
void bind_bags(nanobind::module_& m);
