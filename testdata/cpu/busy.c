// busy SECONDS THREADS: threads that work without a pause.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double seconds;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void *work(void *p) { volatile unsigned long x = 0; double end = now() + seconds; while (now() < end) for (int i = 0; i < 100000; i++) x += i; return p; }
int main(int argc, char **argv) {
	pthread_t t[16]; int n = atoi(argv[2]); seconds = atof(argv[1]);
	FILE *f = fopen("/dev/null", "w"); fputs("x", f); fflush(f);
	for (int i = 0; i < n; i++) pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < n; i++) pthread_join(t[i], 0);
}
