"""The library's structures, constants and functions, for ctypes.

Made from the public headers by make_abi.py; not edited by hand.
"""

# fmt: off
from ctypes import (
    CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32,
    c_int64, c_size_t, c_ubyte, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p,
)

VERSION = "0.1.0"


class lob_geometry(Structure):
    _fields_ = [
        ("affine", c_double * 4 * 3),
        ("spacing_mm", c_double * 3),
        ("unoriented", c_bool),
        ("micrometres", c_bool),
    ]


LOB_SAGITTAL = 0
LOB_CORONAL = LOB_SAGITTAL + 1
LOB_AXIAL = LOB_CORONAL + 1
LOB_OK = 0
LOB_EDIFFER = LOB_OK + 1
LOB_EARG = LOB_EDIFFER + 1
LOB_EDATA = LOB_EARG + 1
LOB_ENOINPUT = LOB_EDATA + 1
LOB_EDEVICE = LOB_ENOINPUT + 1
LOB_EINTERNAL = LOB_EDEVICE + 1
LOB_EEXIST = LOB_EINTERNAL + 1
LOB_ECREATE = LOB_EEXIST + 1
LOB_EIO = LOB_ECREATE + 1
LOB_ENOMEM = LOB_EIO + 1
LOB_EBUSY = LOB_ENOMEM + 1
LOB_ECANCEL = LOB_EBUSY + 1
LOB_HINT_NONE = 0
LOB_HINT_USE_CPU = LOB_HINT_NONE + 1
LOB_HINT_BUILD_GPU = LOB_HINT_USE_CPU + 1
LOB_HINT_LESS_MEMORY = LOB_HINT_BUILD_GPU + 1
LOB_HINT_MORE_MEMORY = LOB_HINT_LESS_MEMORY + 1
LOB_HINT_RAISE_MEMORY = LOB_HINT_MORE_MEMORY + 1
LOB_HINT_REPLACE = LOB_HINT_RAISE_MEMORY + 1
LOB_HINT_CHOOSE_FRAME = LOB_HINT_REPLACE + 1
LOB_HINT_CHOOSE_SET = LOB_HINT_CHOOSE_FRAME + 1
LOB_HINT_SAVE_FRAME = LOB_HINT_CHOOSE_SET + 1
LOB_HINT_RESAMPLE = LOB_HINT_SAVE_FRAME + 1
LOB_HINT_CONVERT = LOB_HINT_RESAMPLE + 1
LOB_HINT_GIVE_SIZE = LOB_HINT_CONVERT + 1
LOB_HINT_COARSER = LOB_HINT_GIVE_SIZE + 1
LOB_HINTS = LOB_HINT_COARSER + 1


class lob_error(Structure):
    _fields_ = [
        ("text", c_char * 1024),
        ("hint", c_int),
    ]


class lob_rgba(Structure):
    _fields_ = [
        ("red", c_uint8),
        ("green", c_uint8),
        ("blue", c_uint8),
        ("alpha", c_uint8),
    ]


class lob_label_name(Structure):
    _fields_ = [
        ("label", c_int32),
        ("name", c_void_p),
        ("colour", lob_rgba),
        ("terminology", c_void_p),
    ]


class lob_label_names(Structure):
    _fields_ = [
        ("rows", POINTER(lob_label_name)),
        ("count", c_int32),
    ]


LOB_LABEL_NAMES_MAX = (1 << 20)
LOB_PLACE_MEMORY = 0
LOB_PLACE_CUDA = LOB_PLACE_MEMORY + 1


class lob_place(Structure):
    _fields_ = [
        ("kind", c_int32),
        ("number", c_int32),
    ]


LOB_U8 = 0
LOB_I8 = LOB_U8 + 1
LOB_U16 = LOB_I8 + 1
LOB_I16 = LOB_U16 + 1
LOB_U32 = LOB_I16 + 1
LOB_I32 = LOB_U32 + 1
LOB_U64 = LOB_I32 + 1
LOB_I64 = LOB_U64 + 1
LOB_F32 = LOB_I64 + 1
LOB_F64 = LOB_F32 + 1
LOB_TYPES = LOB_F64 + 1


class lob_type_info(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("bytes", c_size_t),
        ("is_integer", c_bool),
        ("lowest", c_double),
        ("highest", c_double),
    ]


class lob_dims(Structure):
    _fields_ = [
        ("nx", c_int64),
        ("ny", c_int64),
        ("nz", c_int64),
    ]


class lob_header(Structure):
    _fields_ = [
        ("format", c_char_p),
        ("bytes", c_void_p),
        ("size", c_size_t),
        ("extensions", c_void_p),
        ("extensions_size", c_size_t),
    ]


LOB_FRAME_ALL = -3


class lob_volume(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("place", lob_place),
        ("type", c_int),
        ("dims", lob_dims),
        ("channels", c_int),
        ("slope", c_double),
        ("inter", c_double),
        ("geometry", lob_geometry),
        ("header", lob_header),
        ("frames", c_int64),
        ("frame", c_int64),
        ("frame_step_s", c_double),
        ("names", lob_label_names),
        ("release", CFUNCTYPE(None, c_void_p, c_void_p)),
        ("owner", c_void_p),
        ("borrowed", c_bool),
    ]


class lob_box(Structure):
    _fields_ = [
        ("first", c_int64 * 3),
        ("size", c_int64 * 3),
    ]


class lob_label_set(Structure):
    _fields_ = [
        ("count", c_int32),
        ("values", c_void_p),
        ("voxels", c_void_p),
    ]


class lob_turn(Structure):
    _fields_ = [
        ("axis", c_int * 3),
        ("backwards", c_bool * 3),
    ]


LOB_FRAME_UNSAID = -1
LOB_FRAME_NONE = -2


class lob_read_options(Structure):
    _fields_ = [
        ("frame", c_int64),
        ("max_memory", c_int64),
        ("threads", c_int),
        ("header_only", c_bool),
    ]


class lob_file_info(Structure):
    _fields_ = [
        ("format", c_char_p),
        ("file_bytes", c_int64),
        ("inflate_s", c_double),
        ("read_s", c_double),
        ("warnings", c_int),
        ("warning", c_char * 512 * 4),
    ]


class lob_data_set(Structure):
    _fields_ = [
        ("path", c_char * 512),
        ("shape", c_char * 128),
        ("type", c_char * 16),
    ]


class lob_write_options(Structure):
    _fields_ = [
        ("force", c_bool),
        ("labels", c_bool),
        ("strip_extensions", c_bool),
        ("comment", c_char_p),
        ("threads", c_int),
        ("level", c_int),
        ("compress_s", c_void_p),
    ]


class lob_context(Structure):
    _fields_ = [
        ("threads", c_int),
        ("max_memory", c_int64),
        ("device", c_void_p),
        ("progress", CFUNCTYPE(c_int, c_void_p, c_double)),
        ("user", c_void_p),
    ]


LOB_APPEARANCE_MAX_LABELS = 65
LOB_APPEARANCE_MAX_VIEWS = 64
LOB_APPEARANCE_MAX_BINS = 1024


