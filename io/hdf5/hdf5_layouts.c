/* The table of layouts, in the order in which they look at a file. */
#include "io/hdf5/hdf5_parts.h"

/* The last takes whatever data set there is, or says what there is to choose from. */
static const lob_hdf5_layout *const layouts[] = {&lob_hdf5_itk,  &lob_hdf5_minc, &lob_hdf5_imaris,
                                                 &lob_hdf5_bdv,  &lob_hdf5_mrd,  &lob_hdf5_nexus,
                                                 &lob_hdf5_plain};

lob_status lob_hdf5_find(lob_hdf5_view *view, const lob_hdf5_layout **layout,
                         const lob_hdf5_reading *in)
{
    char asked[LOB_HDF5_PATH], path[LOB_HDF5_PATH] = "";
    lob_status st = lob_hdf5_asked(asked, in);
    const hid_t object = st == LOB_OK ? lob_hdf5_demand(in, asked) : -1;
    if (object < 0) return LOB_EDATA;
    H5Oclose(object);
    for (size_t i = 0; st == LOB_OK && !path[0] && i < sizeof layouts / sizeof layouts[0]; i++) {
        *layout = layouts[i];
        st = layouts[i]->find(path, asked, in);
    }
    return st == LOB_OK ? (*layout)->view(view, path, in) : st;
}
