/* How does a test report that a law is broken?
 *
 * TEST(name) puts a test on the program's list. The program runs the tests named on its command line, or all of them,
 * and exits with 1 if a check failed. tests/test_c.py builds every test_*.c and runs each test by its name. */
#ifndef CHECK_H
#define CHECK_H

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHECK_TEST_LIMIT = 128, /* tests of a program */
    CHECK_REPORT_LIMIT = 5  /* failed checks of a test that are printed */
};

typedef struct check_entry {
    const char *name;
    void (*run)(void);
} check_entry;

static check_entry check_tests[CHECK_TEST_LIMIT];
static int check_test_count;
/* Checks may fail in several threads at once. */
static atomic_int check_failures;

#define TEST(test)                                                             \
    static void test(void);                                                    \
    __attribute__((constructor)) static void check_add_##test(void) {          \
        check_tests[check_test_count++] = (check_entry){#test, test};          \
    }                                                                          \
    static void test(void)

/* Reports a claim that does not hold, with a printf format and values that show why. */
#define CHECK(claim, ...)                                                      \
    do {                                                                       \
        if (!(claim) && atomic_fetch_add(&check_failures, 1) < CHECK_REPORT_LIMIT) { \
            fprintf(stderr, "%s:%d: does not hold: %s: ", __FILE__, __LINE__, #claim); \
            fprintf(stderr, __VA_ARGS__);                                      \
            fprintf(stderr, "\n");                                             \
        }                                                                      \
    } while (0)

/* Reports a number that is farther than the tolerance from the wanted one. */
#define CHECK_NEAR(found, wanted, tolerance)                                   \
    do {                                                                       \
        const double check_found = (double)(found), check_wanted = (double)(wanted); \
        CHECK(fabs(check_found - check_wanted) <= (double)(tolerance), "%s is %.9g, wanted %.9g within %g", #found, \
              check_found, check_wanted, (double)(tolerance));                 \
    } while (0)

/* How many of these random cases run: one in CHECK_SHARE, where that variable is set, but at least one. Memcheck takes
 * 20 times as long for a case, and a few of them read all that the others read. */
__attribute__((unused)) static int32_t check_cases(int32_t all) {
    const char *share = getenv("CHECK_SHARE");
    const int32_t cases = share && atoi(share) > 0 ? all / atoi(share) : all;
    return cases > 0 ? cases : 1;
}

int main(int count, char **names) {
    int ran = 0, failed_tests = 0;
    for (int i = 0; i < check_test_count; i++) {
        int wanted = count == 1;
        for (int n = 1; n < count; n++) wanted |= strcmp(names[n], check_tests[i].name) == 0;
        if (!wanted) continue;
        ran++;
        atomic_store(&check_failures, 0);
        check_tests[i].run();
        const int failures = atomic_load(&check_failures);
        failed_tests += failures > 0;
        if (failures > 0) fprintf(stderr, "%s: %d checks failed\n", check_tests[i].name, failures);
    }
    if (ran == 0) fprintf(stderr, "no such test\n");
    return ran == 0 || failed_tests > 0;
}

#endif