class lob_appearance_options(Structure):
    _fields_ = [
        ("bins", c_int),
        ("bin_sigma", c_double),
        ("whole", c_double),
        ("far", c_double),
        ("far_quantile", c_double),
        ("shape", c_double),
        ("shape_mm", c_double),
        ("shape_widen", c_double),
        ("shape_slope", c_double),
    ]


class lob_appearance_input(Structure):
    _fields_ = [
        ("views", POINTER(POINTER(lob_volume))),
        ("view_count", c_int),
        ("seeds", c_void_p),
        ("seed_type", c_int),
        ("labels", c_int32),
        ("background", c_int32),
        ("outline", c_void_p),
        ("outline_type", c_int),
        ("place", lob_place),
    ]


class lob_appearance_stats(Structure):
    _fields_ = [
        ("axis", c_int),
        ("slices", c_int64),
        ("working_bytes", c_int64),
    ]


class lob_fine_levels(Structure):
    _fields_ = [
        ("exact", c_bool),
        ("low_bits", c_uint64),
        ("low", c_double),
        ("per_unit", c_double),
    ]


class lob_region(Structure):
    _fields_ = [
        ("voxels", c_int64),
        ("first", c_int64),
        ("low", c_int32 * 3),
        ("high", c_int32 * 3),
        ("sum", c_int64 * 3),
    ]


class lob_region_values(Structure):
    _fields_ = [
        ("data", c_int64),
        ("fine", c_uint64),
        ("square", c_uint64 * 2),
        ("lowest", c_double),
        ("highest", c_double),
    ]


class lob_regions_input(Structure):
    _fields_ = [
        ("labels", c_void_p),
        ("type", c_int),
        ("count", c_int64),
        ("dims", lob_dims),
        ("image", POINTER(lob_volume)),
        ("place", lob_place),
    ]


class lob_region_measures(Structure):
    _fields_ = [
        ("mm3", c_double),
        ("centroid", c_double * 3),
        ("centroid_mm", c_double * 3),
        ("lowest", c_double),
        ("mean", c_double),
        ("highest", c_double),
        ("deviation", c_double),
    ]


LOB_JOIN_ANY = 0
LOB_JOIN_EQUAL = LOB_JOIN_ANY + 1
LOB_JOIN_TOLERANCE = LOB_JOIN_EQUAL + 1
LOB_ORDER_RASTER = 0
LOB_ORDER_SIZE = LOB_ORDER_RASTER + 1


class lob_components_options(Structure):
    _fields_ = [
        ("join", c_int),
        ("tolerance", c_double),
        ("ranged", c_bool),
        ("range", c_double * 2),
        ("neighbours", c_int),
        ("slice_axis", c_int),
        ("order", c_int),
        ("min_voxels", c_int64),
        ("max_voxels", c_int64),
        ("largest", c_int64),
        ("fill_holes", c_bool),
        ("keep_values", c_bool),
        ("regions", c_bool),
        ("type", c_int),
    ]


LOB_COMPONENTS_MAX_CHANNELS = 64


class lob_components_input(Structure):
    _fields_ = [
        ("image", POINTER(lob_volume)),
        ("mask", c_void_p),
        ("intensities", POINTER(lob_volume)),
        ("place", lob_place),
    ]


class lob_components_output(Structure):
    _fields_ = [
        ("labels", c_void_p),
        ("type", c_int),
        ("count", c_int64),
        ("found", c_int64),
        ("foreground", c_int64),
        ("not_finite", c_int64),
        ("regions", POINTER(lob_region)),
        ("values", POINTER(lob_region_values)),
        ("fine", lob_fine_levels),
        ("member", c_void_p),
        ("working_bytes", c_int64),
        ("device", c_void_p),
    ]


LOB_DISTANCE_TO_SET = 0
LOB_DISTANCE_SIGNED = LOB_DISTANCE_TO_SET + 1
LOB_DISTANCE_TO_OTHER = LOB_DISTANCE_SIGNED + 1
LOB_DISTANCES = LOB_DISTANCE_TO_OTHER + 1


class lob_distance_input(Structure):
    _fields_ = [
        ("labels", c_void_p),
        ("type", c_int),
        ("dims", lob_dims),
        ("spacing", c_double * 3),
        ("only", c_uint32),
        ("place", lob_place),
    ]


LOB_DISTANCE_MAX_SIDE = 65535


class lob_distance_options(Structure):
    _fields_ = [
        ("kind", c_int),
        ("max", c_double),
        ("squared", c_bool),
    ]


class lob_distance_output(Structure):
    _fields_ = [
        ("distance", c_void_p),
        ("feature", c_void_p),
    ]


LOB_FILTER_GAUSSIAN = 0
LOB_FILTER_GRADIENT = LOB_FILTER_GAUSSIAN + 1
LOB_FILTER_LAPLACIAN = LOB_FILTER_GRADIENT + 1
LOB_FILTER_BOX = LOB_FILTER_LAPLACIAN + 1
LOB_FILTER_MEDIAN = LOB_FILTER_BOX + 1
LOB_FILTER_DENOISE = LOB_FILTER_MEDIAN + 1
LOB_FILTER_CLAMP = LOB_FILTER_DENOISE + 1
LOB_FILTER_SCALE = LOB_FILTER_CLAMP + 1
LOB_FILTER_GRAY = LOB_FILTER_SCALE + 1
LOB_FILTER_DESATURATE = LOB_FILTER_GRAY + 1
LOB_FILTER_CAST = LOB_FILTER_DESATURATE + 1
LOB_FILTERS = LOB_FILTER_CAST + 1
LOB_EDGE_RENORMALISE = 0
LOB_EDGE_NEAREST = LOB_EDGE_RENORMALISE + 1
LOB_EDGE_REFLECT = LOB_EDGE_NEAREST + 1
LOB_EDGE_MIRROR = LOB_EDGE_REFLECT + 1
LOB_EDGE_WRAP = LOB_EDGE_MIRROR + 1
LOB_EDGE_CONSTANT = LOB_EDGE_WRAP + 1


class lob_filter_step(Structure):
    _fields_ = [
        ("kind", c_int),
        ("along", c_double * 3),
        ("low", c_double),
        ("high", c_double),
        ("percent", c_bool),
        ("factor", c_double),
        ("offset", c_double),
        ("amount", c_double),
        ("noise", c_double),
        ("type", c_int),
    ]


class lob_filter_options(Structure):
    _fields_ = [
        ("edge", c_int),
        ("edge_value", c_double),
        ("exact", c_bool),
    ]


LOB_FILTER_MAX_STEPS = 64
LOB_FILTER_MAX_CHANNELS = 64
LOB_FILTER_MAX_ALONG = 1000


class lob_filter_input(Structure):
    _fields_ = [
        ("image", POINTER(lob_volume)),
        ("mask", c_void_p),
        ("steps", POINTER(lob_filter_step)),
        ("step_count", c_int),
        ("place", lob_place),
    ]


class lob_filter_stream(Structure):
    _fields_ = [
        ("slabs", c_int64),
        ("upload_s", c_double),
        ("compute_s", c_double),
        ("download_s", c_double),
        ("wall_s", c_double),
    ]


