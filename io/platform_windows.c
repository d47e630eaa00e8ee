/* What files ask of the operating system, where that is Windows: by the calls that take wide names.
 */
#include "io/calls_windows.h"
#include "io/platform.h"

#include <bcrypt.h>
#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <sddl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <wchar.h>

/* ---- errors ---- */

/* Leave errno for what a call of Windows' failed of; gives -1. */
static int fail(void)
{
    static const struct {
        DWORD code;
        int number;
    } known[] = {
        {ERROR_FILE_NOT_FOUND,       ENOENT      },
        {ERROR_PATH_NOT_FOUND,       ENOENT      },
        {ERROR_INVALID_NAME,         ENOENT      },
        {ERROR_BAD_PATHNAME,         ENOENT      },
        {ERROR_BAD_NETPATH,          ENOENT      },
        {ERROR_BAD_NET_NAME,         ENOENT      },
        {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
        {ERROR_DIRECTORY,            ENOTDIR     },
        {ERROR_ACCESS_DENIED,        EACCES      },
        {ERROR_SHARING_VIOLATION,    EACCES      },
        {ERROR_WRITE_PROTECT,        EROFS       },
        {ERROR_LOCK_VIOLATION,       EWOULDBLOCK },
        {ERROR_IO_PENDING,           EWOULDBLOCK },
        {ERROR_FILE_EXISTS,          EEXIST      },
        {ERROR_ALREADY_EXISTS,       EEXIST      },
        {ERROR_DIR_NOT_EMPTY,        ENOTEMPTY   },
        {ERROR_DISK_FULL,            ENOSPC      },
        {ERROR_HANDLE_DISK_FULL,     ENOSPC      },
        {ERROR_NOT_ENOUGH_MEMORY,    ENOMEM      },
        {ERROR_OUTOFMEMORY,          ENOMEM      },
        {ERROR_TOO_MANY_OPEN_FILES,  EMFILE      },
        {ERROR_BROKEN_PIPE,          EPIPE       },
        {ERROR_NO_DATA,              EPIPE       },
    };
    const DWORD code = GetLastError();
    errno = EIO;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].code == code) errno = known[i].number;
    return -1;
}

/* ---- names ---- */

/*
 * A path for Windows, malloc'ed; NULL and errno. One of some length gets the prefix without which
 * Windows takes 260 characters at most; with it nothing is left to be worked out, so it is made
 * whole first.
 */
static wchar_t *wide(const char *path)
{
    enum { SHORT = 240 };
    if (!path[0]) return errno = ENOENT, NULL;
    wchar_t *const name = lob_wide(path);
    if (!name) return NULL;
    for (wchar_t *c = name; *c; c++)
        if (*c == L'/') *c = L'\\';
    const DWORD size = GetFullPathNameW(name, 0, NULL, NULL);
    const bool is_device = wcsncmp(name, L"\\\\?\\", 4) == 0 || wcsncmp(name, L"\\\\.\\", 4) == 0;
    if (size < SHORT || is_device) return name;
    /* "\\?\C:\folder", and for a folder of another machine "\\?\UNC\machine\folder". */
    wchar_t *const whole = malloc(((size_t)size + 6) * sizeof *whole);
    if (whole) {
        GetFullPathNameW(name, size, whole + 6, NULL);
        const bool is_far = wcsncmp(whole + 6, L"\\\\", 2) == 0;
        wmemcpy(whole, L"\\\\?\\UNC", is_far ? 7 : 4);
        if (!is_far) wmemmove(whole + 4, whole + 6, size);
    }
    free(name);
    return whole ? whole : (errno = ENOMEM, NULL);
}

/* A path from Windows, malloc'ed; NULL without memory. */
static char *narrow(const wchar_t *name)
{
    if (wcsncmp(name, L"\\\\?\\", 4) == 0 && name[5] == L':') name += 4;
    char *const path = lob_narrow(name);
    if (!path) return NULL;
    if (strncmp(path, "\\\\?\\UNC\\", 8) == 0) memmove(path + 1, path + 7, strlen(path + 7) + 1);
    lob_path_take(path);
    return path;
}

static bool is_drive(const char *path)
{
    return ((path[0] >= 'a' && path[0] <= 'z') || (path[0] >= 'A' && path[0] <= 'Z')) &&
           path[1] == ':';
}

