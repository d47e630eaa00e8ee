/* Commands and options in words, and the papers behind them: what a person writes and corrects. */
#include "tools/commands/repeat/methods_words.h"

#include <stddef.h>

const lob_told_command lob_told_commands[] = {
    {{"appearance"},                 "How likely each voxel is each label was learnt from brush strokes", {NULL}                                   },
    {{"carry"},
     "Labels were carried from scans with finished labels, by registration, votes of patches that "
     "look alike, growth from what these are sure of, and refining",                                      {"use", "sure", "edge"}                  },
    {{"cells", "walls", "yes"},
     "Cells were flooded from the darkest places between walls, and joined where no wall parts "
     "them",                                                                                              {NULL}                                   },
    {{"cells"},
     "Cells were found from valleys of the Laplacian of Gaussian, separated by flooding from their "
     "lowest places, and joined where no pass parts them",                                                {NULL}                                   },
    {{"check"},                      NULL,                                                                {NULL}                                   },
    {{"compare"},
     "Label volumes were compared by overlap and by distances between surfaces",                          {NULL}                                   },
    {{"components"},                 "Connected components were labelled exactly",                        {"neighbours", "order"}                  },
    {{"convert"},                    "Volumes were converted",                                            {NULL}                                   },
    {{"crop"},                       "The volume was cut to a box",                                       {NULL}                                   },
    {{"distance"},                   "Exact Euclidean distances to the labelled voxels were computed",    {"to"}                                   },
    {{"filter"},                     "The image was filtered, in this order",                             {NULL}                                   },
    {{"fuse", "method", "majority"}, "Labels of moved atlases were joined by majority",                   {NULL}                                   },
    {{"fuse"},
     "Labels of moved atlases were joined by votes of patches that look alike",                           {"patch", "search"}                      },
    {{"growcut", "rule", "flood"},
     "Labels were grown from seeds by a watershed by flooding, each voxel along the path whose "
     "highest value is lowest",                                                                           {"neighbours"}                           },
    {{"growcut", "rule", "value"},
     "Labels were grown from seeds, each voxel along the path on which the sum of values is least",       {"neighbours", "penalty"}                },
    {{"growcut", "rule", "square"},
     "Labels were grown from seeds, each voxel along the path on which the sum of squared values "
     "is least",                                                                                          {"neighbours", "penalty"}                },
    {{"growcut"},
     "Labels were grown from seeds by GrowCut, each voxel along its cheapest path",                       {"rule", "norm", "neighbours", "penalty"}},
    {{"info"},                       NULL,                                                                {NULL}                                   },
    {{"labels"},                     "Labels were cleaned, in this order",                                {NULL}                                   },
    {{"maxima"},                     "Regional maxima were found",                                        {"height"}                               },
    {{"merge"},
     "Basins of a flood were joined where the wall between two is too low",                               {"height", "share", "level"}             },
    {{"phantom"},                    "A phantom was drawn",                                               {NULL}                                   },
    {{"preview"},                    NULL,                                                                {NULL}                                   },
    {{"refine"},
     "Labels were smoothed and their borders moved to where the image changes",                           {"smooth", "edge"}                       },
    {{"register"},
     "A scan was registered to another one, by an affine and by displacements of least cost "
     "descriptors",                                                                                       {"smooth"}                               },
    {{"resample"},                   "The volume was resampled",                                          {"method"}                               },
    {{"seeds"},                      "Seeds were made",                                                   {"conflict"}                             },
    {{"segment"},
     "Labels were segmented from brush strokes: by two growths of GrowCut over what was learnt "
     "from the strokes' grey values, and refined borders",                                                {NULL}                                   },
    {{"stats"},                      "Volumes, boxes and intensities of the labels were measured",        {NULL}                                   },
    {{"supervoxels"},
     "The image was cut into supervoxels, each connected",                                                {"method", "iterations"}                 },
    {{"threshold"},                  "The image was thresholded",                                         {NULL}                                   },
    {{"warp"},                       "A volume was brought through a field of displacements",             {NULL}                                   },
    {{NULL},                         NULL,                                                                {NULL}                                   },
};

