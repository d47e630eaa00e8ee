/*
 * What `lobule batch` leaves in its folder: the status table, a row a scan; the report of each
 * scan; the merged table of regions; what there is to say in the end. Those who show or repeat a
 * batch read it through this header.
 *
 *     FOLDER/status.tsv           the status table
 *     FOLDER/regions.tsv          all region tables of the scans, one below the other
 *     FOLDER/summary.json         lob_batch_summary as JSON
 *     FOLDER/page.html            all of it to look at (tools/batch/batch_page.h)
 *     FOLDER/recipe.txt           the recipe, as it was read or typed after "--"
 *     FOLDER/reports/SCAN.json    the report of a scan, as `lobule run --report` writes it
 *     FOLDER/tables/SCAN.2.tsv    what line 2 would have printed for a table named "-"
 *     FOLDER/shard-3-of-8/        the same of a shard, without reports/ and tables/, which all
 *                                 shards share; `lobule batch --merge FOLDER` joins them
 *
 * FOLDER is what --log names. In file names a scan's name keeps its '/', as folders; bytes other
 * than letters, digits, '.', '_', '-' and '+' are written %HH, as is a '.' that begins a part.
 *
 * The status table is UTF-8, tabs between cells, a line a row, the names of columns in the first
 * line. In a cell \t, \n, \r and \\ stand for these characters, n/a for what is not known. While a
 * batch runs rows are added as whole lines, `started` when a scan begins and one more when it ends:
 * the last row of a scan counts, and an unfinished last line, of a machine that stopped, is none.
 * In the end the table is written anew, with a row a scan in the order of the manifest; scans that
 * were never begun have no row. Scans that a resumed batch finds in the table and not in its
 * manifest keep their rows, behind the others. The columns:
 *
 *     scan        the scan's name, unlike all others
 *     state       started, done, failed, skipped (--skip-existing found its outputs) or cancelled
 *     exit_code   as `lobule run` would have ended with; n/a while started
 *     message     the line that says what is wrong, or what was skipped; else empty
 *     started     when it began, 2026-03-01T12:00:00Z
 *     total_s     wall time of the scan, and of it by stage, in the order of lob_batch_stage:
 *     wait_s, read_s, inflate_s, upload_s, compute_s, download_s, compress_s, write_s, checksum_s,
 *     other_s
 *     voxels      of the first image or label volume that was read: nx*ny*nz
 *     labels      what the last line that tells their number says
 *     device      "cpu", or "cuda:0 NVIDIA H200"
 *     memory      bytes of volumes that it held at its peak, and the most working memory of a line
 *     outputs     the files that were made, several separated by ';' (one of a name is \;): their
 *                 content, role, SHA-256, bytes, time of change, path, separated by blanks
 *     inputs      the files that were read, likewise
 *     key         SHA-256 of the recipe's lines with the scan's values in their places
 *     report      path of its report, relative to FOLDER, of a shard too
 *
 * A resumed batch skips a scan that is done where the key is the same, each output is there with
 * the same number of bytes, and each input has the same number of bytes and time of change or,
 * where the time differs, the same SHA-256.
 */
#ifndef LOB_BATCH_TABLE_H
#define LOB_BATCH_TABLE_H

#include "io/sha256.h"
#include "tools/text/names.h"
#include "tools/text/text.h"

#include <stdint.h>

/* The states, with their text. */
#define LOB_BATCH_STATES_LIST(X)   \
    X(LOB_SCAN_STARTED, "started") \
    X(LOB_SCAN_DONE, "done")       \
    X(LOB_SCAN_FAILED, "failed")   \
    X(LOB_SCAN_SKIPPED, "skipped") \
    X(LOB_SCAN_CANCELLED, "cancelled")

typedef enum {
#define LOB_BATCH_STATE_ENUM(name, text) name,
    LOB_BATCH_STATES_LIST(LOB_BATCH_STATE_ENUM)
#undef LOB_BATCH_STATE_ENUM
        LOB_SCAN_STATES
} lob_scan_state;

/* The stages of a scan. No second belongs to two; a stage of a command's own (smooth, level)
 * counts as compute. */
#define LOB_BATCH_STAGES_LIST(X)                                                \
    X(LOB_STAGE_WAIT, "wait") /* for memory, or for a device that others use */ \
    X(LOB_STAGE_READ, "read") /* files, without inflating */                    \
    X(LOB_STAGE_INFLATE, "inflate")                                             \
    X(LOB_STAGE_UPLOAD, "upload") /* to the device */                           \
    X(LOB_STAGE_COMPUTE, "compute")                                             \
    X(LOB_STAGE_DOWNLOAD, "download")                                           \
    X(LOB_STAGE_COMPRESS, "compress")                                           \
    X(LOB_STAGE_WRITE, "write") /* and bring to the disk */                     \
    X(LOB_STAGE_CHECKSUM, "checksum")                                           \
    X(LOB_STAGE_OTHER, "other")

