/* What segments are called in a DICOM SEG: names, colours and codes, in the JSON of dcmqi. */
#include "io/dicom/seg_codes.h"

#include "io/file.h"
#include "volumes/utf8.h"
#include "volumes/version.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A code as DICOM has it: "10200004", "SCT", "Liver". */
typedef struct {
    char value[65], scheme[17], meaning[65];
} seg_code;

/* What a segment is: such as an anatomical structure, a kidney, left; a mass, in the liver. Empty
 * values from the modifier on: none. */
enum { CATEGORY, TYPE, MODIFIER, REGION, REGION_MODIFIER, CODES };
typedef struct {
    seg_code code[CODES];
} segment_codes;

static const char *const keys[CODES] = {"SegmentedPropertyCategoryCodeSequence",
                                        "SegmentedPropertyTypeCodeSequence",
                                        "SegmentedPropertyTypeModifierCodeSequence",
                                        "AnatomicRegionSequence", "AnatomicRegionModifierSequence"};

/* ---- organs ---- */

/* Names, SNOMED CT code and meaning, of DICOM's context groups and of TotalSegmentator's table. A
 * name holds no side, but where the side makes it a structure of its own. What is wrong in an organ
 * comes last. */
static const struct {
    const char *names, *value, *meaning;
    bool altered;
} structures[] = {
    {"|adrenal gland|",                                "23451007",  "Adrenal gland",                false},
    {"|aorta|",                                        "15825003",  "Aorta",                        false},
    {"|atrium left|heart atrium left|left atrium|",    "82471001",  "Left atrium",                  false},
    {"|atrium right|heart atrium right|right atrium|", "73829009",  "Right atrium",                 false},
    {"|bladder|urinary bladder|",                      "89837001",  "Urinary bladder",              false},
    {"|bone|",                                         "272673000", "Bone",                         false},
    {"|bowel|small bowel|small intestine|",            "30315005",  "Small intestine",              false},
    {"|brain|",                                        "12738006",  "Brain",                        false},
    {"|breast|",                                       "76752008",  "Breast",                       false},
    {"|cell|",                                         "4421005",   "Cell",                         false},
    {"|cerebellum|",                                   "113305005", "Cerebellum",                   false},
    {"|clavicle|",                                     "51299004",  "Clavicle",                     false},
    {"|colon|",                                        "71854001",  "Colon",                        false},
    {"|common carotid artery|",                        "32062004",  "Common carotid artery",        false},
    {"|duodenum|",                                     "38848004",  "Duodenum",                     false},
    {"|esophagus|oesophagus|",                         "32849002",  "Esophagus",                    false},
    {"|fat|",                                          "55603005",  "Fat",                          false},
    {"|femur|",                                        "71341001",  "Femur",                        false},
    {"|fibula|",                                       "87342007",  "Fibula",                       false},
    {"|gallbladder|",                                  "28231008",  "Gallbladder",                  false},
    {"|gluteus maximus|",                              "181674001", "Gluteus maximus muscle",       false},
    {"|gluteus medius|",                               "78333006",  "Gluteus medius muscle",        false},
    {"|heart|",                                        "80891009",  "Heart",                        false},
    {"|heart myocardium|myocardium|",                  "74281007",  "Myocardium",                   false},
    {"|heart ventricle left|left ventricle|",          "87878005",  "Left ventricle of heart",      false},
    {"|heart ventricle right|right ventricle|",        "53085002",  "Right ventricle of heart",     false},
    {"|hepatic vein|",                                 "8993003",   "Hepatic vein",                 false},
    {"|hippocampus|",                                  "5366008",   "Hippocampus",                  false},
    {"|humerus|",                                      "85050009",  "Humerus",                      false},
    {"|iliac artery|",                                 "73634005",  "Common iliac artery",          false},
    {"|iliac vena|",                                   "46027005",  "Common iliac vein",            false},
    {"|iliopsoas|",                                    "68455001",  "Iliopsoas muscle",             false},
    {"|inferior vena cava|",                           "64131007",  "Inferior vena cava",           false},
    {"|kidney|",                                       "64033007",  "Kidney",                       false},
    {"|liver|",                                        "10200004",  "Liver",                        false},
    {"|lung|",                                         "39607008",  "Lung",                         false},
    {"|lung lower lobe|",                              "90572001",  "Lower lobe of lung",           false},
    {"|lung middle lobe right|",                       "72481006",  "Middle lobe of right lung",    false},
    {"|lung upper lobe|",                              "45653009",  "Upper lobe of lung",           false},
    {"|muscle|",                                       "71616004",  "Muscle",                       false},
    {"|nucleus|",                                      "84640000",  "Nucleus",                      false},
    {"|ovary|",                                        "15497006",  "Ovary",                        false},
    {"|pancreas|",                                     "15776009",  "Pancreas",                     false},
    {"|patella|",                                      "64234005",  "Patella",                      false},
    {"|portal vein|",                                  "32764006",  "Portal vein",                  false},
    {"|portal vein and splenic vein|",                 "110765007", "Portal vein and splenic vein", false},
    {"|prostate|",                                     "41216001",  "Prostate",                     false},
    {"|pulmonary artery|",                             "81040000",  "Pulmonary artery",             false},
    {"|pulmonary vein|",                               "122972007", "Pulmonary vein",               false},
    {"|radius|",                                       "62413002",  "Radius",                       false},
    {"|rectum|",                                       "34402009",  "Rectum",                       false},
    {"|rib|",                                          "113197003", "Rib",                          false},
    {"|sacrum|",                                       "54735007",  "Sacrum",                       false},
    {"|scapula|",                                      "79601000",  "Scapula",                      false},
    {"|skull|",                                        "89546000",  "Skull",                        false},
    {"|spinal cord|",                                  "2748008",   "Spinal cord",                  false},
    {"|spleen|",                                       "78961009",  "Spleen",                       false},
    {"|sternum|",                                      "56873002",  "Sternum",                      false},
    {"|stomach|",                                      "69695003",  "Stomach",                      false},
    {"|superior vena cava|",                           "48345005",  "Superior vena cava",           false},
    {"|thyroid|thyroid gland|",                        "69748006",  "Thyroid gland",                false},
    {"|tibia|",                                        "12611008",  "Tibia",                        false},
    {"|trachea|",                                      "44567001",  "Trachea",                      false},
    {"|ulna|",                                         "23416004",  "Ulna",                         false},
    {"|uterus|",                                       "35039007",  "Uterus",                       false},
    {"|vertebra|",                                     "51282000",  "Vertebra",                     false},
    {"|cyst|",                                         "367643001", "Cyst",                         true },
    {"|lesion|",                                       "52988006",  "Lesion",                       true },
    {"|mass|",                                         "4147007",   "Mass",                         true },
    {"|neoplasm|tumor|tumour|",                        "108369006", "Neoplasm",                     true },
    {"|nodule|",                                       "27925004",  "Nodule",                       true },
};

