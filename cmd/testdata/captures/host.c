// Does one thing after the other that makes a GPU wait, and prints for each its
// name, when it began and when it was over (CLOCK_REALTIME, ns), and how long the
// thread was on a CPU meanwhile, in ns.
//
//	cc -O1 -pthread -o host host.c && ./host
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static volatile int held, ready, stop;
static int fds[2], event;

static int64_t by(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t now(void) { return by(CLOCK_REALTIME); }

static void busy(int64_t ns) {
	for (int64_t end = now() + ns; now() < end;)
		;
}

static void *holder(void *unused) {
	pthread_setname_np(pthread_self(), "lock holder");
	pthread_mutex_lock(&mutex);
	held = 1;
	busy(250000000);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void *signaller(void *unused) {
	usleep(200000);
	pthread_mutex_lock(&guard);
	ready = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&guard);
	return unused;
}

static void *writer(void *unused) {
	usleep(220000);
	if (write(fds[1], "x", 1) != 1)
		exit(1);
	return unused;
}

static void *requester(void *unused) {
	uint64_t one = 1;
	usleep(130000);
	if (write(event, &one, sizeof one) != sizeof one)
		exit(1);
	return unused;
}

static void *sleeper(void *unused) {
	usleep(150000);
	return unused;
}

static void *neighbour(void *unused) {
	pthread_setname_np(pthread_self(), "neighbour");
	while (!stop)
		;
	return unused;
}

static pthread_t start(void *(*run)(void *)) {
	pthread_t t;
	if (pthread_create(&t, NULL, run, NULL) != 0)
		exit(1);
	return t;
}

// pin keeps the calling thread, and those that it starts, on the first CPU that it
// may run on; 0 lets it go.
static void pin(int on) {
	static cpu_set_t all;
	static int saved;
	cpu_set_t one;
	if (!saved)
		sched_getaffinity(0, sizeof all, &all), saved = 1;
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all)) {
			CPU_SET(i, &one);
			break;
		}
	sched_setaffinity(0, sizeof all, on ? &one : &all);
}

static int64_t began, ran;

static void begin(void) {
	busy(2000000);
	ran = by(CLOCK_THREAD_CPUTIME_ID);
	began = now();
}

static void end(const char *name) {
	int64_t over = now();
	printf("%s %lld %lld %lld\n", name, (long long)began, (long long)over, (long long)(by(CLOCK_THREAD_CPUTIME_ID) - ran));
}

int main(void) {
	char byte;
	if (pipe(fds) != 0)
		return 1;

	begin();
	usleep(300000);
	end("sleep");

	pthread_t t = start(holder);
	while (!held)
		;
	begin();
	pthread_mutex_lock(&mutex);
	end("lock");
	pthread_mutex_unlock(&mutex);
	pthread_join(t, NULL);

	t = start(signaller);
	begin();
	pthread_mutex_lock(&guard);
	while (!ready)
		pthread_cond_wait(&cond, &guard);
	pthread_mutex_unlock(&guard);
	end("wait");
	pthread_join(t, NULL);

	t = start(writer);
	begin();
	if (read(fds[0], &byte, 1) != 1)
		return 1;
	end("pipe");
	pthread_join(t, NULL);

	struct pollfd p = {.fd = fds[0], .events = POLLIN};
	begin();
	poll(&p, 1, 180);
	end("poll");

	t = start(sleeper);
	begin();
	pthread_join(t, NULL);
	end("join");

	begin();
	busy(200000000);
	end("running");

	pin(1);
	t = start(neighbour);
	begin();
	busy(400000000);
	end("neighbour");
	stop = 1;
	pin(0);
	pthread_join(t, NULL);

	struct timespec nap = {.tv_nsec = 50000};
	begin();
	for (int i = 0; i < 1000; i++)
		nanosleep(&nap, NULL);
	end("naps");

	struct epoll_event got = {.events = EPOLLIN};
	int requests = epoll_create1(0);
	event = eventfd(0, 0);
	epoll_ctl(requests, EPOLL_CTL_ADD, event, &got);
	t = start(requester);
	begin();
	epoll_wait(requests, &got, 1, -1);
	end("requests");
	pthread_join(t, NULL);

	begin();
	pid_t child = fork();
	if (child == 0) {
		usleep(140000);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	end("child");

	static char block[1 << 20];
	char path[] = "/tmp/host-XXXXXX";
	int fd = mkstemp(path);
	unlink(path);
	begin();
	for (int i = 0; i < 8; i++)
		if (write(fd, block, sizeof block) != sizeof block || fsync(fd) != 0)
			return 1;
	end("files");
	return 0;
}
