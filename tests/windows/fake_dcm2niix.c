/* In the place of dcm2niix.exe: does what the variable FAKE says, and tells the file of FAKE_MARK
 * where it runs. */
#include <direct.h>
#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static void mark(const char *line)
{
    FILE *const file = fopen(getenv("FAKE_MARK"), "a");
    if (file) fprintf(file, "%s\n", line), fclose(file);
}

int main(int argc, char **argv)
{
    const char *const what = getenv("FAKE");
    char folder[MAX_PATH];
    (void)argc;
    mark(_getcwd(folder, sizeof folder));
    if (strcmp(what, "lives") == 0)
        for (int i = 0; i < 600; i++, Sleep(100)) mark("alive");
    if (strcmp(what, "crashes") == 0) /* without the debugger that a real one starts */
        TerminateProcess(GetCurrentProcess(), EXCEPTION_ACCESS_VIOLATION);
    if (strcmp(what, "prints") == 0)
        for (int i = 0; i < 100000; i++) puts("Warning: no end of this");
    if (strcmp(what, "leaves a child") == 0) {
        putenv("FAKE=lives");
        _spawnl(_P_NOWAIT, argv[0], argv[0], NULL);
        Sleep(1000);
    }
    puts("Error: cannot decode");
    return 3;
}
