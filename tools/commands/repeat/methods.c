/* Commands in words, and the papers behind them. */
#include "tools/commands/repeat/methods.h"

#include "io/platform.h"
#include "tools/text/json_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables ---- */

#define PAPERS_LIST(X)                                                                              \
    X(GROWCUT, "Vezhnevets V, Konouchine V. GrowCut: interactive multi-label N-D image "            \
               "segmentation by cellular automata. Proceedings of Graphicon, 2005.")                \
    X(GROWCUT_PATHS, "Kauffmann C, Piché N. Seeded ND medical image segmentation by cellular "     \
                     "automaton on GPU. International Journal of Computer Assisted Radiology and "  \
                     "Surgery 5, 2010.")                                                            \
    X(FAST_GROWCUT, "Zhu L, Kolesov I, Gao Y, Kikinis R, Tannenbaum A. An effective interactive "   \
                    "medical image segmentation method using fast GrowCut. MICCAI Workshop on "     \
                    "Interactive Medical Image Computing, 2014.")                                   \
    X(COMPONENTS, "Rosenfeld A, Pfaltz JL. Sequential operations in digital picture processing. "   \
                  "Journal of the ACM 13, 1966.")                                                   \
    X(SLIC, "Achanta R, Shaji A, Smith K, Lucchi A, Fua P, Süsstrunk S. SLIC superpixels "         \
            "compared to state-of-the-art superpixel methods. IEEE Transactions on Pattern "        \
            "Analysis and Machine Intelligence 34, 2012.")                                          \
    X(LSC, "Li Z, Chen J. Superpixel segmentation using linear spectral clustering. IEEE "          \
           "Conference on Computer Vision and Pattern Recognition, 2015.")                          \
    X(GLSC, "Ban Z, Liu J, Fouriaux J. GLSC: LSC superpixels at over 130 FPS. Journal of "          \
            "Real-Time Image Processing, 2016.")                                                    \
    X(OTSU, "Otsu N. A threshold selection method from gray-level histograms. IEEE "                \
            "Transactions on Systems, Man, and Cybernetics 9, 1979.")                               \
    X(MULTI_OTSU, "Liao P-S, Chen T-S, Chung P-C. A fast algorithm for multilevel thresholding. "   \
                  "Journal of Information Science and Engineering 17, 2001.")                       \
    X(CANNY, "Canny J. A computational approach to edge detection. IEEE Transactions on Pattern "   \
             "Analysis and Machine Intelligence 8, 1986.")                                          \
    X(DISTANCE_LINES, "Saito T, Toriwaki J. New algorithms for Euclidean distance "                 \
                      "transformation of an n-dimensional digitized picture with applications. "    \
                      "Pattern Recognition 27, 1994.")                                              \
    X(DISTANCE, "Felzenszwalb P, Huttenlocher D. Distance transforms of sampled functions. "        \
                "Theory of Computing 8, 2012.")                                                     \
    X(NON_LOCAL, "Buades A, Coll B, Morel J-M. A non-local algorithm for image denoising. IEEE "    \
                 "Conference on Computer Vision and Pattern Recognition, 2005.")                    \
    X(NORMALISED, "Knutsson H, Westin C-F. Normalized and differential convolution. IEEE "          \
                  "Conference on Computer Vision and Pattern Recognition, 1993.")                   \
    X(MAXIMA, "Soille P. Morphological Image Analysis. Springer, 2003.")                            \
    X(FLOODING, "Meyer F. Topographic distance and watershed lines. Signal Processing 38, 1994.")   \
    X(FLOODING_PATHS, "Lotufo R, Falcão A. The ordered queue and the optimality of the watershed " \
                      "approaches. International Symposium on Mathematical Morphology, 2000.")      \
    X(DYNAMICS, "Grimaud M. A new measure of contrast: the dynamics. Proceedings of SPIE 1769, "    \
                "1992.")                                                                            \
    X(DICE, "Dice LR. Measures of the amount of ecologic association between species. Ecology "     \
            "26, 1945.")                                                                            \
    X(HAUSDORFF, "Huttenlocher DP, Klanderman GA, Rucklidge WJ. Comparing images using the "        \
                 "Hausdorff distance. IEEE Transactions on Pattern Analysis and Machine "           \
                 "Intelligence 15, 1993.")                                                          \
    X(SELF_SIMILAR, "Heinrich MP, Jenkinson M, Papież BW, Brady M, Schnabel JA. Towards realtime " \
                    "multimodal fusion for image-guided interventions using self-similarities. "    \
                    "MICCAI, 2013.")                                                                \
    X(DISCRETE,                                                                                     \
      "Heinrich MP, Jenkinson M, Brady M, Schnabel JA. MRF-based deformable registration "          \
      "and ventilation estimation of lung CT. IEEE Transactions on Medical Imaging 32, "            \
      "2013.")                                                                                      \
    X(PATCHES,                                                                                      \
      "Coupé P, Manjón JV, Fonov V, Pruessner J, Robles M, Collins DL. Patch-based segmentation " \
      "using expert priors: application to hippocampus and ventricle segmentation. NeuroImage "     \
      "54, "                                                                                        \
      "2011.")