class lob_filter_output(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("type", c_int),
        ("channels", c_int),
        ("clamps", c_double * 2 * LOB_FILTER_MAX_STEPS),
        ("noise", c_double * LOB_FILTER_MAX_STEPS),
        ("not_data", c_int64),
        ("working_bytes", c_int64),
        ("stream", lob_filter_stream),
        ("device", c_void_p),
    ]


LOB_RULE_STRENGTH = 0
LOB_RULE_DISTANCE = LOB_RULE_STRENGTH + 1
LOB_RULE_FLOOD = LOB_RULE_DISTANCE + 1
LOB_RULE_VALUE = LOB_RULE_FLOOD + 1
LOB_RULE_SQUARE = LOB_RULE_VALUE + 1
LOB_NORM_L2 = 0
LOB_NORM_L1 = LOB_NORM_L2 + 1
LOB_NORM_LINF = LOB_NORM_L1 + 1
LOB_NORM_ALPHAMAX = LOB_NORM_LINF + 1


class lob_growcut_options(Structure):
    _fields_ = [
        ("rule", c_int),
        ("norm", c_int),
        ("neighbours", c_int),
        ("slice_axis", c_int),
        ("penalty", c_double),
        ("range", c_double * 2),
        ("min_strength", c_double),
        ("max_cost", c_double),
        ("rounds", c_int),
        ("tile", c_int),
        ("key_bits", c_int),
    ]


LOB_GROWCUT_MAX_CHANNELS = 64


class lob_growcut_input(Structure):
    _fields_ = [
        ("image", POINTER(lob_volume)),
        ("seeds", POINTER(lob_volume)),
        ("labels", c_int32),
        ("mask", c_void_p),
        ("seed_strength", c_void_p),
        ("place", lob_place),
    ]


class lob_growcut_output(Structure):
    _fields_ = [
        ("labels", c_void_p),
        ("strength", c_void_p),
        ("tie", c_void_p),
    ]


class lob_growcut_stats(Structure):
    _fields_ = [
        ("data_voxels", c_int64),
        ("not_finite", c_int64),
        ("seeds", c_int64),
        ("seeds_outside", c_int64),
        ("reached", c_int64),
        ("ties", c_int64),
        ("rounds", c_int64),
        ("fixed_point", c_bool),
        ("largest_cost", c_double),
        ("level_step", c_double),
        ("key_bits", c_int),
        ("working_bytes", c_int64),
    ]


LOB_LABELS_RECODE = 0
LOB_LABELS_SEQUENTIAL = LOB_LABELS_RECODE + 1
LOB_LABELS_SPLIT = LOB_LABELS_SEQUENTIAL + 1
LOB_LABELS_LARGEST = LOB_LABELS_SPLIT + 1
LOB_LABELS_MIN_SIZE = LOB_LABELS_LARGEST + 1
LOB_LABELS_FILL_HOLES = LOB_LABELS_MIN_SIZE + 1
LOB_LABELS_BOUNDARY = LOB_LABELS_FILL_HOLES + 1
LOB_LABELS_SMOOTH = LOB_LABELS_BOUNDARY + 1
LOB_LABELS_MEDIAN = LOB_LABELS_SMOOTH + 1
LOB_LABELS_ERODE = LOB_LABELS_MEDIAN + 1
LOB_LABELS_DILATE = LOB_LABELS_ERODE + 1
LOB_LABELS_OPEN = LOB_LABELS_DILATE + 1
LOB_LABELS_CLOSE = LOB_LABELS_OPEN + 1
LOB_LABELS_STEPS = LOB_LABELS_CLOSE + 1
LOB_LABELS_MAX_STEPS = 64
LOB_LABELS_MAX_RADIUS = 250
LOB_LABELS_SAME = -1


class lob_labels_rule(Structure):
    _fields_ = [
        ("first", c_int32),
        ("last", c_int32),
        ("to", c_int32),
    ]


class lob_labels_step(Structure):
    _fields_ = [
        ("kind", c_int),
        ("rules", POINTER(lob_labels_rule)),
        ("rule_count", c_int64),
        ("rest", c_int32),
        ("count", c_int64),
        ("length", c_double),
        ("voxels", c_bool),
    ]


class lob_labels_options(Structure):
    _fields_ = [
        ("neighbours", c_int),
        ("slice_axis", c_int),
    ]


class lob_labels_input(Structure):
    _fields_ = [
        ("labels", c_void_p),
        ("type", c_int),
        ("count", c_int32),
        ("values", c_void_p),
        ("dims", lob_dims),
        ("spacing_mm", c_double * 3),
        ("mask", c_void_p),
        ("steps", POINTER(lob_labels_step)),
        ("step_count", c_int),
        ("place", lob_place),
    ]


class lob_labels_pair(Structure):
    _fields_ = [
        ("from", c_int32),
        ("to", c_int32),
    ]


class lob_labels_done(Structure):
    _fields_ = [
        ("labels", c_int32),
        ("pieces", c_int64),
        ("kept", c_int64),
        ("pairs", POINTER(lob_labels_pair)),
        ("pair_count", c_int64),
    ]


class lob_labels_output(Structure):
    _fields_ = [
        ("labels", c_void_p),
        ("type", c_int),
        ("count", c_int32),
        ("done", lob_labels_done * LOB_LABELS_MAX_STEPS),
        ("working_bytes", c_int64),
        ("device", c_void_p),
    ]


LOB_MORPHOLOGY_DILATE = 0
LOB_MORPHOLOGY_ERODE = LOB_MORPHOLOGY_DILATE + 1
LOB_MORPHOLOGY_OPEN = LOB_MORPHOLOGY_ERODE + 1
LOB_MORPHOLOGY_CLOSE = LOB_MORPHOLOGY_OPEN + 1


class lob_morphology_input(Structure):
    _fields_ = [
        ("labels", c_void_p),
        ("type", c_int),
        ("dims", lob_dims),
        ("spacing", c_double * 3),
        ("place", lob_place),
    ]


LOB_REFINE_MAX_CHANNELS = (LOB_FILTER_MAX_CHANNELS - 1)


class lob_refine_options(Structure):
    _fields_ = [
        ("smooth_mm", c_double),
        ("edge", c_double),
        ("edge_mm", c_double),
        ("edge_smooth_mm", c_double),
    ]


class lob_refine_input(Structure):
    _fields_ = [
        ("image", POINTER(lob_volume)),
        ("labels", c_void_p),
        ("labels_type", c_int),
        ("seeds", c_void_p),
        ("seeds_type", c_int),
        ("label_count", c_int32),
        ("background", c_int32),
        ("place", lob_place),
    ]


class lob_refine_stats(Structure):
    _fields_ = [
        ("changed", c_int64),
        ("pieces", c_int64),
        ("filled", c_int64),
        ("working_bytes", c_int64),
    ]