const lob_told_option lob_told_options[] = {
    {"above",         "values above %s"                         },
    {"around",        "around a mask"                           },
    {"box",           "mean in boxes of radius %s"              },
    {"compactness",   "compactness %s"                          },
    {"conflict",      "of seeds that meet, %s ones count"       },
    {"denoise",       "non-local means with noise %s"           },
    {"equal",         "joined where values are equal"           },
    {"gaussian",      "Gaussian of standard deviation %s"       },
    {"hysteresis",    "hysteresis between %s"                   },
    {"largest",       "the %s largest pieces kept"              },
    {"like",          "onto the grid of another volume"         },
    {"mask",          "inside a mask"                           },
    {"max_mm",        "at most %s from the nearest seed"        },
    {"median",        "median of radius %s"                     },
    {"method",        "method %s"                               },
    {"min_size",      "pieces under %s taken out"               },
    {"neighbours",    "%s neighbours"                           },
    {"norm",          "the %s norm over channels"               },
    {"order",         "numbered by %s"                          },
    {"otsu",          "Otsu's method with %s classes"           },
    {"penalty",       "a penalty of %s per mm"                  },
    {"percentile",    "above percentile %s"                     },
    {"range",         "values in %s"                            },
    {"rounds",        "stopped after %s rounds of the automaton"},
    {"rule",          "the %s rule"                             },
    {"seed_strength", "seeds of given strengths"                },
    {"slices",        "slice by slice along %s"                 },
    {"to",            "to the nearest %s"                       },
    {"tolerance",     "joined where values differ by at most %s"},
    {NULL,            NULL                                      },
};

const char *const lob_untold_options[] = {
    "device",  "force",  "image", "label_table",   "max_memory", "name",    "output",
    "quiet",   "report", "sheet", "skip_existing", "strength",   "suggest", "table",
    "threads", "tie",    "tile",  "trust_seeds",   "uncertain",  "verbose", NULL};

/* ---- papers ---- */

static const char growcut[] =
    "Vezhnevets V, Konouchine V. GrowCut: interactive multi-label N-D image segmentation by "
    "cellular automata. Proceedings of Graphicon, 2005.";
static const char growcut_paths[] =
    "Kauffmann C, Piché N. Seeded ND medical image segmentation by cellular automaton on GPU. "
    "International Journal of Computer Assisted Radiology and Surgery 5, 2010.";
static const char fast_growcut[] =
    "Zhu L, Kolesov I, Gao Y, Kikinis R, Tannenbaum A. An effective interactive medical image "
    "segmentation method using fast GrowCut. MICCAI Workshop on Interactive Medical Image "
    "Computing, 2014.";
static const char components[] =
    "Rosenfeld A, Pfaltz JL. Sequential operations in digital picture processing. Journal of the "
    "ACM 13, 1966.";
static const char slic[] =
    "Achanta R, Shaji A, Smith K, Lucchi A, Fua P, Süsstrunk S. SLIC superpixels compared to "
    "state-of-the-art superpixel methods. IEEE Transactions on Pattern Analysis and Machine "
    "Intelligence 34, 2012.";
static const char lsc[] =
    "Li Z, Chen J. Superpixel segmentation using linear spectral clustering. IEEE Conference on "
    "Computer Vision and Pattern Recognition, 2015.";
static const char glsc[] =
    "Ban Z, Liu J, Fouriaux J. GLSC: LSC superpixels at over 130 FPS. Journal of Real-Time Image "
    "Processing, 2016.";
static const char otsu[] =
    "Otsu N. A threshold selection method from gray-level histograms. IEEE Transactions on "
    "Systems, Man, and Cybernetics 9, 1979.";
static const char multi_otsu[] =
    "Liao P-S, Chen T-S, Chung P-C. A fast algorithm for multilevel thresholding. Journal of "
    "Information Science and Engineering 17, 2001.";
static const char canny[] =
    "Canny J. A computational approach to edge detection. IEEE Transactions on Pattern Analysis "
    "and Machine Intelligence 8, 1986.";
static const char distance_lines[] =
    "Saito T, Toriwaki J. New algorithms for Euclidean distance transformation of an n-dimensional "
    "digitized picture with applications. Pattern Recognition 27, 1994.";
