// The native core: arrays in, arrays out. It checks shapes, releases the GIL and knows nothing of models.
// Each file of the core has one binding function, named in module.hpp.
#include "module.hpp"

NB_MODULE(_native, m) {
    nanobind::set_leak_warnings(false);  // objects that Python itself still holds when it ends are no leaks
    m.doc() = "The native core of plausible: arrays in, arrays out.";
    bind_terms(m);
    bind_scorer(m);
    bind_link(m);
    bind_kept(m);
    bind_cells(m);
    bind_moments(m);
    bind_arrow(m);
    bind_delimited(m);
    bind_histogram(m);
    bind_row_keys(m);
    bind_rows_of_text(m);
    bind_bif(m);
    bind_families(m);
    bind_scores(m);
    bind_junction(m);
    bind_gibbs(m);
    bind_loopy(m);
    bind_rows(m);
    bind_sampling(m);
    bind_gaussians(m);
    bind_sparse(m);
    bind_stars(m);
    bind_bags(m);
}