typedef enum {
#define LOB_BATCH_STAGE_ENUM(name, text) name,
    LOB_BATCH_STAGES_LIST(LOB_BATCH_STAGE_ENUM)
#undef LOB_BATCH_STAGE_ENUM
        LOB_BATCH_STAGES
} lob_batch_stage;

const char *lob_scan_state_text(lob_scan_state state);
const char *lob_batch_stage_text(lob_batch_stage stage);

/* A file that a scan has read or written. */
typedef struct {
    char content; /* i: image, l: labels, t: table, o: another */
    char *role;   /* the option or operand, with the line that names it: "2:--output", "1:IMAGE" */
    char sha256[LOB_SHA256_TEXT]; /* empty: not known */
    int64_t bytes;
    int64_t mtime_ns; /* since 1970 */
    char *path;       /* as the manifest, the glob or the recipe has it */
} lob_batch_file;

typedef struct {
    lob_batch_file *file;
    int count;
} lob_batch_files;

/* A row of the status table. Texts are never NULL. */
typedef struct {
    char *scan;
    lob_scan_state state;
    int exit_code; /* -1: n/a */
    char *message;
    char started[32];
    double total_s, stage_s[LOB_BATCH_STAGES];
    int64_t voxels, labels, memory; /* -1: n/a */
    char *device;
    lob_batch_files outputs, inputs;
    char key[LOB_SHA256_TEXT];
    char *report; /* empty: none */
} lob_batch_row;

typedef struct {
    lob_batch_row *rows; /* one a scan */
    int64_t count;
    int64_t cut;     /* bytes of the file, without an unfinished last line */
    lob_names index; /* of the rows that were read, by scan */
} lob_batch_table;

/* Names of files in the folder. */
#define LOB_BATCH_STATUS_FILE  "status.tsv"
#define LOB_BATCH_REGIONS_FILE "regions.tsv"
#define LOB_BATCH_SUMMARY_FILE "summary.json"
#define LOB_BATCH_RECIPE_FILE  "recipe.txt"
#define LOB_BATCH_PAGE_FILE    "page.html"

/*
 * Read a folder's status table; of each scan its last row, in the order in which the scans first
 * appear.
 *
 *   out     out  overwritten, so it must hold nothing; empty on failure
 *   advice  in   ends the message about a file that is none; or ""
 *
 * Returns LOB_OK, LOB_ENOINPUT (there is none), LOB_EDATA (it is no status table), LOB_EIO or
 * LOB_ENOMEM.
 */
lob_status lob_batch_table_read(lob_batch_table *out, const char *folder, const char *advice,
                                lob_error *error);

/* The same of the bytes of such a file; path is for messages. */
lob_status lob_batch_table_parse(lob_batch_table *out, const char *bytes, size_t size,
                                 const char *path, const char *advice, lob_error *error);

/* The row of a scan in a table that was read and not ordered since; NULL: there is none. */
const lob_batch_row *lob_batch_table_find(const lob_batch_table *table, const char *scan);

/* Put rows in this order of their scans' names, and those of other scans behind them. Returns
 * LOB_OK or LOB_ENOMEM. */
lob_status lob_batch_table_order(lob_batch_table *table, const char *const *scans, int64_t count);

/* Free what files hold and leave none; what a row holds and leave it without a scan; the rows of a
 * table. */
void lob_batch_files_free(lob_batch_files *files);
void lob_batch_row_free(lob_batch_row *row);
void lob_batch_table_free(lob_batch_table *table);

/* The line of the names of columns, and that of a row. */
void lob_batch_header_add(lob_text *text);
void lob_batch_row_add(lob_text *text, const lob_batch_row *row);

/* The first input that is an image, else the first that is a volume; the last --output that holds
 * labels, else the last output that does, else the last input; the page with a viewer that `lobule
 * preview --html` wrote last. NULL: there is none. */
const lob_batch_file *lob_batch_image_of(const lob_batch_row *row);
const lob_batch_file *lob_batch_labels_of(const lob_batch_row *row);
const lob_batch_file *lob_batch_viewer_of(const lob_batch_row *row);

/*
 * The name of a scan's file in the folder: FOLDER/reports/SCAN.json for "reports" and ".json".
 * Malloc'ed, NULL without memory. The folders on its way need not exist.
 */
char *lob_batch_file_of(const char *folder, const char *part, const char *scan, const char *end);

#endif
