/*
 * NeXus: a group of the class NXdata, found by the attributes `default` from the root on, or the
 * only one of the file. `signal` names the data set with the voxels, `axes` a data set for each of
 * its dimensions, slowest first, with the places of the samples and their `units` (mm without).
 * Axes called x, y, z, time or channel are taken for that, the others, from the fastest on, for
 * what of x, y, z, time and channel is left. Evenly spaced places give spacing and position.
 */
#include "io/hdf5/hdf5_parts.h"
#include "volumes/free.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 8, MAX_PLACES = 1 << 22 };

/* ---- finding ---- */

static bool has_class(hid_t group, const char *class)
{
    char *text = H5Iget_type(group) == H5I_GROUP ? lob_hdf5_text(group, "NX_class", "") : NULL;
    const bool has = text && strcmp(text, class) == 0;
    free(text);
    return has;
}

/* An NXdata group whose signal may be a volume. */
static bool is_data(hid_t group)
{
    if (!has_class(group, "NXdata")) return false;
    char *signal = lob_hdf5_text(group, "signal", "");
    const bool is =
        signal && !strchr(signal, '/') && lob_hdf5_has(group, signal, lob_hdf5_is_volume);
    free(signal);
    return is;
}

/* One step along `default`, down from path; false at the chain's end. */
static bool follow_default(char path[LOB_HDF5_PATH], hid_t group)
{
    char *next = H5Iget_type(group) == H5I_GROUP ? lob_hdf5_text(group, "default", "") : NULL;
    const size_t used = strcmp(path, "/") == 0 ? 0 : strlen(path);
    const bool fits =
        next && next[0] && snprintf(NULL, 0, "%s", next) < (int)(LOB_HDF5_PATH - used - 1);
    if (fits) snprintf(path + used, LOB_HDF5_PATH - used, "/%s", next);
    free(next);
    return fits;
}

static lob_status nexus_find(char path[LOB_HDF5_PATH], const char *asked,
                             const lob_hdf5_reading *in)
{
    strcpy(path, asked);
    for (int i = 0; i < MAX_STEPS; i++) {
        const hid_t group = lob_hdf5_open(in, path);
        if (group < 0) break;
        const bool is = is_data(group), more = !is && follow_default(path, group);
        H5Oclose(group);
        if (is) return LOB_OK;
        if (!more) break;
    }
    /* The signal itself. */
    const char *last = strrchr(asked, '/');
    if (last && last[1] && lob_hdf5_parent(path, asked, last + 1)) {
        const hid_t group = lob_hdf5_open(in, path);
        char *signal = group >= 0 && is_data(group) ? lob_hdf5_text(group, "signal", "") : NULL;
        const bool is = signal && strcmp(signal, last + 1) == 0;
        free(signal);
        if (group >= 0) H5Oclose(group);
        if (is) return LOB_OK;
    }
    return lob_hdf5_only(path, asked, in, is_data);
}

/* ---- axes ---- */

/* The part of `names`, which has commas between; false when there are not so many. */
static bool name_at(char name[256], const char *names, int index)
{
    for (; names && index > 0; index--) {
        names = strchr(names, ',');
        if (names) names++;
    }
    if (!names) return false;
    snprintf(name, 256, "%.*s", (int)strcspn(names, ","), names);
    return name[0] && strcmp(name, ".") != 0 && !strchr(name, '/');
}

/* A letter for each dimension. */
static void letters_of(char letters[LOB_HDF5_MAX_AXES + 1], const char *names, int rank)
{
    static const struct {
        const char *name;
        char letter;
    } known[] = {
        {"x",       'x'},
        {"y",       'y'},
        {"z",       'z'},
        {"t",       't'},
        {"time",    't'},
        {"c",       'c'},
        {"channel", 'c'},
    };
    char name[256];
    memset(letters, 0, LOB_HDF5_MAX_AXES + 1);
    for (int i = 0; i < rank; i++)
        for (size_t k = 0; name_at(name, names, i) && k < sizeof known / sizeof known[0]; k++)
            if (strcmp(name, known[k].name) == 0 &&
                !memchr(letters, known[k].letter, LOB_HDF5_MAX_AXES))
                letters[i] = known[k].letter;
    for (int i = rank - 1; i >= 0; i--)
        for (const char *free_letter = "xyztc"; !letters[i] && *free_letter; free_letter++)
            if (!memchr(letters, *free_letter, LOB_HDF5_MAX_AXES)) letters[i] = *free_letter;
}