enum {
#define PAPER_ENUM(name, text) name,
    PAPERS_LIST(PAPER_ENUM)
#undef PAPER_ENUM
        PAPERS,
    NO_PAPER = -1
};

static const char *const papers[] = {
#define PAPER_TEXT(name, text) [name] = text,
    PAPERS_LIST(PAPER_TEXT)
#undef PAPER_TEXT
};

/* To which commands a row belongs: to all of a name; with an option, where it was given; with a
 * value too, where the option has that one. */
enum { COMMAND, OPTION, VALUE, CONDITIONS };

/* A command in words, and the options that are told even where they were left out. Of several rows
 * that apply the first counts. */
static const struct {
    const char *when[CONDITIONS];
    const char *sentence; /* NULL: nothing that a paper has to tell */
    const char *deciding[4];
} sentences[] = {
    {{"appearance"},                 "How likely each voxel is each label was learnt from brush strokes", {NULL}                                   },
    {{"carry"},
     "Labels were carried from scans with finished labels, by registration, votes of patches that "
     "look alike, growth from what these are sure of, and refining",                                      {"use", "sure", "edge"}                  },
    {{"cells", "walls", "yes"},
     "Cells were flooded from the darkest places between walls, and joined where no wall parts "
     "them",                                                                                              {NULL}                                   },
    {{"cells"},
     "Cells were found from maxima of the distance inside of the foreground, separated by flooding "
     "from them, and joined where no neck parts them",                                                    {NULL}                                   },
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
};

/* Which papers go with a command. */
static const struct {
    const char *when[CONDITIONS];
    int paper;
} citations[] = {
    {{"growcut", "rule", "strength"},    GROWCUT       },
    {{"growcut", "rule", "strength"},    GROWCUT_PATHS },
    {{"growcut", "rule", "distance"},    GROWCUT       },
    {{"growcut", "rule", "distance"},    GROWCUT_PATHS },
    {{"growcut", "rule", "distance"},    FAST_GROWCUT  },
    {{"growcut", "rule", "flood"},       FLOODING      },
    {{"growcut", "rule", "flood"},       FLOODING_PATHS},
    {{"segment"},                        GROWCUT       },
    {{"segment"},                        GROWCUT_PATHS },
    {{"components"},                     COMPONENTS    },
    {{"supervoxels", "method", "slic"},  SLIC          },
    {{"supervoxels", "method", "slico"}, SLIC          },
    {{"supervoxels", "method", "lsc"},   LSC           },
    {{"supervoxels", "method", "lsc"},   GLSC          },
    {{"threshold", "otsu"},              OTSU          },
    {{"threshold", "otsu"},              MULTI_OTSU    },
    {{"threshold", "hysteresis"},        CANNY         },
    {{"distance"},                       DISTANCE_LINES},
    {{"distance"},                       DISTANCE      },
    {{"filter", "denoise"},              NON_LOCAL     },
    {{"filter", "mask"},                 NORMALISED    },
    {{"labels", "erode"},                DISTANCE      },
    {{"labels", "dilate"},               DISTANCE      },
    {{"labels", "expand"},               DISTANCE      },
    {{"labels", "open"},                 DISTANCE      },
    {{"labels", "close"},                DISTANCE      },
    {{"maxima"},                         MAXIMA        },
    {{"merge"},                          DYNAMICS      },
    {{"cells", "walls", "no"},           DISTANCE      },
    {{"cells"},                          FLOODING      },
    {{"cells"},                          FLOODING_PATHS},
    {{"cells"},                          DYNAMICS      },
    {{"carry"},                          SELF_SIMILAR  },
    {{"carry"},                          DISCRETE      },
    {{"carry"},                          PATCHES       },
    {{"carry"},                          GROWCUT       },
    {{"carry"},                          GROWCUT_PATHS },
    {{"fuse", "method", "patches"},      PATCHES       },
    {{"register"},                       SELF_SIMILAR  },
    {{"register"},                       DISCRETE      },
    {{"compare"},                        DICE          },
    {{"compare"},                        HAUSDORFF     },
};

