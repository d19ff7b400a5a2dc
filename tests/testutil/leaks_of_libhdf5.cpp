// For test programs that give damaged HDF5 files to the library.
// What libhdf5 gets for a file that then turns out to be damaged it does not always give back.
extern "C" const char* no_leaks_of_the_library() __asm__("__lsan_default_suppressions");
extern "C" const char* no_leaks_of_the_library() {
    return "leak:libhdf5";
}
