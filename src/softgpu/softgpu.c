/* SPDX-License-Identifier: MIT */
/* The launcher: runs a program with the software GPU's libhsakmt.so.1 in front of the machine's. */
#include "options.h"
#include "thunk/topology.h"

#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libhsakmt.so.1"

static void print_usage(FILE *stream)
{
	fputs("Usage: softgpu COMMAND [ARGUMENT...]\n"
	      "Run COMMAND, any program of the HSA runtime, on a software GPU.\n"
	      "\n"
	      "  --info     say what is emulated, and the options with their current values\n"
	      "  --help     print this help\n"
	      "  --version  print the version\n"
	      "\n"
	      "Options are environment variables, see --info.\n"
	      "Exit status: that of COMMAND; 127 if it is not found, 126 if it cannot be run,\n"
	      "125 if softgpu itself fails.\n",
	      stream);
}

static bool has_library(const char *folder)
{
	char path[PATH_MAX + sizeof("/" LIBRARY)];

	snprintf(path, sizeof(path), "%s/" LIBRARY, folder);
	return access(path, R_OK) == 0;
}

/* Appends the way from the installed program's folder to that of the installed library. */
static void append_relative(char *path, size_t size)
{
	static const char from[] = SOFTGPU_BINDIR, to[] = SOFTGPU_LIBDIR;
	size_t common = 0, length = strlen(path);

	for (size_t i = 0; from[i] == to[i] && from[i] != '\0'; i++) {
		if (from[i] == '/')
			common = i + 1;
	}
	for (const char *rest = &from[common]; rest; rest = strchr(rest, '/')) {
		rest += *rest == '/';
		length += (size_t)snprintf(path + length, length < size ? size - length : 0, "/..");
	}
	snprintf(path + length, length < size ? size - length : 0, "/%s", &to[common]);
}

/* Beside this program in the build tree, else where it was installed relative to the program. */
static bool find_library(char *folder, size_t size)
{
	char program[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	char *slash;

	if (length < 0)
		return false;
	program[length] = '\0';
	slash = strrchr(program, '/');
	*slash = '\0';
	snprintf(folder, size, "%s/.libs", program);
	if (has_library(folder))
		return true;
	snprintf(folder, size, "%s", program);
	append_relative(folder, size);
	return has_library(folder);
}

static int run(char **command)
{
	char folder[2 * PATH_MAX], *path;
	const char *old = getenv("LD_LIBRARY_PATH");
	struct softgpu_options options;
	char message[256];

	if (!softgpu_options_read(&options, message, sizeof(message))) {
		fprintf(stderr, "softgpu: %s\n", message);
		return 125;
	}
	if (!find_library(folder, sizeof(folder))) {
		fprintf(stderr, "softgpu: " LIBRARY " is missing: there is no %s/" LIBRARY "\n",
			folder);
		return 125;
	}
	if (asprintf(&path, "%s%s%s", folder, old && *old ? ":" : "", old ? old : "") < 0 ||
	    setenv("LD_LIBRARY_PATH", path, 1) != 0) {
		fprintf(stderr, "softgpu: no memory\n");
		return 125;
	}
	free(path);
	execvp(command[0], command);
	fprintf(stderr, "softgpu: cannot run '%s': %s\n", command[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

/* What is printed must have been written. */
static int flush_output(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	fprintf(stderr, "softgpu: cannot write to standard output: %s\n", strerror(errno));
	return 125;
}

static int print_information(void)
{
	struct softgpu_options options;
	char message[256];

	if (!softgpu_options_read(&options, message, sizeof(message))) {
		fprintf(stderr, "softgpu: %s\n", message);
		return 125;
	}
	printf("softgpu " PACKAGE_VERSION
	       ": AMD GPUs in software, below an unmodified HSA runtime\n"
	       "\n"
	       "Nodes         node 0 is the host, nodes 1 to %u are GPUs\n"
	       "GPU           %s, %u compute units in %u shader engines, wave size %u\n"
	       "Memory        %llu MiB of video memory a GPU, %s to the host;\n"
	       "              %u KiB of group memory a workgroup; scratch memory as needed\n"
	       "Instructions  SOP1 SOP2 SOPK SOPC SOPP SMEM VOP1 VOP2 VOP3 VOP3P VOPC (SDWA, DPP)\n"
	       "              DS FLAT GLOBAL MUBUF; anything else ends the kernel with an error\n"
	       "AQL packets   kernel dispatch, barrier-AND, barrier-OR, barrier-value,\n"
	       "              indirect buffers with cache flushes\n"
	       "SDMA packets  linear and rectangular copy, fill, fence, atomic add, poll, trap,\n"
	       "              timestamp, no-op\n"
	       "Not there     images, cooperative queues, shared virtual memory, debugger,\n"
	       "              performance counters, page fault retry\n"
	       "\n"
	       "Options (environment variables with their current values)\n",
	       options.gpus, options.target->name, SOFTGPU_COMPUTE_UNITS, SOFTGPU_SHADER_ENGINES,
	       options.target->wave_size, (unsigned long long)(options.vram_size >> 20),
	       options.large_bar ? "accessible" : "not accessible",
	       options.target->group_memory_size >> 10);
	softgpu_options_print(stdout, &options);
	return flush_output();
}

int main(int argument_count, char **arguments)
{
	const char *first = argument_count > 1 ? arguments[1] : NULL;

	if (!first) {
		print_usage(stderr);
		return 125;
	}
	if (strcmp(first, "--help") == 0) {
		print_usage(stdout);
		return flush_output();
	}
	if (strcmp(first, "--version") == 0) {
		puts("softgpu (h2dpub) " PACKAGE_VERSION);
		return flush_output();
	}
	if (strcmp(first, "--info") == 0)
		return print_information();
	if (strcmp(first, "--") == 0 && argument_count > 2)
		return run(&arguments[2]);
	if (first[0] == '-') {
		fprintf(stderr, "softgpu: unknown option '%s', see softgpu --help\n", first);
		return 125;
	}
	return run(&arguments[1]);
}