static const char distance[] =
    "Felzenszwalb P, Huttenlocher D. Distance transforms of sampled functions. Theory of Computing "
    "8, 2012.";
static const char non_local[] =
    "Buades A, Coll B, Morel J-M. A non-local algorithm for image denoising. IEEE Conference on "
    "Computer Vision and Pattern Recognition, 2005.";
static const char normalised[] =
    "Knutsson H, Westin C-F. Normalized and differential convolution. IEEE Conference on Computer "
    "Vision and Pattern Recognition, 1993.";
static const char maxima[] = "Soille P. Morphological Image Analysis. Springer, 2003.";
static const char flooding[] =
    "Meyer F. Topographic distance and watershed lines. Signal Processing 38, 1994.";
static const char flooding_paths[] =
    "Lotufo R, Falcão A. The ordered queue and the optimality of the watershed approaches. "
    "International Symposium on Mathematical Morphology, 2000.";
static const char scale_space[] =
    "Lindeberg T. Feature detection with automatic scale selection. International Journal of "
    "Computer Vision 30, 1998.";
static const char dynamics[] =
    "Grimaud M. A new measure of contrast: the dynamics. Proceedings of SPIE 1769, 1992.";
static const char dice[] =
    "Dice LR. Measures of the amount of ecologic association between species. Ecology 26, 1945.";
static const char hausdorff[] =
    "Huttenlocher DP, Klanderman GA, Rucklidge WJ. Comparing images using the Hausdorff distance. "
    "IEEE Transactions on Pattern Analysis and Machine Intelligence 15, 1993.";
static const char self_similar[] =
    "Heinrich MP, Jenkinson M, Papież BW, Brady M, Schnabel JA. Towards realtime multimodal fusion "
    "for image-guided interventions using self-similarities. MICCAI, 2013.";
static const char discrete[] =
    "Heinrich MP, Jenkinson M, Brady M, Schnabel JA. MRF-based deformable registration and "
    "ventilation estimation of lung CT. IEEE Transactions on Medical Imaging 32, 2013.";
static const char patches[] =
    "Coupé P, Manjón JV, Fonov V, Pruessner J, Robles M, Collins DL. Patch-based segmentation "
    "using expert priors: application to hippocampus and ventricle segmentation. NeuroImage 54, "
    "2011.";

const lob_told_papers lob_told_papers_of[] = {
    {{"growcut", "rule", "strength"},    {growcut, growcut_paths}                                 },
    {{"growcut", "rule", "distance"},    {growcut, growcut_paths, fast_growcut}                   },
    {{"growcut", "rule", "flood"},       {flooding, flooding_paths}                               },
    {{"segment"},                        {growcut, growcut_paths}                                 },
    {{"components"},                     {components}                                             },
    {{"supervoxels", "method", "slic"},  {slic}                                                   },
    {{"supervoxels", "method", "slico"}, {slic}                                                   },
    {{"supervoxels", "method", "lsc"},   {lsc, glsc}                                              },
    {{"threshold", "otsu"},              {otsu, multi_otsu}                                       },
    {{"threshold", "hysteresis"},        {canny}                                                  },
    {{"distance"},                       {distance_lines, distance}                               },
    {{"filter", "denoise"},              {non_local}                                              },
    {{"filter", "mask"},                 {normalised}                                             },
    {{"labels", "erode"},                {distance}                                               },
    {{"labels", "dilate"},               {distance}                                               },
    {{"labels", "expand"},               {distance}                                               },
    {{"labels", "open"},                 {distance}                                               },
    {{"labels", "close"},                {distance}                                               },
    {{"maxima"},                         {maxima}                                                 },
    {{"merge"},                          {dynamics}                                               },
    {{"cells", "walls", "no"},           {scale_space}                                            },
    {{"cells"},                          {flooding, flooding_paths, dynamics}                     },
    {{"carry"},                          {self_similar, discrete, patches, growcut, growcut_paths}},
    {{"fuse", "method", "patches"},      {patches}                                                },
    {{"register"},                       {self_similar, discrete}                                 },
    {{"compare"},                        {dice, hausdorff}                                        },
    {{NULL},                             {NULL}                                                   },
};