const char *lob_name_in_path(const char *path)
{
    const char *name = is_drive(path) ? path + 2 : path;
    for (const char *c = name; *c; c++)
        if (*c == '/' || *c == '\\') name = c + 1;
    return name;
}

bool lob_is_from_root(const char *path)
{
    return path[0] == '/' || path[0] == '\\' || is_drive(path);
}

void lob_path_take(char *path)
{
    for (; *path; path++)
        if (*path == '\\') *path = '/';
}

/* A handle on what a path leads to, or on the link itself, for asking about it, or with a right. */
static HANDLE look(const char *path, DWORD right, bool follow)
{
    wchar_t *const name = wide(path);
    if (!name) return INVALID_HANDLE_VALUE;
    const HANDLE h = CreateFileW(
        name, right, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
        FILE_FLAG_BACKUP_SEMANTICS | (follow ? 0 : FILE_FLAG_OPEN_REPARSE_POINT), NULL);
    if (h == INVALID_HANDLE_VALUE) fail();
    free(name);
    return h;
}

/* Where what is open lies, malloc'ed; NULL and errno. */
static wchar_t *name_of_open(HANDLE h)
{
    const DWORD n = GetFinalPathNameByHandleW(h, NULL, 0, 0);
    wchar_t *const name = n ? malloc(((size_t)n + 1) * sizeof *name) : NULL;
    if (name && GetFinalPathNameByHandleW(h, name, n + 1, 0)) return name;
    fail();
    free(name);
    return NULL;
}

char *lob_real_path(const char *path)
{
    const HANDLE h = look(path, 0, true);
    if (h == INVALID_HANDLE_VALUE) return NULL;
    wchar_t *const name = name_of_open(h);
    char *const real = name ? narrow(name) : NULL;
    free(name);
    CloseHandle(h);
    return real;
}

char *lob_code_folder(void)
{
    enum { LONGEST = 1 << 15 };
    HMODULE code;
    wchar_t *const name = malloc(LONGEST * sizeof *name);
    const DWORD how =
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    char *path = NULL;
    if (name && GetModuleHandleExW(how, (const wchar_t *)(void *)lob_code_folder, &code)) {
        const DWORD n = GetModuleFileNameW(code, name, LONGEST);
        if (n > 0 && n < LONGEST) path = narrow(name);
    }
    free(name);
    if (path) *(char *)lob_name_in_path(path) = '\0';
    return path;
}

bool lob_is_program_of_ours(const char *path)
{
    return lob_is_file(path);
}

/* ---- what is there ---- */