LOB_RESAMPLE_NEAREST = 0
LOB_RESAMPLE_LINEAR = LOB_RESAMPLE_NEAREST + 1
LOB_RESAMPLE_MAJORITY = LOB_RESAMPLE_LINEAR + 1
LOB_RESAMPLE_STROKES = LOB_RESAMPLE_MAJORITY + 1


class lob_resample_options(Structure):
    _fields_ = [
        ("method", c_int),
        ("fill", c_double),
    ]


class lob_resample_input(Structure):
    _fields_ = [
        ("volume", POINTER(lob_volume)),
        ("dims", lob_dims),
        ("geometry", lob_geometry),
        ("place", lob_place),
    ]


LOB_RESAMPLE_MAX_LABELS = 64
LOB_SLIC = 0
LOB_SLICO = LOB_SLIC + 1
LOB_LSC = LOB_SLICO + 1


class lob_supervoxels_options(Structure):
    _fields_ = [
        ("method", c_int),
        ("slice_axis", c_int),
        ("size_mm", c_double),
        ("count", c_int64),
        ("compactness", c_double),
        ("ratio", c_double),
        ("iterations", c_int),
        ("until_still", c_bool),
        ("lab", c_bool),
        ("range", c_double * 2),
        ("smallest", c_double),
    ]


LOB_SUPERVOXELS_MAX_CHANNELS = 16


class lob_supervoxels_input(Structure):
    _fields_ = [
        ("image", POINTER(lob_volume)),
        ("mask", c_void_p),
        ("place", lob_place),
    ]


class lob_supervoxels_stats(Structure):
    _fields_ = [
        ("supervoxels", c_int64),
        ("cells", c_int64 * 3),
        ("size_mm", c_double),
        ("data_voxels", c_int64),
        ("not_finite", c_int64),
        ("fragments", c_int64),
        ("iterations", c_int),
        ("working_bytes", c_int64),
    ]


LOB_THRESHOLD_ABOVE = 0
LOB_THRESHOLD_RANGE = LOB_THRESHOLD_ABOVE + 1
LOB_THRESHOLD_PERCENTILE = LOB_THRESHOLD_RANGE + 1
LOB_THRESHOLD_OTSU = LOB_THRESHOLD_PERCENTILE + 1
LOB_THRESHOLDS = LOB_THRESHOLD_OTSU + 1
LOB_THRESHOLD_MAX_CLASSES = 16


class lob_threshold_options(Structure):
    _fields_ = [
        ("kind", c_int),
        ("above", c_double),
        ("low", c_double),
        ("high", c_double),
        ("percent", c_double),
        ("classes", c_int),
    ]


class lob_threshold_input(Structure):
    _fields_ = [
        ("image", POINTER(lob_volume)),
        ("mask", c_void_p),
        ("place", lob_place),
    ]


class lob_threshold_stats(Structure):
    _fields_ = [
        ("thresholds", c_int),
        ("threshold", c_double * (LOB_THRESHOLD_MAX_CLASSES - 1)),
        ("separability", c_double),
        ("working_bytes", c_int64),
    ]


class lob_backend(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("appearance", CFUNCTYPE(c_int, c_void_p, POINTER(lob_appearance_stats), POINTER(lob_appearance_input), POINTER(lob_appearance_options), POINTER(lob_context), POINTER(lob_error))),
        ("growcut", CFUNCTYPE(c_int, POINTER(lob_growcut_output), POINTER(lob_growcut_stats), POINTER(lob_growcut_input), POINTER(lob_growcut_options), POINTER(lob_context), POINTER(lob_error))),
        ("supervoxels", CFUNCTYPE(c_int, c_void_p, POINTER(lob_supervoxels_stats), POINTER(lob_supervoxels_input), POINTER(lob_supervoxels_options), POINTER(lob_context), POINTER(lob_error))),
        ("components", CFUNCTYPE(c_int, POINTER(lob_components_output), POINTER(lob_components_input), POINTER(lob_components_options), POINTER(lob_context), POINTER(lob_error))),
        ("filter", CFUNCTYPE(c_int, POINTER(lob_filter_output), POINTER(lob_filter_input), POINTER(lob_filter_options), POINTER(lob_context), POINTER(lob_error))),
        ("distance", CFUNCTYPE(c_int, POINTER(lob_distance_output), POINTER(lob_distance_input), POINTER(lob_distance_options), POINTER(lob_context), POINTER(lob_error))),
        ("labels", CFUNCTYPE(c_int, POINTER(lob_labels_output), POINTER(lob_labels_input), POINTER(lob_labels_options), POINTER(lob_context), POINTER(lob_error))),
        ("morphology", CFUNCTYPE(c_int, c_void_p, POINTER(lob_morphology_input), c_int, c_double, POINTER(lob_context), POINTER(lob_error))),
        ("refine", CFUNCTYPE(c_int, c_void_p, POINTER(lob_refine_stats), POINTER(lob_refine_input), POINTER(lob_refine_options), POINTER(lob_context), POINTER(lob_error))),
        ("regions", CFUNCTYPE(c_int, POINTER(lob_region), POINTER(lob_region_values), POINTER(lob_fine_levels), POINTER(lob_regions_input), POINTER(lob_context), POINTER(lob_error))),
        ("resample", CFUNCTYPE(c_int, c_void_p, POINTER(lob_resample_input), POINTER(lob_resample_options), POINTER(lob_context), POINTER(lob_error))),
        ("threshold", CFUNCTYPE(c_int, c_void_p, POINTER(lob_threshold_stats), POINTER(lob_threshold_input), POINTER(lob_threshold_options), POINTER(lob_context), POINTER(lob_error))),
    ]


LOB_DEVICE_IDENTITY = 40


class lob_device_traffic(Structure):
    _fields_ = [
        ("upload_s", c_double),
        ("download_s", c_double),
        ("wait_s", c_double),
        ("turns_s", c_double),
        ("upload_bytes", c_int64),
        ("download_bytes", c_int64),
    ]


class lob_strokes(Structure):
    _fields_ = [
        ("dims", lob_dims),
        ("labels", c_int32),
        ("across", c_void_p),
    ]


class lob_components_stream(Structure):
    _fields_ = [
        ("read", CFUNCTYPE(c_int, c_void_p, POINTER(lob_components_input), c_int64, c_int64, POINTER(lob_error))),
        ("begin", CFUNCTYPE(c_int, c_void_p, POINTER(lob_components_output), c_int64, POINTER(lob_error))),
        ("write", CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64, c_int64, POINTER(lob_error))),
        ("user", c_void_p),
    ]


class lob_cells_options(Structure):
    _fields_ = [
        ("walls", c_bool),
        ("size_mm", c_double),
        ("smooth", c_double),
        ("around", c_double),
        ("bright", c_double),
        ("apart", c_double),
        ("seeds", c_double),
        ("wall", c_double),
        ("least", c_double),
    ]


class lob_cells_plan(Structure):
    _fields_ = [
        ("walls", c_bool),
        ("estimated", c_bool),
        ("size_mm", c_double),
        ("threshold", c_double),
        ("contrast", c_double),
        ("smooth_mm", c_double),
        ("brightest", c_double),
        ("around_mm", c_double),
        ("offset", c_double),
        ("depth_mm", c_double),
        ("apart_mm", c_double),
        ("height", c_double),
        ("wall", c_double),
        ("wall_level", c_double),
        ("least_mm3", c_double),
    ]