/* Places of samples along an axis: the first and the step; false when they are not even. */
static bool read_places(double *first, double *step, hid_t set, hsize_t n)
{
    if (n + 1 > MAX_PLACES) return false;
    double *places = malloc((size_t)(n + 1) * sizeof *places);
    const int got = places ? lob_hdf5_numbers(places, (int)n + 1, set, NULL) : -1;
    bool ok = got == (int)n || got == (int)n + 1; /* one more: the edges of bins */
    if (ok && got > 1) {
        *step = (places[got - 1] - places[0]) / (got - 1);
        *first = places[0] + (got == (int)n ? 0.0 : *step / 2);
    }
    for (int i = 0; ok && got > 1 && i < got; i++)
        ok = fabs(places[i] - places[0] - i * *step) <= 1e-3 * fabs(*step);
    ok = ok && got > 1 && isfinite(*step) && *step != 0.0 && isfinite(*first);
    free(places);
    return ok;
}

/* What a spatial axis says; false when it says nothing that can be used. */
static bool read_axis(double *first_mm, double *step_mm, double *unit_mm, const char *group,
                      const char *name, const lob_hdf5_view *view, hsize_t n,
                      const lob_hdf5_reading *in)
{
    char path[LOB_HDF5_PATH + 260];
    snprintf(path, sizeof path, "%s/%s", group, name);
    const hid_t set = lob_hdf5_open_set(in, path);
    if (set < 0) return false;
    double first = 0.0, step = 1.0;
    const bool ok = read_places(&first, &step, set, n);
    char *units = ok ? lob_hdf5_text(set, "units", "") : NULL;
    H5Oclose(set);
    if (!ok) return false;
    *unit_mm = lob_hdf5_unit_mm(units, 1.0, view, in);
    free(units);
    *first_mm = first * *unit_mm;
    *step_mm = step * *unit_mm;
    return true;
}

static void take_place(lob_hdf5_view *view, const char *group, const char *names,
                       const lob_hdf5_reading *in)
{
    double first_mm[3] = {0, 0, 0}, step_mm[3] = {1, 1, 1}, largest_mm = 0.0;
    bool known = true;
    for (int a = 0; a < 3; a++) {
        char name[256];
        double unit_mm = 0.0;
        if (view->at[a] < 0) continue;
        known = name_at(name, names, view->at[a]) &&
                read_axis(&first_mm[a], &step_mm[a], &unit_mm, group, name, view,
                          view->extent[view->at[a]], in) &&
                known;
        largest_mm = fmax(largest_mm, unit_mm);
    }
    if (!known && !in->spaced)
        lob_warn(in->info, "%s: not all of its axes say evenly where samples are; 1 mm for those",
                 view->path);
    lob_hdf5_take_box(view, step_mm, first_mm, largest_mm > 0.0 && largest_mm <= 1e-3, in);
}

static lob_status nexus_view(lob_hdf5_view *view, const char *path, const lob_hdf5_reading *in)
{
    char set[LOB_HDF5_PATH + 260], letters[LOB_HDF5_MAX_AXES + 1];
    const hid_t group = lob_hdf5_demand(in, path);
    if (group < 0) return LOB_EDATA;
    char *signal = lob_hdf5_text(group, "signal", ""), *names = lob_hdf5_text(group, "axes", ",");
    H5Oclose(group);
    snprintf(set, sizeof set, "%s/%s", strcmp(path, "/") == 0 ? "" : path, signal ? signal : "");
    const lob_status st = lob_hdf5_view_set(view, set, in);
    if (st == LOB_OK) {
        letters_of(letters, names, view->rank);
        if (!lob_hdf5_take_letters(view, letters)) { /* say, y and z */
            letters_of(letters, NULL, view->rank);
            lob_hdf5_take_letters(view, letters);
        }
        take_place(view, path, names, in);
    }
    LOB_FREE(signal, names);
    return st;
}

const lob_hdf5_layout lob_hdf5_nexus = {"NeXus", nexus_find, nexus_view};