/* Options in words; one that is not here is told by its name and value. "": not told. */
static const struct {
    const char *option, *words; /* of which %s is the value */
} phrases[] = {
    {"above",         "values above %s"                         },
    {"around",        "around a mask"                           },
    {"box",           "mean in boxes of radius %s"              },
    {"compactness",   "compactness %s"                          },
    {"conflict",      "of seeds that meet, %s ones count"       },
    {"denoise",       "non-local means with noise %s"           },
    {"device",        ""                                        },
    {"equal",         "joined where values are equal"           },
    {"force",         ""                                        },
    {"gaussian",      "Gaussian of standard deviation %s"       },
    {"hysteresis",    "hysteresis between %s"                   },
    {"image",         ""                                        },
    {"label_table",   ""                                        },
    {"largest",       "the %s largest pieces kept"              },
    {"like",          "onto the grid of another volume"         },
    {"mask",          "inside a mask"                           },
    {"max_memory",    ""                                        },
    {"max_mm",        "at most %s from the nearest seed"        },
    {"median",        "median of radius %s"                     },
    {"method",        "method %s"                               },
    {"min_size",      "pieces under %s taken out"               },
    {"name",          ""                                        },
    {"neighbours",    "%s neighbours"                           },
    {"norm",          "the %s norm over channels"               },
    {"order",         "numbered by %s"                          },
    {"otsu",          "Otsu's method with %s classes"           },
    {"output",        ""                                        },
    {"penalty",       "a penalty of %s per mm"                  },
    {"percentile",    "above percentile %s"                     },
    {"quiet",         ""                                        },
    {"range",         "values in %s"                            },
    {"report",        ""                                        },
    {"rounds",        "stopped after %s rounds of the automaton"},
    {"rule",          "the %s rule"                             },
    {"seed_strength", "seeds of given strengths"                },
    {"sheet",         ""                                        },
    {"skip_existing", ""                                        },
    {"slices",        "slice by slice along %s"                 },
    {"strength",      ""                                        },
    {"suggest",       ""                                        },
    {"table",         ""                                        },
    {"threads",       ""                                        },
    {"tie",           ""                                        },
    {"tile",          ""                                        },
    {"to",            "to the nearest %s"                       },
    {"tolerance",     "joined where values differ by at most %s"},
    {"trust_seeds",   ""                                        },
    {"uncertain",     ""                                        },
    {"verbose",       ""                                        },
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- telling ---- */

typedef struct {
    const lob_past_report *report;
    FILE *to;
    int number[PAPERS]; /* in the list of references, from 1; 0: not used yet */
    int cited;
} teller;

/* The name of an argument as options have it, "max_mm"; returns the joined value or NULL. *is_long
 * says whether it is one. */
static const char *option_of(char *key, size_t size, const char *argument, bool *is_long)
{
    const size_t length = strcspn(argument, "=");
    *is_long = strncmp(argument, "--", 2) == 0 && argument[2];
    if (!*is_long) return NULL;
    snprintf(key, size, "%.*s", (int)(length < size ? length - 2 : size - 1), argument + 2);
    for (char *c = key; *c; c++)
        if (*c == '-') *c = '_';
    return argument[length] ? argument + length + 1 : NULL;
}

static bool takes_value(const cJSON *option)
{
    return !cJSON_IsBool(option) && !cJSON_IsTrue(cJSON_GetArrayItem(option, 0));
}

/* Is it among the arguments? */
static bool is_given(const lob_past_line *line, const char *key)
{
    const cJSON *argument;
    cJSON_ArrayForEach(argument, line->arguments)
    {
        char name[64];
        bool is_long;
        option_of(name, sizeof name, argument->valuestring, &is_long);
        if (is_long && strcmp(name, key) == 0) return true;
    }
    return false;
}

static bool is_file(const lob_past_report *report, const char *key, const char *value)
{
    char role[64];
    snprintf(role, sizeof role, "%s", key);
    for (char *c = role; *c; c++)
        if (*c == '_') *c = '-';
    for (int k = 0; k < 2; k++) {
        const lob_past_file *const files = k ? report->outputs : report->inputs;
        const int count = k ? report->output_count : report->input_count;
        for (int i = 0; i < count; i++)
            if (strcmp(files[i].role, role) == 0 && strcmp(files[i].path, value) == 0) return true;
    }
    return value[0] == '@';
}

/* An option in words, after "(" or ", ". *told counts them. */
static void tell_option(const teller *t, int *told, const char *key, const char *value)
{
    size_t p = 0;
    while (p < COUNT(phrases) && strcmp(phrases[p].option, key) != 0) p++;
    const char *const words = p < COUNT(phrases) ? phrases[p].words : NULL;
    if (words && !*words) return;
    if (!words && value && is_file(t->report, key, value)) return;
    fputs((*told)++ ? ", " : " (", t->to);
    const char *const hole = words ? strstr(words, "%s") : NULL;
    if (words) {
        fprintf(t->to, "%.*s", (int)(hole ? hole - words : (ptrdiff_t)strlen(words)), words);
        if (hole && value) lob_print_safely(t->to, value);
        if (hole) fputs(hole + 2, t->to);
        return;
    }
    for (const char *c = key; *c; c++) fputc(*c == '_' ? ' ' : *c, t->to);
    if (value) fputc(' ', t->to), lob_print_safely(t->to, value);
}

/* A value as the report has it; of a flag whether it was given. */
static void value_text(char *text, size_t size, const cJSON *value)
{
    text[0] = '\0';
    if (cJSON_IsString(value)) snprintf(text, size, "%s", value->valuestring);
    if (cJSON_IsNumber(value)) snprintf(text, size, "%.10g", value->valuedouble);
    if (cJSON_IsBool(value)) snprintf(text, size, "%s", cJSON_IsTrue(value) ? "yes" : "no");
}

static const cJSON *value_of(const lob_past_line *line, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(line->options, key);
}

static void tell_options(const teller *t, const lob_past_line *line, const char *const deciding[4])
{
    const cJSON *argument;
    int told = 0;
    cJSON_ArrayForEach(argument, line->arguments)
    {
        char key[64];
        bool is_long;
        const char *value = option_of(key, sizeof key, argument->valuestring, &is_long);
        const cJSON *const option = is_long ? value_of(line, key) : NULL;
        if (!option) continue;
        if (!takes_value(option))
            value = NULL;
        else if (!value && argument->next)
            value = (argument = argument->next)->valuestring;
        char text[200]; /* with its unit */
        value_text(text, sizeof text, option);
        tell_option(t, &told, key, value && text[0] ? text : value);
        if (!argument->next) break;
    }
    for (int i = 0; i < 4 && deciding[i]; i++) {
        char text[200];
        value_text(text, sizeof text, value_of(line, deciding[i]));
        if (text[0] && strcmp(text, "0") != 0 && !is_given(line, deciding[i]))
            tell_option(t, &told, deciding[i], text);
    }
    if (told) fputc(')', t->to);
}

static bool applies(const char *const when[CONDITIONS], const lob_past_line *line)
{
    char text[200];
    if (strcmp(when[COMMAND], line->command) != 0) return false;
    if (!when[OPTION]) return true;
    if (!when[VALUE]) return is_given(line, when[OPTION]);
    value_text(text, sizeof text, value_of(line, when[OPTION]));
    return strcmp(text, when[VALUE]) == 0;
}

static void cite(teller *t, const lob_past_line *line)
{
    int cited = 0;
    for (size_t i = 0; i < COUNT(citations); i++) {
        const int paper = citations[i].paper;
        if (!applies(citations[i].when, line)) continue;
        if (t->number[paper] == 0) t->number[paper] = ++t->cited;
        fprintf(t->to, "%s%d", cited++ ? ", " : " [", t->number[paper]);
    }
    if (cited) fputc(']', t->to);
}

static void tell_line(teller *t, const lob_past_line *line)
{
    static const char *const none[4] = {NULL};
    size_t i = 0;
    while (i < COUNT(sentences) && !applies(sentences[i].when, line)) i++;
    const bool known = i < COUNT(sentences);
    if (known && !sentences[i].sentence) return;
    fputc(' ', t->to);
    if (known)
        fputs(sentences[i].sentence, t->to);
    else
        fputs("The command ", t->to), lob_print_safely(t->to, line->command),
            fputs(" was run", t->to);
    cite(t, line);
    tell_options(t, line, known ? sentences[i].deciding : none);
    fputc('.', t->to);
}

static void tell(teller *t)
{
    fputs("Image processing was done with Lobule ", t->to);
    lob_print_safely(t->to, t->report->version);
    fputc('.', t->to);
    for (int i = 0; i < t->report->line_count; i++) tell_line(t, &t->report->lines[i]);
    fputs(" Options that are not named had the defaults of this version. Results are the same "
          "bytes on every device and at any number of threads.\n",
          t->to);
    if (t->cited) fputs("\nReferences\n\n", t->to);
    for (int n = 1; n <= t->cited; n++)
        for (int p = 0; p < PAPERS; p++)
            if (t->number[p] == n) fprintf(t->to, "[%d] %s\n", n, papers[p]);
}

lob_status lob_methods_print(const lob_past_report *report, const char *name, lob_error *error)
{
    char *text = NULL;
    size_t size = 0;
    teller t = {.report = report, .to = lob_memory_stream(&text, &size)};
    if (t.to) tell(&t);
    const bool good = t.to && lob_memory_stream_end(t.to, &text, &size);
    if (good) fputs(text, stdout);
    free(text);
    return good ? LOB_OK : lob_fail_file(error, LOB_ENOMEM, name, "out of memory");
}