class lob_cells_stats(Structure):
    _fields_ = [
        ("cells", c_int32),
        ("seeds", c_int64),
        ("not_finite", c_int64),
        ("working_bytes", c_int64),
    ]


class lob_label_grid(Structure):
    _fields_ = [
        ("labels", c_void_p),
        ("type", c_int),
        ("count", c_int64),
        ("dims", lob_dims),
    ]


class lob_contact(Structure):
    _fields_ = [
        ("a", c_int32),
        ("b", c_int32),
        ("faces", c_int64 * 3),
        ("mm2", c_double),
        ("difference", c_double),
    ]


class lob_basins_options(Structure):
    _fields_ = [
        ("height", c_double),
        ("share", c_double),
        ("level", c_double),
    ]


class lob_basins_stats(Structure):
    _fields_ = [
        ("basins", c_int64),
        ("left", c_int64),
        ("contacts", c_int64),
        ("working_bytes", c_int64),
    ]


class lob_histogram_input(Structure):
    _fields_ = [
        ("image", POINTER(lob_volume)),
        ("channel", c_int),
        ("mask", c_void_p),
    ]


LOB_HISTOGRAM_BINS = 256
LOB_HISTOGRAM_MAX_BINS = 65536
LOB_PERCENTILES_MAX = 32


class lob_histogram_bins(Structure):
    _fields_ = [
        ("exact", c_bool),
        ("count", c_int),
        ("low", c_double),
        ("high", c_double),
        ("low_bits", c_uint64),
        ("edge", c_double * (LOB_HISTOGRAM_BINS + 1)),
        ("values", c_int64),
        ("not_finite", c_int64),
    ]


class lob_maxima_options(Structure):
    _fields_ = [
        ("above", c_double),
        ("height", c_double),
        ("apart", c_double),
        ("spacing", c_double * 3),
        ("neighbours", c_int),
        ("slice_axis", c_int),
    ]


class lob_maxima_input(Structure):
    _fields_ = [
        ("image", POINTER(lob_volume)),
        ("mask", c_void_p),
    ]


class lob_maximum(Structure):
    _fields_ = [
        ("first", c_int64),
        ("voxels", c_int64),
        ("value", c_double),
    ]


class lob_maxima_output(Structure):
    _fields_ = [
        ("labels", c_void_p),
        ("maxima", POINTER(lob_maximum)),
        ("count", c_int64),
        ("found", c_int64),
        ("working_bytes", c_int64),
    ]


LOB_INSTANCES_MATCH = 1
LOB_INSTANCES_SPLIT = 2
LOB_INSTANCES_MERGE = 4
LOB_INSTANCES_THRESHOLDS = 10


class lob_instances_pair(Structure):
    _fields_ = [
        ("truth", c_int32),
        ("label", c_int32),
        ("marks", c_int32),
        ("common", c_int64),
    ]


class lob_instances(Structure):
    _fields_ = [
        ("truth_count", c_int64),
        ("label_count", c_int64),
        ("truth_voxels", c_void_p),
        ("label_voxels", c_void_p),
        ("pairs", POINTER(lob_instances_pair)),
        ("pair_count", c_int64),
    ]


class lob_instances_at(Structure):
    _fields_ = [
        ("percent", c_int),
        ("matched", c_int64),
        ("extra", c_int64),
        ("missed", c_int64),
        ("precision", c_double),
        ("recall", c_double),
        ("f1", c_double),
        ("average_precision", c_double),
        ("matched_iou", c_double),
        ("panoptic_quality", c_double),
    ]


class lob_instances_scores(Structure):
    _fields_ = [
        ("truths", c_int64),
        ("labels", c_int64),
        ("splits", c_int64),
        ("merges", c_int64),
        ("rand_error", c_double),
        ("rand_precision", c_double),
        ("rand_recall", c_double),
        ("voi_split", c_double),
        ("voi_merge", c_double),
        ("voi_split_inside", c_double),
        ("voi_merge_inside", c_double),
        ("at", lob_instances_at * LOB_INSTANCES_THRESHOLDS),
    ]


class lob_overlap(Structure):
    _fields_ = [
        ("label", c_int32),
        ("voxels_a", c_int64),
        ("voxels_b", c_int64),
        ("common", c_int64),
        ("dice", c_double),
        ("jaccard", c_double),
        ("hd95_mm", c_double),
        ("mean_surface_mm", c_double),
        ("volume_a_mm3", c_double),
        ("volume_b_mm3", c_double),
    ]


LOB_PARTITION_MAX_CHANNELS = 64


class lob_partition(Structure):
    _fields_ = [
        ("voxels", c_int64),
        ("supervoxels", c_int64),
        ("regions", c_int64),
        ("boundary_recall", c_double),
        ("under_segmentation", c_double),
        ("under_segmentation_np", c_double),
        ("achievable_accuracy", c_double),
        ("explained_variation", c_double),
        ("compactness", c_double),
        ("contour_density", c_double),
    ]


class lob_partition_input(Structure):
    _fields_ = [
        ("labels", POINTER(lob_volume)),
        ("label_count", c_int64),
        ("truth", POINTER(lob_volume)),
        ("truth_count", c_int64),
        ("image", POINTER(lob_volume)),
    ]


class lob_partition_options(Structure):
    _fields_ = [
        ("tolerance", c_double),
        ("in_voxels", c_bool),
        ("slice_axis", c_int),
    ]


LOB_PHANTOM_ABDOMEN = 0
LOB_PHANTOM_CELLS = LOB_PHANTOM_ABDOMEN + 1
LOB_PHANTOMS = LOB_PHANTOM_CELLS + 1
LOB_ABDOMEN_OTHER = 1
LOB_ABDOMEN_LIVER = 2
LOB_ABDOMEN_TUMOUR = 3
LOB_ABDOMEN_SPLEEN = 4
LOB_ABDOMEN_KIDNEY_R = 5
LOB_ABDOMEN_KIDNEY_L = 6
LOB_ABDOMEN_SPINE = 7
LOB_ABDOMEN_STOMACH = 8
LOB_ABDOMEN_LABELS = LOB_ABDOMEN_STOMACH


class lob_phantom_options(Structure):
    _fields_ = [
        ("kind", c_int),
        ("dims", lob_dims),
        ("spacing_mm", c_double * 3),
        ("type", c_int),
        ("noise", c_double),
        ("bias", c_double),
        ("random_seed", c_uint64),
        ("stroke_gap", c_double),
        ("cells", c_int),
        ("nuclei", c_bool),
    ]


LOB_BORDER_DIRECTIONS = 13


class lob_region_moments(Structure):
    _fields_ = [
        ("second", c_int64 * 6),
    ]


class lob_region_border(Structure):
    _fields_ = [
        ("crossings", c_int64 * LOB_BORDER_DIRECTIONS),
        ("euler", c_int64),
    ]