static const seg_code anatomical = {"123037004", "SCT", "Anatomical Structure"},
                      altered = {"49755003", "SCT", "Morphologically Altered Structure"},
                      tissue = {"85756007", "SCT", "Tissue"}, left = {"7771000", "SCT", "Left"},
                      right = {"24028007", "SCT", "Right"};

enum { NAME = 65 };

/* Lower case, one blank between words, nothing at the ends. */
static void normalise(char out[NAME], const char *name)
{
    size_t n = 0;
    for (; *name && n < NAME - 1; name++) {
        const unsigned char c = (unsigned char)*name;
        const bool parts = isspace(c) || c == '_' || c == '-' || c == '.';
        if (!parts)
            out[n++] = (char)tolower(c);
        else if (n > 0 && out[n - 1] != ' ')
            out[n++] = ' ';
    }
    while (n > 0 && out[n - 1] == ' ') n--;
    out[n] = '\0';
}

/* Take a word out of a normalised name; false: it is not there. */
static bool take_word(char *name, const char *word)
{
    const size_t n = strlen(word);
    for (char *at = strstr(name, word); at; at = strstr(at + 1, word)) {
        if ((at > name && at[-1] != ' ') || (at[n] && at[n] != ' ')) continue;
        if (at[n])
            memmove(at, at + n + 1, strlen(at + n + 1) + 1);
        else if (at > name)
            at[-1] = '\0';
        else
            *at = '\0';
        return true;
    }
    return false;
}

static bool find_name(segment_codes *codes, const char *name)
{
    char quoted[NAME + 2];
    if (!*name || strchr(name, '|')) return false;
    snprintf(quoted, sizeof quoted, "|%s|", name);
    for (size_t i = 0; i < sizeof structures / sizeof structures[0]; i++) {
        if (!strstr(structures[i].names, quoted)) continue;
        codes->code[CATEGORY] = structures[i].altered ? altered : anatomical;
        codes->code[TYPE] = (seg_code){.scheme = "SCT"};
        strcpy(codes->code[TYPE].value, structures[i].value);
        strcpy(codes->code[TYPE].meaning, structures[i].meaning);
        return true;
    }
    return false;
}