/* Windows counts tenths of microseconds from 1601 on. */
static int64_t ns_since_1970(FILETIME time)
{
    const uint64_t ticks = (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
    return ((int64_t)ticks - 116444736000000000) * 100;
}

static bool about_handle(lob_about *about, HANDLE h)
{
    BY_HANDLE_FILE_INFORMATION is;
    if (GetFileType(h) != FILE_TYPE_DISK) {
        *about = (lob_about){0};
        return true;
    }
    if (!GetFileInformationByHandle(h, &is)) return fail() == 0;
    const bool is_folder = is.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
    const bool is_link = is.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT;
    *about = (lob_about){
        .is_file = !is_folder && !is_link,
        .is_folder = is_folder && !is_link,
        .bytes = (int64_t)is.nFileSizeHigh << 32 | is.nFileSizeLow,
        .modified_ns = ns_since_1970(is.ftLastWriteTime),
        .device = is.dwVolumeSerialNumber,
        .number = (uint64_t)is.nFileIndexHigh << 32 | is.nFileIndexLow,
    };
    return true;
}

static bool about_name(lob_about *about, const char *path, bool follow)
{
    const HANDLE h = look(path, 0, follow);
    if (h == INVALID_HANDLE_VALUE) return false;
    const bool known = about_handle(about, h);
    CloseHandle(h);
    return known;
}

bool lob_about_path(lob_about *about, const char *path)
{
    return about_name(about, path, true);
}

bool lob_about_link(lob_about *about, const char *path)
{
    return about_name(about, path, false);
}

bool lob_about_open(lob_about *about, int fd)
{
    return about_handle(about, (HANDLE)_get_osfhandle(fd));
}

/* A folder's read-only mark means nothing, and its list of rights is asked by opening it. */
bool lob_can_make_files_in(const char *folder)
{
    const HANDLE h = look(folder, FILE_ADD_FILE, true);
    if (h == INVALID_HANDLE_VALUE) return false;
    CloseHandle(h);
    return true;
}

struct lob_entries {
    HANDLE search;
    WIN32_FIND_DATAW found;
    bool first; /* what is found has not been given yet */
    char name[4 * MAX_PATH];
};

lob_entries *lob_entries_open(const char *folder)
{
    lob_entries *const entries = malloc(sizeof *entries);
    char *const all = malloc(strlen(folder) + 3);
    wchar_t *name = NULL;
    if (entries && all) {
        strcpy(all, folder);
        strcat(all, "/*");
        name = wide(all);
    }
    if (name) {
        entries->search = FindFirstFileW(name, &entries->found);
        entries->first = true;
        if (entries->search == INVALID_HANDLE_VALUE) fail();
    }
    const bool open = name && entries->search != INVALID_HANDLE_VALUE;
    free(name);
    free(all);
    if (open) return entries;
    free(entries);
    return NULL;
}

const char *lob_entries_next(lob_entries *entries)
{
    for (;;) {
        if (!entries->first && !FindNextFileW(entries->search, &entries->found)) return NULL;
        entries->first = false;
        const wchar_t *const name = entries->found.cFileName;
        if (wcscmp(name, L".") == 0 || wcscmp(name, L"..") == 0) continue;
        if (WideCharToMultiByte(CP_UTF8, 0, name, -1, entries->name, sizeof entries->name, NULL,
                                NULL) > 0)
            return entries->name;
    }
}

bool lob_entries_is_folder(const lob_entries *entries)
{
    return (entries->found.dwFileAttributes &
            (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) == FILE_ATTRIBUTE_DIRECTORY;
}

void lob_entries_close(lob_entries *entries)
{
    if (entries) FindClose(entries->search);
    free(entries);
}

bool lob_name_matches(const char *pattern, const char *name)
{
    return fnmatch(pattern, name, FNM_PERIOD) == 0;
}

/* ---- folders and names ---- */

int lob_make_folder(const char *path)
{
    wchar_t *const name = wide(path);
    const int failed = name ? _wmkdir(name) : -1;
    free(name);
    return failed;
}

int lob_remove_folder(const char *path)
{
    wchar_t *const name = wide(path);
    const int failed = name ? _wrmdir(name) : -1;
    free(name);
    return failed;
}

/* A hard link, as only some users may make others; not of a file that may not be written, which
 * would be so under both names and could not be removed. */
int lob_stand_for(const char *file, const char *name)
{
    wchar_t *const old = wide(file), *const new = old ? wide(name) : NULL;
    const DWORD about = new ? GetFileAttributesW(old) : INVALID_FILE_ATTRIBUTES;
    bool done = new && !(about & FILE_ATTRIBUTE_READONLY) && CreateHardLinkW(new, old, NULL);
    if (new && !done)
        done = CopyFileW(old, new, TRUE) && SetFileAttributesW(new, FILE_ATTRIBUTE_NORMAL);
    if (new && !done) fail();
    free(old);
    free(new);
    return done ? 0 : -1;
}

const char *lob_temporary_root(void)
{
    static _Thread_local char root[4 * MAX_PATH];
    wchar_t folder[MAX_PATH + 1];
    const DWORD length = GetTempPathW(MAX_PATH + 1, folder);
    if (length == 0 || length > MAX_PATH ||
        !WideCharToMultiByte(CP_UTF8, 0, folder, -1, root, sizeof root, NULL, NULL))
        return ".";
    lob_path_take(root);
    const size_t n = strlen(root);
    if (n > 3 && root[n - 1] == '/') root[n - 1] = '\0';
    return root;
}

/* Its owner may do all, and nobody else anything, whatever the folder around it allows. */
static int make_own(const char *path)
{
    SECURITY_ATTRIBUTES rights = {.nLength = sizeof rights};
    wchar_t *const name = wide(path);
    const bool made =
        name &&
        ConvertStringSecurityDescriptorToSecurityDescriptorW(
            L"D:P(A;OICI;FA;;;OW)", SDDL_REVISION_1, &rights.lpSecurityDescriptor, NULL) &&
        CreateDirectoryW(name, &rights);
    if (name && !made) fail();
    LocalFree(rights.lpSecurityDescriptor);
    free(name);
    return made ? 0 : -1;
}

int lob_make_own_folder(char *pattern)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    char *const end = pattern + strlen(pattern) - 6;
    for (int tries = 0; tries < 100; tries++) {
        unsigned char chance[6];
        lob_random(chance, sizeof chance);
        for (int i = 0; i < 6; i++) end[i] = letters[chance[i] % (sizeof letters - 1)];
        if (make_own(pattern) == 0) return 0;
        if (errno != EEXIST) return -1;
    }
    return -1;
}

/* A scanner of viruses or an index may have a file open for a moment: it is moved, or removed where
 * `to` is NULL, within a second. */
static int move_or_remove(const char *from, const char *to, DWORD how)
{
    wchar_t *const old = wide(from), *const new = old &&to ? wide(to) : NULL;
    int failed = old && (new || !to) ? 0 : -1;
    for (int tries = 0; failed == 0; tries++) {
        if (to ? MoveFileExW(old, new, how | MOVEFILE_WRITE_THROUGH) : DeleteFileW(old)) break;
        const DWORD code = GetLastError();
        failed = fail();
        /* What is there but may not be removed is so a second later. */
        if (errno != EACCES || (!to && code != ERROR_SHARING_VIOLATION) || tries == 20) break;
        Sleep(50);
        failed = 0;
    }
    const int why = errno;
    free(old);
    free(new);
    errno = why;
    return failed;
}

int lob_remove_file(const char *path)
{
    return move_or_remove(path, NULL, 0);
}

int lob_rename_over(const char *from, const char *to)
{
    return move_or_remove(from, to, MOVEFILE_REPLACE_EXISTING);
}

int lob_rename_to_new(const char *from, const char *to)
{
    return move_or_remove(from, to, 0);
}

int lob_exchange_names(const char *a, const char *b)
{
    (void)a;
    (void)b;
    return errno = ENOSYS, -1;
}

/* ---- descriptors ---- */

/* Others may read, write, rename and remove what is open here, as they may elsewhere. */
enum { SHARED = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE };

static int open_wide(const char *path, DWORD access, DWORD share, DWORD how, DWORD attributes,
                     int flags)
{
    wchar_t *const name = wide(path);
    if (!name) return -1;
    const HANDLE h = CreateFileW(name, access, share, NULL, how, attributes, NULL);
    const DWORD why = GetLastError();
    free(name);
    SetLastError(why);
    if (h == INVALID_HANDLE_VALUE) return fail();
    const int fd = _open_osfhandle((intptr_t)h, flags | _O_BINARY);
    if (fd < 0) CloseHandle(h);
    return fd;
}

int lob_open_to_read(const char *path, bool follow)
{
    return open_wide(path, GENERIC_READ, SHARED, OPEN_EXISTING,
                     FILE_FLAG_BACKUP_SEMANTICS | (follow ? 0 : FILE_FLAG_OPEN_REPARSE_POINT),
                     _O_RDONLY);
}

int lob_open_new(const char *path)
{
    return open_wide(path, GENERIC_READ | GENERIC_WRITE, SHARED, CREATE_NEW, FILE_ATTRIBUTE_NORMAL,
                     _O_RDWR);
}

/* There are none here that could get a name later. */
int lob_open_unnamed(char **name, const char *folder)
{
    (void)folder;
    *name = NULL;
    return -1;
}

int lob_name_unnamed(const char *unnamed, const char *name)
{
    (void)unnamed;
    (void)name;
    errno = ENOSYS;
    return -1;
}

int lob_open_to_change(const char *path)
{
    return open_wide(path, GENERIC_READ | GENERIC_WRITE, SHARED, OPEN_EXISTING,
                     FILE_ATTRIBUTE_NORMAL, _O_RDWR);
}

int lob_open_to_add(const char *path)
{
    return open_wide(path, GENERIC_READ | GENERIC_WRITE, SHARED, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL,
                     _O_RDWR | _O_APPEND);
}

int lob_open_to_lock(const char *path)
{
    return open_wide(path, GENERIC_READ | GENERIC_WRITE, SHARED, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL,
                     _O_RDWR);
}

/* Locks keep others from reading, so it is a byte beyond any end. */
int lob_fd_lock(int fd)
{
    OVERLAPPED at = {.Offset = 0, .OffsetHigh = 0x7fffffff};
    return LockFileEx((HANDLE)_get_osfhandle(fd),
                      LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
               ? 0
               : fail();
}

/* No folder can be locked: a file in it is, which nobody else can open and which goes when it is
 * closed. While it goes, and while a scanner of viruses has it, it can be opened as little as in a
 * folder where nobody may write: to be refused says little at first. */
int lob_lock_folder(const char *path, int wait_ms)
{
    enum { LEAST_MS = 100, STEP_MS = 5 };
    const ULONGLONG most_ms = (ULONGLONG)(wait_ms < LEAST_MS ? LEAST_MS : wait_ms);
    const ULONGLONG start_ms = GetTickCount64();
    char *const name = malloc(strlen(path) + sizeof "/.lobule.lock");
    if (!name) return errno = ENOMEM, -1;
    strcpy(name, path);
    strcat(name, "/.lobule.lock");
    int fd;
    for (;;) {
        fd = open_wide(name, GENERIC_READ | GENERIC_WRITE | DELETE, 0, OPEN_ALWAYS,
                       FILE_ATTRIBUTE_HIDDEN | FILE_FLAG_DELETE_ON_CLOSE, _O_RDWR);
        if (fd >= 0 || errno != EACCES) break;
        if (GetLastError() == ERROR_SHARING_VIOLATION) errno = EWOULDBLOCK;
        if (GetTickCount64() - start_ms >= most_ms) break;
        Sleep(STEP_MS);
    }
    const int why = errno;
    free(name);
    errno = why;
    return fd;
}

int lob_lock_own_folder(const char *path)
{
    return lob_lock_folder(path, 0);
}

int64_t lob_fd_read(int fd, void *bytes, size_t n)
{
    return _read(fd, bytes, n < (size_t)1 << 30 ? (unsigned)n : 1u << 30);
}

int64_t lob_fd_write(int fd, const void *bytes, size_t n)
{
    return _write(fd, bytes, n < (size_t)1 << 30 ? (unsigned)n : 1u << 30);
}

int64_t lob_fd_read_at(int fd, void *bytes, size_t n, int64_t offset)
{
    OVERLAPPED at = {.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
    DWORD done = 0;
    if (ReadFile((HANDLE)_get_osfhandle(fd), bytes, n < (size_t)1 << 30 ? (DWORD)n : 1u << 30,
                 &done, &at) ||
        GetLastError() == ERROR_HANDLE_EOF)
        return done;
    return fail();
}

int64_t lob_fd_write_at(int fd, const void *bytes, size_t n, int64_t offset)
{
    OVERLAPPED at = {.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
    DWORD done = 0;
    return WriteFile((HANDLE)_get_osfhandle(fd), bytes, n < (size_t)1 << 30 ? (DWORD)n : 1u << 30,
                     &done, &at)
               ? (int64_t)done
               : fail();
}

int64_t lob_fd_seek(int fd, int64_t offset, int whence)
{
    return _lseeki64(fd, offset, whence);
}

int lob_fd_cut(int fd, int64_t bytes)
{
    const int why = _chsize_s(fd, bytes);
    if (why) errno = why;
    return why ? -1 : 0;
}

int lob_fd_flush(int fd)
{
    return FlushFileBuffers((HANDLE)_get_osfhandle(fd)) ? 0 : fail();
}

int lob_fd_flush_data(int fd)
{
    return lob_fd_flush(fd);
}

int lob_fd_close(int fd)
{
    return _close(fd);
}

/* MOVEFILE_WRITE_THROUGH has done it. */
void lob_flush_folder(const char *folder)
{
    (void)folder;
}

FILE *lob_stream_of(const char *path)
{
    const int fd = lob_open_to_read(path, true);
    FILE *const stream = fd >= 0 ? _fdopen(fd, "rb") : NULL;
    if (fd >= 0 && !stream) _close(fd);
    return stream;
}

/* ---- memory ---- */

void *lob_map(int fd, size_t bytes)
{
    const HANDLE view =
        CreateFileMappingW((HANDLE)_get_osfhandle(fd), NULL, PAGE_READONLY, 0, 0, NULL);
    if (!view) return fail(), NULL;
    void *const map = MapViewOfFile(view, FILE_MAP_READ, 0, 0, bytes);
    if (!map) fail();
    CloseHandle(view);
    return map;
}

void lob_unmap(void *map, size_t bytes)
{
    (void)bytes;
    UnmapViewOfFile(map);
}

/* Unlocking pages that are not locked takes them out of the working set. */
void lob_unload(void *map, size_t bytes)
{
    VirtualUnlock(map, bytes);
}

static MEMORYSTATUSEX memory_now(void)
{
    MEMORYSTATUSEX now = {.dwLength = sizeof now};
    if (!GlobalMemoryStatusEx(&now)) now.ullAvailPhys = now.ullTotalPhys = 0;
    return now;
}

/* Of the folder that it is in, or is. */
int64_t lob_disk_free(int fd)
{
    lob_about about;
    ULARGE_INTEGER bytes = {.QuadPart = 0};
    wchar_t *const name = name_of_open((HANDLE)_get_osfhandle(fd));
    wchar_t *const end =
        name && lob_about_open(&about, fd) && about.is_file ? wcsrchr(name, L'\\') : NULL;
    if (end) end[1] = L'\0';
    if (name && !GetDiskFreeSpaceExW(name, &bytes, NULL, NULL)) bytes.QuadPart = 0;
    free(name);
    return (int64_t)bytes.QuadPart;
}

int64_t lob_memory_free(void)
{
    return (int64_t)memory_now().ullAvailPhys;
}

int64_t lob_memory_in_all(void)
{
    return (int64_t)memory_now().ullTotalPhys;
}

/* A file in the folder for such files, which Windows keeps in memory while there is room. */
FILE *lob_memory_stream(char **bytes, size_t *size)
{
    wchar_t folder[MAX_PATH + 1], name[MAX_PATH + 1];
    *bytes = NULL;
    *size = 0;
    if (!GetTempPathW(MAX_PATH + 1, folder) || !GetTempFileNameW(folder, L"lob", 0, name))
        return fail(), NULL;
    const HANDLE h =
        CreateFileW(name, GENERIC_READ | GENERIC_WRITE | DELETE, FILE_SHARE_DELETE, NULL,
                    CREATE_ALWAYS, FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    if (h == INVALID_HANDLE_VALUE) return fail(), NULL;
    const int fd = _open_osfhandle((intptr_t)h, _O_RDWR | _O_BINARY);
    FILE *const stream = fd >= 0 ? _fdopen(fd, "w+b") : NULL;
    if (!stream && fd >= 0) _close(fd);
    if (fd < 0) CloseHandle(h);
    return stream;
}

bool lob_memory_stream_end(FILE *stream, char **bytes, size_t *size)
{
    bool whole = fflush(stream) == 0 && !ferror(stream);
    const int64_t n = whole ? _ftelli64(stream) : -1;
    char *const all = n >= 0 ? malloc((size_t)n + 1) : NULL;
    if (all) {
        rewind(stream);
        whole = fread(all, 1, (size_t)n, stream) == (size_t)n;
        all[n] = '\0';
    }
    fclose(stream);
    if (all && whole) {
        *bytes = all;
        *size = (size_t)n;
        return true;
    }
    free(all);
    return false;
}

/* ---- others ---- */

char *lob_environment(const char *name)
{
    enum { LONGEST = 1 << 15 }; /* of a value, with its end */
    wchar_t *const key = lob_wide(name), *const value = malloc(LONGEST * sizeof *value);
    char *text = NULL;
    if (key && value) {
        const DWORD n = GetEnvironmentVariableW(key, value, LONGEST);
        if (n > 0 && n < LONGEST) text = lob_narrow(value);
    }
    free(value);
    free(key);
    return text;
}

void lob_random(void *bytes, size_t n)
{
    BCryptGenRandom(NULL, bytes, (ULONG)n, BCRYPT_USE_SYSTEM_PREFERRED_RNG);
}

int lob_fprintf(FILE *to, const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int n = to == stderr ? vasprintf(&text, format, arguments) : vfprintf(to, format, arguments);
    va_end(arguments);
    if (to != stderr || n < 0) return n;
    fflush(stdout);
    n = _write(_fileno(to), text, (unsigned)n);
    free(text);
    return n;
}

const char *lob_errno_text(int number, char *text, size_t size)
{
    if (number == EACCES) /* as a spreadsheet has the table that it shows */
        snprintf(text, size, "Permission denied, or another program has it open");
    else if (strerror_s(text, size, number) != 0)
        snprintf(text, size, "error %d", number);
    return text;
}
