/*
 * The status table of a batch, a row a scan: what came of it, and where its report is. `lobule
 * batch` writes and reads it, `lobule repeat` reads it.
 *
 * UTF-8, tabs between cells, a line a row, the names of columns in the first line. In a cell \t,
 * \n, \r and \\ stand for these characters, n/a for what is not known. While a batch runs rows are
 * added as whole lines, `started` when a scan begins and one more when it ends: the last row of a
 * scan counts, and an unfinished last line, of a machine that stopped, is none. In the end the
 * table is written anew, with a row a scan in the order of the manifest; scans that were never
 * begun have no row. Scans that a resumed batch finds in the table and not in its manifest keep
 * their rows, behind the others. The columns:
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
#ifndef LOB_STATUS_TABLE_H
#define LOB_STATUS_TABLE_H

#include "io/sha256.h"
#include "tools/text/names.h"
#include "tools/text/text.h"

#include <stdint.h>

#define LOB_BATCH_STATES_LIST(X)   \
    X(LOB_SCAN_STARTED, "started") \
    X(LOB_SCAN_DONE, "done")       \
    X(LOB_SCAN_FAILED, "failed")   \
    X(LOB_SCAN_SKIPPED, "skipped") \
    X(LOB_SCAN_CANCELLED, "cancelled")

/* No second belongs to two stages; one of a command's own (smooth, level) counts as compute. */
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

#define LOB_BATCH_ENUM(name, text) name,
typedef enum { LOB_BATCH_STATES_LIST(LOB_BATCH_ENUM) LOB_SCAN_STATES } lob_scan_state;
typedef enum { LOB_BATCH_STAGES_LIST(LOB_BATCH_ENUM) LOB_BATCH_STAGES } lob_batch_stage;
#undef LOB_BATCH_ENUM

extern const char *const lob_scan_state_text[LOB_SCAN_STATES];
extern const char *const lob_batch_stage_text[LOB_BATCH_STAGES];

/* A file that a scan has read or written. */
typedef struct {
    char content; /* i: image, l: labels, t: table, o: another */
    char *role;   /* the option or operand, with the line that names it: "2:--output", "1:IMAGE" */
    char sha256[LOB_SHA256_TEXT]; /* empty: not known */
    int64_t bytes;
    int64_t mtime_ns; /* since 1970; 0: it may have been changed while the scan ran */
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
    int64_t exit_code, voxels, labels, memory; /* -1: n/a */
    char *message;
    char started[32];
    double total_s, stage_s[LOB_BATCH_STAGES];
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

#define LOB_BATCH_STATUS_FILE "status.tsv"

/*
 * Read a status table; of each scan its last row, in the order in which the scans first appear.
 *
 *   out     out  overwritten, so it must hold nothing; empty on failure
 *   path    in   the file, or the folder that it is in
 *   advice  in   ends the message about a file that is none; or ""
 *
 * Returns LOB_OK, LOB_ENOINPUT (there is none), LOB_EDATA (it is no status table), LOB_EIO or
 * LOB_ENOMEM. lob_batch_table_parse does so with the bytes of such a file; path is for messages.
 */
lob_status lob_batch_table_read(lob_batch_table *out, const char *path, const char *advice,
                                lob_error *error);
lob_status lob_batch_table_parse(lob_batch_table *out, const char *bytes, size_t size,
                                 const char *path, const char *advice, lob_error *error);

/* The row of a scan in a table that was read and not ordered since; NULL: there is none. */
const lob_batch_row *lob_batch_table_find(const lob_batch_table *table, const char *scan);

/* The path of a row's report, by that from which the table was read; malloc'ed, NULL without
 * memory. */
char *lob_batch_report_of(const char *path, const lob_batch_row *row);

/* Put a row in the place of the one of its scan, or behind all, and leave it without a scan; false
 * without memory. */
bool lob_batch_table_put(lob_batch_table *table, lob_batch_row *row);

/* Put rows in the places of their scans, which count from 0, and those of other scans behind them.
 * Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_batch_table_order(lob_batch_table *table, const lob_names *places);

/* Free what a row holds and leave it without a scan; the rows of a table. */
void lob_batch_row_free(lob_batch_row *row);
void lob_batch_table_free(lob_batch_table *table);

/* The line of the names of columns, and that of a row. */
void lob_batch_header_add(lob_text *text);
void lob_batch_row_add(lob_text *text, const lob_batch_row *row);

#endif