static void find_organ(segment_codes *codes, const char *typed)
{
    char name[NAME];
    normalise(name, typed);
    if (find_name(codes, name)) return;
    const bool is_left = take_word(name, "left"), is_right = !is_left && take_word(name, "right");
    if (!find_name(codes, name)) return;
    if (is_left) codes->code[MODIFIER] = left;
    if (is_right) codes->code[MODIFIER] = right;
}

/* ---- terminology ---- */

/* The next part of a text, up to a character that parts them; false: it is too long. */
static bool next_part(const char **at, char end, char *out, size_t size)
{
    const size_t n = strcspn(*at, (char[]){end, '~', '\0'});
    if (n >= size) return false;
    memcpy(out, *at, n);
    out[n] = '\0';
    *at += n;
    if (**at == end) (*at)++;
    return true;
}

/* "SCT^10200004^Liver", up to the next '~'. */
static bool take_code(seg_code *code, const char *at)
{
    const bool fits = next_part(&at, '^', code->scheme, sizeof code->scheme) &&
                      next_part(&at, '^', code->value, sizeof code->value) &&
                      next_part(&at, '~', code->meaning, sizeof code->meaning);
    return fits && code->scheme[0] && code->value[0] && code->meaning[0];
}

/* Behind the names of two lists, that of the first three and that of regions. */
static bool take_terminology(segment_codes *codes, const char *text)
{
    segment_codes found = {.code = {{.value = ""}}};
    for (int i = 0, part = 0; i < CODES; part++) {
        if (part != 0 && part != 1 + REGION) {
            if (!take_code(&found.code[i], text)) found.code[i] = (seg_code){.value = ""};
            i++;
        }
        text += strcspn(text, "~");
        if (*text) text++;
    }
    if (!found.code[CATEGORY].value[0] || !found.code[TYPE].value[0]) return false;
    *codes = found;
    return true;
}

/*
 * The codes of a label: those of its terminology; without one, or of the tissue that 3D Slicer
 * makes of each new segment, those of an organ of its name, in whatever case, with blanks, '_' or
 * '-', and with or without a side ("Left kidney", "kidney_left"); else those of a tissue. row NULL:
 * it has none.
 */
static segment_codes codes_of(const lob_label_name *row)
{
    segment_codes codes = {
        .code = {tissue, tissue}
    };
    if (row && row->terminology) take_terminology(&codes, row->terminology);
    const bool says = strcmp(codes.code[TYPE].meaning, tissue.meaning) != 0;
    if (row && !says && !codes.code[REGION].value[0]) find_organ(&codes, row->name);
    return codes;
}

/* ---- reading ---- */

static const char *text_of(const cJSON *object, const char *key)
{
    const char *const text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text ? text : "";
}

static char *terminology_of(const cJSON *segment)
{
    char *parts[CODES] = {NULL}, *whole = NULL;
    bool fits = true;
    for (int i = 0; i < CODES; i++) {
        const cJSON *const code = cJSON_GetObjectItemCaseSensitive(segment, keys[i]);
        fits = asprintf(&parts[i], "%s^%s^%s", text_of(code, "CodingSchemeDesignator"),
                        text_of(code, "CodeValue"), text_of(code, "CodeMeaning")) >= 0 &&
               fits;
    }
    if (!fits || asprintf(&whole,
                          "Segmentation category and type - DICOM master list~%s~%s~%s~Anatomic "
                          "codes - DICOM master list~%s~%s",
                          parts[0], parts[1], parts[2], parts[3], parts[4]) < 0)
        whole = NULL;
    for (int i = 0; i < CODES; i++) free(parts[i]);
    return whole;
}

static lob_status take_segment(lob_label_names *names, const cJSON *segment)
{
    const cJSON *const id = cJSON_GetObjectItemCaseSensitive(segment, "labelID");
    const cJSON *const rgb =
        cJSON_GetObjectItemCaseSensitive(segment, "recommendedDisplayRGBValue");
    lob_rgba colour = {.alpha = 255};
    unsigned char *const channel[] = {&colour.red, &colour.green, &colour.blue};
    bool coloured = cJSON_GetArraySize(rgb) == 3;
    for (int i = 0; i < 3 && coloured; i++) {
        const double value = cJSON_GetNumberValue(cJSON_GetArrayItem(rgb, i));
        coloured = value >= 0 && value <= 255;
        if (coloured) *channel[i] = (unsigned char)value;
    }
    if (!cJSON_IsNumber(id) || id->valueint < 1) return LOB_OK;
    const char *const label = text_of(segment, "SegmentLabel");
    const char *const name = label[0] ? label : text_of(segment, "SegmentDescription");
    char *const terminology = terminology_of(segment);
    const lob_status st = terminology ? lob_label_names_put(names, id->valueint, name,
                                                            coloured ? &colour : NULL, terminology)
                                      : LOB_ENOMEM;
    free(terminology);
    return st == LOB_EARG ? LOB_OK : st; /* more names than a list holds */
}

