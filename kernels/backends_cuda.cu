/* The row of the table of backends that a GPU has. */
#include "kernels/backend_cuda.h"
#include "kernels/backends.h"
#include "kernels/device/device.h"

#include <tuple>

namespace
{

/* A function of the backend, which ends with context and error: its call while no other thread uses
 * the device. */
template <auto FUNCTION> struct in_turn;

template <typename... A, lob_status (*FUNCTION)(A...)> struct in_turn<FUNCTION> {
    static lob_status call(A... a)
    {
        const std::tuple<A...> all(a...);
        lob_device *const device = std::get<sizeof...(A) - 2>(all)->device;
        lob_error *const error = std::get<sizeof...(A) - 1>(all);
        lob_error_begin(error);
        lob_device_begin(device);
        const lob_status st = FUNCTION(a...);
        lob_device_end(device);
        return lob_error_end(error, st);
    }
};

} /* namespace */

/* In the order of lob_backend. */
extern "C" const lob_backend lob_backend_cuda = {
    "cuda",
    in_turn<lob_appearance_cuda>::call,
    in_turn<lob_basins_cuda>::call,
    in_turn<lob_growcut_cuda>::call,
    in_turn<lob_growcut_slabs_cuda>::call,
    in_turn<lob_supervoxels_cuda>::call,
    in_turn<lob_supervoxels_slabs_cuda>::call,
    in_turn<lob_components_cuda>::call,
    in_turn<lob_filter_cuda>::call,
    in_turn<lob_distance_cuda>::call,
    in_turn<lob_labels_cuda>::call,
    in_turn<lob_maxima_cuda>::call,
    in_turn<lob_morphology_cuda>::call,
    in_turn<lob_refine_cuda>::call,
    in_turn<lob_regions_cuda>::call,
    in_turn<lob_resample_cuda>::call,
    in_turn<lob_threshold_cuda>::call,
};
