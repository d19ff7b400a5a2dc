// Loaded before the C library: the first FEEDLINE_TEST_READS calls of pread() work, and no later one comes back, as on
// a mount that hangs.
#include "tests/cli/counted_pread.h"

void before_read(long left) {
    if (left > 0) return;
    while (true) ::pause();
}