lob_status lob_seg_names_read(lob_label_names *names, const char *folder, const char *path,
                              lob_error *error)
{
    char *file;
    lob_input in;
    if (asprintf(&file, "%s/meta.json", folder) < 0)
        return lob_fail_file(error, LOB_ENOMEM, path, "no memory");
    lob_status st = lob_input_open(&in, file, NULL);
    free(file);
    if (st != LOB_OK) return lob_fail_file(error, LOB_EDATA, path, "its segments have no names");
    cJSON *const json = cJSON_ParseWithLength((const char *)in.bytes, in.size);
    lob_input_close(&in);
    const cJSON *group, *segment;
    cJSON_ArrayForEach(group, cJSON_GetObjectItemCaseSensitive(json, "segmentAttributes")) {
        cJSON_ArrayForEach(segment, group) {
            if (st == LOB_OK) st = take_segment(names, segment);
        }
    }
    cJSON_Delete(json);
    return st == LOB_OK ? st : lob_fail_file(error, st, path, "no memory for its names");
}

/* ---- writing ---- */

static void add_code(cJSON *to, const char *key, const seg_code *code)
{
    if (!code->value[0]) return;
    cJSON *const object = cJSON_AddObjectToObject(to, key);
    cJSON_AddStringToObject(object, "CodeValue", code->value);
    cJSON_AddStringToObject(object, "CodingSchemeDesignator", code->scheme);
    cJSON_AddStringToObject(object, "CodeMeaning", code->meaning);
}

/* At most 64 characters, and no backslash, which parts values: what a label may have (VR LO). The
 * character set of the source may not know more than ASCII. */
static void plain_text(char out[NAME], const char *text)
{
    size_t n = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c && n < NAME - 1; n++) {
        const size_t bytes = lob_utf8_length(c);
        out[n] = *c < ' ' || *c > '~' || *c == '\\' ? '?' : (char)*c;
        c += bytes > 0 ? bytes : 1;
    }
    out[n] = '\0';
}

static cJSON *segment_of(const lob_label_name *row, int32_t number, int32_t id)
{
    cJSON *const s = cJSON_CreateObject();
    const lob_rgba colour = row ? row->colour : lob_label_default_colour(number);
    const int rgb[3] = {colour.red, colour.green, colour.blue};
    const segment_codes codes = codes_of(row);
    char name[NAME], other[32];
    snprintf(other, sizeof other, "Segment_%d", number);
    plain_text(name, row ? row->name : other);
    cJSON_AddNumberToObject(s, "labelID", id);
    cJSON_AddStringToObject(s, "SegmentLabel", name);
    cJSON_AddStringToObject(s, "SegmentDescription", name);
    cJSON_AddStringToObject(s, "SegmentAlgorithmType", "SEMIAUTOMATIC");
    cJSON_AddStringToObject(s, "SegmentAlgorithmName", "Lobule " LOB_VERSION);
    for (int i = 0; i < CODES; i++) add_code(s, keys[i], &codes.code[i]);
    cJSON_AddItemToObject(s, "recommendedDisplayRGBValue", cJSON_CreateIntArray(rgb, 3));
    return s;
}

char *lob_seg_metadata(const lob_label_name *const *rows, const int32_t *numbers, int32_t count)
{
    cJSON *const json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "ContentCreatorName", "Lobule");
    cJSON_AddStringToObject(json, "SeriesDescription", "Segmentation by Lobule " LOB_VERSION);
    cJSON_AddStringToObject(json, "SeriesNumber", "300");
    cJSON_AddStringToObject(json, "InstanceNumber", "1");
    /* The program writes the module of clinical trials always, with names of its own invention for
     * those that are left out or empty. */
    cJSON_AddStringToObject(json, "ClinicalTrialSeriesID", "none");
    cJSON_AddStringToObject(json, "ClinicalTrialTimePointID", "none");
    cJSON_AddStringToObject(json, "ClinicalTrialCoordinatingCenterName", "none");
    cJSON *const groups = cJSON_AddArrayToObject(json, "segmentAttributes");
    cJSON *const group = cJSON_CreateArray();
    for (int32_t i = 0; i < count; i++)
        cJSON_AddItemToArray(group, segment_of(rows[i], numbers[i], i + 1));
    cJSON_AddItemToArray(groups, group);
    char *const text = cJSON_Print(json);
    cJSON_Delete(json);
    return text;
}