class lob_region_slices(Structure):
    _fields_ = [
        ("slices", c_int64),
        ("largest", c_int64),
        ("where", c_int64),
    ]


LOB_PERCENTILES = 5


class lob_shape_frame(Structure):
    _fields_ = [
        ("geometry", POINTER(lob_geometry)),
        ("flat", c_int),
        ("cell_mm", c_double),
        ("weight_mm", c_double * LOB_BORDER_DIRECTIONS),
    ]


class lob_region_hull(Structure):
    _fields_ = [
        ("voxels", c_double),
        ("feret_mm", c_double),
    ]


class lob_region_shape(Structure):
    _fields_ = [
        ("equivalent_diameter_mm", c_double),
        ("extent", c_double),
        ("axis_mm", c_double * 3),
        ("direction", c_double * 3 * 3),
        ("elongation", c_double),
        ("flatness", c_double),
        ("surface_mm2", c_double),
        ("sphericity", c_double),
        ("euler", c_double),
    ]


# name: (what it returns, what it takes)
FUNCTIONS = {
    "lob_geometry_of_spacing": (lob_geometry, [c_void_p]),
    "lob_geometry_of_affine": (c_bool, [POINTER(lob_geometry), c_void_p]),
    "lob_voxel_mm3": (c_double, [POINTER(lob_geometry)]),
    "lob_face_mm2": (c_double, [POINTER(lob_geometry), c_int]),
    "lob_shows_micrometres": (c_bool, [POINTER(lob_geometry)]),
    "lob_voxel_to_world": (None, [c_void_p, POINTER(lob_geometry), c_void_p]),
    "lob_world_to_voxel": (None, [c_void_p, POINTER(lob_geometry), c_void_p]),
    "lob_orientation": (None, [c_void_p, POINTER(lob_geometry)]),
    "lob_anatomical_axis": (c_int, [POINTER(lob_geometry), c_int]),
    "lob_status_text": (c_char_p, [c_int]),
    "lob_status_exit_code": (c_int, [c_int]),
    "lob_label_names_put": (c_int, [POINTER(lob_label_names), c_int32, c_char_p, POINTER(lob_rgba), c_char_p]),
    "lob_label_names_add": (c_int, [POINTER(lob_label_names), c_int32, c_char_p, POINTER(lob_rgba), c_char_p]),
    "lob_label_names_settle": (c_int, [POINTER(lob_label_names)]),
    "lob_label_names_find": (POINTER(lob_label_name), [POINTER(lob_label_names), c_int32]),
    "lob_label_names_copy": (c_int, [POINTER(lob_label_names), POINTER(lob_label_names)]),
    "lob_label_names_free": (None, [POINTER(lob_label_names)]),
    "lob_label_default_colour": (lob_rgba, [c_int32]),
    "lob_type_of": (POINTER(lob_type_info), [c_int]),
    "lob_type_named": (c_int, [c_char_p]),
    "lob_values": (None, [c_void_p, c_void_p, c_int, c_int64, c_int64]),
    "lob_volume_empty": (lob_volume, []),
    "lob_product": (c_int64, [c_int64, c_int64, c_int64, c_int64]),
    "lob_dims_voxels": (c_int64, [lob_dims]),
    "lob_as_compared": (c_double, [c_double, POINTER(lob_volume)]),
    "lob_next_above": (c_double, [c_double, POINTER(lob_volume)]),
    "lob_least_spacing": (c_double, [lob_dims, c_void_p]),
    "lob_corners_apart_mm": (c_double, [POINTER(lob_geometry), POINTER(lob_geometry), lob_dims]),
    "lob_grid_tolerance_mm": (c_double, [POINTER(lob_geometry), POINTER(lob_geometry)]),
    "lob_volume_like": (c_int, [POINTER(lob_volume), POINTER(lob_volume), c_int, c_int]),
    "lob_volume_adopt": (c_int, [POINTER(lob_volume), POINTER(lob_volume), c_void_p, c_int, c_int]),
    "lob_volume_wrap": (lob_volume, [c_void_p, c_int, lob_dims, c_int, c_void_p, lob_place]),
    "lob_volume_free": (None, [POINTER(lob_volume)]),
    "lob_same_grid": (c_int, [POINTER(lob_volume), c_char_p, POINTER(lob_volume), c_char_p, POINTER(lob_error)]),
    "lob_box_of": (c_bool, [POINTER(lob_box), POINTER(lob_volume)]),
    "lob_box_widen": (None, [POINTER(lob_box), c_void_p, lob_dims]),
    "lob_box_geometry": (lob_geometry, [POINTER(lob_geometry), POINTER(lob_box)]),
    "lob_volume_crop": (c_int, [POINTER(lob_volume), POINTER(lob_box)]),
    "lob_place_in": (c_bool, [c_void_p, POINTER(lob_volume), POINTER(lob_volume)]),
    "lob_volume_place": (c_int, [POINTER(lob_volume), c_void_p, POINTER(lob_volume)]),
    "lob_label_type": (c_int, [c_int32]),
    "lob_labels_dense": (c_int, [POINTER(lob_volume), POINTER(lob_label_set), c_char_p, POINTER(lob_error)]),
    "lob_labels_restore": (c_int, [POINTER(lob_volume), POINTER(lob_label_set)]),
    "lob_labels_pack": (c_int, [POINTER(lob_volume), c_int32]),
    "lob_label_set_find": (c_int32, [POINTER(lob_label_set), c_int32]),
    "lob_label_set_free": (None, [POINTER(lob_label_set)]),
    "lob_turn_onto": (c_bool, [POINTER(lob_turn), POINTER(lob_volume), POINTER(lob_volume)]),
    "lob_turned_geometry": (lob_geometry, [POINTER(lob_geometry), lob_dims, POINTER(lob_turn)]),
    "lob_volume_reorient": (c_int, [POINTER(lob_volume), POINTER(lob_turn)]),
    "lob_version": (c_char_p, []),
    "lob_memory_available": (c_int64, []),
    "lob_read_defaults": (lob_read_options, []),
    "lob_read": (c_int, [POINTER(lob_volume), c_char_p, POINTER(lob_read_options), POINTER(lob_file_info), POINTER(lob_error)]),
    "lob_list": (c_int, [POINTER(POINTER(lob_data_set)), c_void_p, c_void_p, c_char_p, POINTER(lob_error)]),
    "lob_write_defaults": (lob_write_options, []),
    "lob_write": (c_int, [POINTER(lob_volume), c_char_p, POINTER(lob_write_options), POINTER(lob_error)]),
    "lob_check_output": (c_int, [c_char_p, c_bool, POINTER(lob_error)]),
    "lob_check_volume": (c_int, [POINTER(lob_volume), c_char_p, POINTER(lob_error)]),
    "lob_files_of": (c_int, [c_void_p, c_char_p, c_bool]),
    "lob_files_free": (None, [c_void_p]),
    "lob_keeps_names": (c_bool, [c_char_p]),
    "lob_is_volume_name": (c_bool, [c_char_p]),
    "lob_header_fields": (None, [POINTER(lob_volume), c_void_p, c_void_p]),
    "lob_label_table_parse": (c_int, [POINTER(lob_label_names), c_char_p, c_size_t, c_char_p, POINTER(lob_error)]),
    "lob_label_table_read": (c_int, [POINTER(lob_label_names), c_char_p, POINTER(lob_error)]),
    "lob_label_table_print": (c_int, [c_void_p, c_void_p, POINTER(lob_label_names), c_char_p, POINTER(lob_error)]),
    "lob_label_table_write": (c_int, [POINTER(lob_label_names), c_char_p, c_bool, POINTER(lob_error)]),
    "lob_is_label_table_name": (c_bool, [c_char_p]),
    "lob_planes_open": (c_int, [c_void_p, POINTER(lob_volume), c_char_p, POINTER(lob_read_options), POINTER(lob_file_info), POINTER(lob_error)]),
    "lob_planes_get": (c_int, [c_void_p, c_void_p, c_int64, c_int64, POINTER(lob_error)]),
    "lob_planes_close": (None, [c_void_p]),
    "lob_plane_writer_begin": (c_int, [c_void_p, POINTER(lob_volume), c_int64, c_char_p, POINTER(lob_write_options), POINTER(lob_error)]),
    "lob_plane_writer_put": (c_int, [c_void_p, c_void_p, c_int64, POINTER(lob_error)]),
    "lob_plane_writer_commit": (c_int, [c_void_p, POINTER(lob_error)]),
    "lob_plane_writer_abort": (None, [c_void_p]),
    "lob_context_place": (lob_place, [POINTER(lob_context)]),
    "lob_volume_at": (c_int, [POINTER(lob_volume), POINTER(lob_volume), c_int, c_int, POINTER(lob_context), POINTER(lob_error)]),
    "lob_volume_adopt_at": (c_int, [POINTER(lob_volume), POINTER(lob_volume), c_void_p, c_int, c_int, c_void_p]),
    "lob_array_free": (None, [c_void_p, c_void_p]),
    "lob_volume_move": (c_int, [POINTER(lob_volume), POINTER(lob_volume), lob_place, POINTER(lob_context), POINTER(lob_error)]),
    "lob_check_memory": (c_int, [lob_place, POINTER(lob_volume), POINTER(lob_volume), POINTER(lob_error)]),
    "lob_appearance_defaults": (lob_appearance_options, []),
    "lob_appearance_cpu": (c_int, [c_void_p, POINTER(lob_appearance_stats), POINTER(lob_appearance_input), POINTER(lob_appearance_options), POINTER(lob_context), POINTER(lob_error)]),
    "lob_regions_cpu": (c_int, [POINTER(lob_region), POINTER(lob_region_values), POINTER(lob_fine_levels), POINTER(lob_regions_input), POINTER(lob_context), POINTER(lob_error)]),
    "lob_region_add": (None, [POINTER(lob_region), POINTER(lob_region)]),
    "lob_region_values_add": (None, [POINTER(lob_region_values), POINTER(lob_region_values)]),
    "lob_region_measure": (lob_region_measures, [POINTER(lob_region), POINTER(lob_region_values), POINTER(lob_geometry), POINTER(lob_fine_levels), c_double, c_double]),
    "lob_region_measure_all": (None, [POINTER(lob_region_measures), POINTER(lob_region), POINTER(lob_region_values), c_int64, POINTER(lob_geometry), POINTER(lob_fine_levels), c_double, c_double]),
    "lob_components_defaults": (lob_components_options, []),
    "lob_components_cpu": (c_int, [POINTER(lob_components_output), POINTER(lob_components_input), POINTER(lob_components_options), POINTER(lob_context), POINTER(lob_error)]),
    "lob_components_output_free": (None, [POINTER(lob_components_output)]),
    "lob_distance_defaults": (lob_distance_options, []),
    "lob_distance_cpu": (c_int, [POINTER(lob_distance_output), POINTER(lob_distance_input), POINTER(lob_distance_options), POINTER(lob_context), POINTER(lob_error)]),
    "lob_distance_squared": (c_int, [c_void_p, c_void_p, lob_dims, c_void_p, c_int]),
    "lob_distance_bytes": (c_int64, [lob_dims, c_int]),
    "lob_filter_defaults": (lob_filter_options, []),
    "lob_filter_output_free": (None, [POINTER(lob_filter_output)]),
    "lob_filter_result": (c_int, [c_void_p, c_void_p, POINTER(lob_filter_input), POINTER(lob_filter_options), POINTER(lob_error)]),
    "lob_filter_cpu": (c_int, [POINTER(lob_filter_output), POINTER(lob_filter_input), POINTER(lob_filter_options), POINTER(lob_context), POINTER(lob_error)]),
    "lob_growcut_defaults": (lob_growcut_options, []),
    "lob_growcut_cpu": (c_int, [POINTER(lob_growcut_output), POINTER(lob_growcut_stats), POINTER(lob_growcut_input), POINTER(lob_growcut_options), POINTER(lob_context), POINTER(lob_error)]),
    "lob_labels_defaults": (lob_labels_options, []),
    "lob_labels_output_free": (None, [POINTER(lob_labels_output)]),
    "lob_labels_cpu": (c_int, [POINTER(lob_labels_output), POINTER(lob_labels_input), POINTER(lob_labels_options), POINTER(lob_context), POINTER(lob_error)]),
    "lob_morphology_cpu": (c_int, [c_void_p, POINTER(lob_morphology_input), c_int, c_double, POINTER(lob_context), POINTER(lob_error)]),
    "lob_refine_defaults": (lob_refine_options, [lob_dims, c_void_p]),
    "lob_refine_cpu": (c_int, [c_void_p, POINTER(lob_refine_stats), POINTER(lob_refine_input), POINTER(lob_refine_options), POINTER(lob_context), POINTER(lob_error)]),
    "lob_resample_defaults": (lob_resample_options, []),
    "lob_resample_cpu": (c_int, [c_void_p, POINTER(lob_resample_input), POINTER(lob_resample_options), POINTER(lob_context), POINTER(lob_error)]),
    "lob_supervoxels_defaults": (lob_supervoxels_options, []),
    "lob_supervoxels_cpu": (c_int, [c_void_p, POINTER(lob_supervoxels_stats), POINTER(lob_supervoxels_input), POINTER(lob_supervoxels_options), POINTER(lob_context), POINTER(lob_error)]),
    "lob_threshold_defaults": (lob_threshold_options, []),
    "lob_threshold_cpu": (c_int, [c_void_p, POINTER(lob_threshold_stats), POINTER(lob_threshold_input), POINTER(lob_threshold_options), POINTER(lob_context), POINTER(lob_error)]),
    "lob_backend_named": (POINTER(lob_backend), [c_char_p]),
    "lob_backend_open": (c_int, [POINTER(POINTER(lob_backend)), POINTER(lob_context), c_char_p, POINTER(lob_error)]),
    "lob_backend_close": (None, [POINTER(lob_context)]),
    "lob_device_open": (c_int, [c_void_p, c_char_p, POINTER(lob_error)]),
    "lob_device_count": (c_int, []),
    "lob_device_identity": (None, [c_void_p, c_int]),
    "lob_device_close": (None, [c_void_p]),
    "lob_device_name": (c_char_p, [c_void_p]),
    "lob_device_number": (c_int, [c_void_p]),
    "lob_device_capability": (c_int, [c_void_p]),
    "lob_device_free_bytes": (c_int64, [c_void_p]),
    "lob_device_total_bytes": (c_int64, [c_void_p]),
    "lob_device_upload": (c_int, [c_void_p, c_void_p, c_void_p, c_int64, POINTER(lob_error)]),
    "lob_device_download": (c_int, [c_void_p, c_void_p, c_void_p, c_int64, POINTER(lob_error)]),
    "lob_device_alloc": (c_int, [c_void_p, c_void_p, c_int64, POINTER(lob_error)]),
    "lob_device_free": (None, [c_void_p, c_void_p]),
    "lob_device_copy": (c_int, [c_void_p, c_void_p, c_void_p, c_int64, POINTER(lob_error)]),
    "lob_device_begin": (None, [c_void_p]),
    "lob_device_end": (None, [c_void_p]),
    "lob_device_traffic_here": (lob_device_traffic, []),
    "lob_device_stream": (c_void_p, [c_void_p]),
    "lob_device_wait_stream": (c_int, [c_void_p, c_void_p, POINTER(lob_error)]),
    "lob_device_wait": (c_int, [c_void_p, POINTER(lob_error)]),
    "lob_strokes_count": (c_int, [POINTER(lob_strokes), c_void_p, c_int, lob_dims, c_int32, c_int, POINTER(lob_error)]),
    "lob_strokes_free": (None, [POINTER(lob_strokes)]),
    "lob_strokes_background": (c_int32, [POINTER(lob_strokes)]),
    "lob_strokes_axis": (c_int, [POINTER(lob_strokes)]),
    "lob_strokes_drawn": (c_int64, [c_void_p, POINTER(lob_strokes), c_int32, c_int]),
    "lob_components_streamed": (c_int, [POINTER(lob_components_output), POINTER(lob_components_stream), lob_dims, c_int64, POINTER(lob_components_options), c_void_p, POINTER(lob_context), POINTER(lob_error)]),
    "lob_components_stream_planes": (c_int64, [lob_dims, c_int64, c_int64]),
    "lob_cells_defaults": (lob_cells_options, [c_bool]),
    "lob_cells_choose": (c_int, [POINTER(lob_cells_plan), POINTER(lob_volume), POINTER(lob_cells_options), POINTER(lob_backend), POINTER(lob_context), POINTER(lob_error)]),
    "lob_cells": (c_int, [POINTER(lob_volume), POINTER(lob_cells_stats), POINTER(lob_volume), POINTER(lob_cells_plan), POINTER(lob_backend), POINTER(lob_context), POINTER(lob_error)]),
    "lob_label_means": (c_int, [c_void_p, POINTER(lob_label_grid), POINTER(lob_volume), POINTER(lob_context), POINTER(lob_error)]),
    "lob_contacts": (c_int, [POINTER(POINTER(lob_contact)), c_void_p, POINTER(lob_label_grid), POINTER(lob_geometry), c_void_p, c_int, c_int, POINTER(lob_context), POINTER(lob_error)]),
    "lob_paint_boundaries": (None, [c_void_p, POINTER(lob_label_grid), c_int, c_int]),
    "lob_paint_means": (None, [POINTER(lob_volume), POINTER(lob_label_grid), c_void_p, c_int]),
    "lob_basins_join": (c_int, [c_void_p, POINTER(lob_basins_stats), POINTER(lob_label_grid), POINTER(lob_volume), POINTER(lob_basins_options), POINTER(lob_context), POINTER(lob_error)]),
    "lob_histogram_middle": (c_double, [POINTER(lob_histogram_bins), c_int]),
    "lob_histogram_cpu": (c_int, [POINTER(lob_histogram_bins), c_void_p, POINTER(lob_histogram_input), POINTER(lob_context), POINTER(lob_error)]),
    "lob_percentiles_cpu": (c_int, [c_void_p, c_void_p, c_int, c_void_p, POINTER(lob_histogram_input), POINTER(lob_context), POINTER(lob_error)]),
    "lob_maxima_defaults": (lob_maxima_options, []),
    "lob_maxima_output_free": (None, [POINTER(lob_maxima_output)]),
    "lob_maxima_cpu": (c_int, [POINTER(lob_maxima_output), POINTER(lob_maxima_input), POINTER(lob_maxima_options), POINTER(lob_context), POINTER(lob_error)]),
    "lob_instances_count": (c_int, [POINTER(lob_instances), POINTER(lob_volume), c_int64, POINTER(lob_volume), c_int64, POINTER(lob_context), POINTER(lob_error)]),
    "lob_instances_score": (c_int, [POINTER(lob_instances_scores), POINTER(lob_instances)]),
    "lob_instances_iou": (c_double, [POINTER(lob_instances), POINTER(lob_instances_pair)]),
    "lob_instances_free": (None, [POINTER(lob_instances)]),
    "lob_compare_labels": (c_int, [POINTER(POINTER(lob_overlap)), c_void_p, c_void_p, POINTER(lob_volume), c_char_p, POINTER(lob_volume), c_char_p, c_int, POINTER(lob_context), POINTER(lob_error)]),
    "lob_partition_measure": (c_int, [POINTER(lob_partition), POINTER(lob_partition_input), POINTER(lob_partition_options), POINTER(lob_context), POINTER(lob_error)]),
    "lob_phantom_defaults": (lob_phantom_options, [c_int]),
    "lob_phantom": (c_int, [POINTER(lob_volume), POINTER(lob_volume), POINTER(lob_volume), POINTER(lob_phantom_options), POINTER(lob_context), POINTER(lob_error)]),
    "lob_regions_moments": (c_int, [POINTER(lob_region_moments), POINTER(lob_region), POINTER(lob_regions_input), POINTER(lob_context), POINTER(lob_error)]),
    "lob_regions_border": (c_int, [POINTER(lob_region_border), POINTER(lob_regions_input), POINTER(lob_context), POINTER(lob_error)]),
    "lob_regions_slices": (c_int, [POINTER(lob_region_slices), POINTER(lob_region), POINTER(lob_regions_input), POINTER(lob_context), POINTER(lob_error)]),
    "lob_regions_percentiles": (c_int, [c_void_p, POINTER(lob_region), POINTER(lob_regions_input), POINTER(lob_context), POINTER(lob_error)]),
    "lob_shape_frame_of": (lob_shape_frame, [POINTER(lob_geometry), lob_dims]),
    "lob_regions_hulls": (c_int, [POINTER(lob_region_hull), POINTER(lob_region), POINTER(lob_regions_input), POINTER(lob_shape_frame), POINTER(lob_context), POINTER(lob_error)]),
    "lob_region_shape_of": (lob_region_shape, [POINTER(lob_shape_frame), POINTER(lob_region), POINTER(lob_region_moments), POINTER(lob_region_border)]),
}
