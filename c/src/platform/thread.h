/* How does the core start threads, lock mutexes and wait on condition variables? One interface for POSIX and Windows.
 *
 * Include it first: it defines the feature-test macros of the system headers. */
#ifndef DRV_THREAD_H
#define DRV_THREAD_H

#include <stdbool.h>

#if defined(_WIN32)

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <process.h>

typedef HANDLE drv_thread;
typedef SRWLOCK drv_mutex;
typedef CONDITION_VARIABLE drv_condition;

/* Defines a thread's entry function: `static DRV_THREAD_MAIN(name, argument) { ...; return DRV_THREAD_RETURN; }`. */
#define DRV_THREAD_MAIN(name, argument) unsigned __stdcall name(void *argument)
#define DRV_THREAD_RETURN 0

typedef unsigned(__stdcall *drv_thread_main)(void *argument);

static inline bool drv_thread_start(drv_thread *thread, drv_thread_main run, void *argument) {
    /* Not CreateThread, which does not initialise the C library's per-thread data. */
    *thread = (HANDLE)_beginthreadex(NULL, 0, run, argument, 0, NULL);
    return *thread != NULL;
}

static inline void drv_thread_join(drv_thread thread) {
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}

static inline void drv_thread_yield(void) { SwitchToThread(); }

static inline void drv_mutex_init(drv_mutex *mutex) { InitializeSRWLock(mutex); }
static inline void drv_mutex_destroy(drv_mutex *mutex) { (void)mutex; }
static inline void drv_mutex_lock(drv_mutex *mutex) { AcquireSRWLockExclusive(mutex); }
static inline void drv_mutex_unlock(drv_mutex *mutex) { ReleaseSRWLockExclusive(mutex); }

static inline void drv_condition_init(drv_condition *condition) { InitializeConditionVariable(condition); }
static inline void drv_condition_destroy(drv_condition *condition) { (void)condition; }
static inline void drv_condition_wait(drv_condition *condition, drv_mutex *mutex) {
    SleepConditionVariableSRW(condition, mutex, INFINITE, 0);
}
static inline void drv_condition_broadcast(drv_condition *condition) { WakeAllConditionVariable(condition); }

/* Windows delivers no signals to threads. */
typedef int drv_signals;
static inline drv_signals drv_signals_block(void) { return 0; }
static inline void drv_signals_restore(drv_signals saved) { (void)saved; }

#else

#define _POSIX_C_SOURCE 200809L /* pthread_sigmask */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>

typedef pthread_t drv_thread;
typedef pthread_mutex_t drv_mutex;
typedef pthread_cond_t drv_condition;

#define DRV_THREAD_MAIN(name, argument) void *name(void *argument)
#define DRV_THREAD_RETURN NULL

typedef void *(*drv_thread_main)(void *argument);

static inline bool drv_thread_start(drv_thread *thread, drv_thread_main run, void *argument) {
    return pthread_create(thread, NULL, run, argument) == 0;
}

static inline void drv_thread_join(drv_thread thread) { pthread_join(thread, NULL); }

static inline void drv_thread_yield(void) { sched_yield(); }

static inline void drv_mutex_init(drv_mutex *mutex) { pthread_mutex_init(mutex, NULL); }
static inline void drv_mutex_destroy(drv_mutex *mutex) { pthread_mutex_destroy(mutex); }
static inline void drv_mutex_lock(drv_mutex *mutex) { pthread_mutex_lock(mutex); }
static inline void drv_mutex_unlock(drv_mutex *mutex) { pthread_mutex_unlock(mutex); }

static inline void drv_condition_init(drv_condition *condition) { pthread_cond_init(condition, NULL); }
static inline void drv_condition_destroy(drv_condition *condition) { pthread_cond_destroy(condition); }
static inline void drv_condition_wait(drv_condition *condition, drv_mutex *mutex) {
    pthread_cond_wait(condition, mutex);
}
static inline void drv_condition_broadcast(drv_condition *condition) { pthread_cond_broadcast(condition); }

typedef sigset_t drv_signals;

/* Blocks signals, so that threads started from now on inherit the mask: signals of the process go to the program's own
 * threads, and only a worker's own faults reach it. Returns the calling thread's previous mask. */
static inline drv_signals drv_signals_block(void) {
    const int faults[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    sigset_t blocked, saved;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &saved);
    return saved;
}

static inline void drv_signals_restore(drv_signals saved) { pthread_sigmask(SIG_SETMASK, &saved, NULL); }

#endif

#endif
