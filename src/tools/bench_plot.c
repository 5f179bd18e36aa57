/* SPDX-License-Identifier: MIT */
/* Charts as gnuplot scripts. */
#include "config.h"

#include "bench_plot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

static uint64_t number(struct json_object *object, const char *name)
{
	return json_object_get_uint64(json_object_object_get(object, name));
}

static const char *text(struct json_object *object, const char *name)
{
	return json_object_get_string(json_object_object_get(object, name));
}

static struct json_object *way(struct json_object *group, size_t index)
{
	return json_object_array_get_idx(json_object_object_get(group, "ways"), index);
}

static size_t way_count(struct json_object *group)
{
	return json_object_array_length(json_object_object_get(group, "ways"));
}

/* As gnuplot reads strings in single quotes, on one line. */
static void print_string(FILE *gnuplot, const char *string)
{
	fputc('\'', gnuplot);
	for (; *string; string++) {
		if (*string == '\'')
			fputc('\'', gnuplot);
		fputc(*string == '\n' ? ' ' : *string, gnuplot);
	}
	fputc('\'', gnuplot);
}

static void read_processor(char *name, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256];

	snprintf(name, size, "unknown processor");
	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || !colon)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(name, size, "%s", colon + 2);
		break;
	}
	if (file)
		fclose(file);
}

static void print_title(FILE *gnuplot, const struct publication_world *world, const char *subject)
{
	char processor[160], title[512], date[32] = "";
	time_t now = time(NULL);
	struct tm day;

	read_processor(processor, sizeof(processor));
	if (gmtime_r(&now, &day))
		strftime(date, sizeof(date), "%Y-%m-%d", &day);
	print_string(gnuplot, subject);
	fputs(" . \"\\n\" . ", gnuplot);
	snprintf(title, sizeof(title), "host: %s; GPU: %s%s; %s", processor, world->info.name,
		 world->software ? ", a software GPU" : "", date);
	print_string(gnuplot, title);
}

int plot_check_gnuplot(struct tool_error *error)
{
	if (system("command -v gnuplot >/dev/null 2>&1") == 0)
		return 0;
	tool_error_set(error,
		       "option --plot: gnuplot is not installed (Debian package: gnuplot-nox)");
	return -1;
}

static FILE *start(const struct publication_world *world, const char *file_name, int height)
{
	FILE *gnuplot = popen("gnuplot", "w");

	if (!gnuplot) {
		tool_error_set(world->error, "gnuplot cannot be started");
		return NULL;
	}
	fprintf(gnuplot, "set terminal svg size 1000,%d background 'white' noenhanced\nset output ",
		height);
	print_string(gnuplot, file_name);
	fputs("\nset grid ytics\n", gnuplot);
	return gnuplot;
}

static int end(const struct publication_world *world, FILE *gnuplot, const char *file_name)
{
	int status = pclose(gnuplot);

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	tool_error_set(world->error, "option --plot: gnuplot cannot draw '%s'", file_name);
	return -1;
}

/* ---- publish ------------------------------------------------------------------------------------ */

static void print_group(FILE *gnuplot, struct json_object *group)
{
	fprintf(gnuplot, "\"%llu members, %llu B\"", (unsigned long long)number(group, "members"),
		(unsigned long long)number(group, "bytes"));
	for (size_t i = 0; i < way_count(group); i++)
		fprintf(gnuplot, " %llu", (unsigned long long)number(way(group, i), "instructions"));
	fputc('\n', gnuplot);
}

/* One chart: a cluster of bars for each group. */
static void draw_groups(FILE *gnuplot, struct json_object *groups)
{
	struct json_object *first = json_object_array_get_idx(groups, 0);

	fputs("$data << END\n", gnuplot);
	for (size_t i = 0; i < json_object_array_length(groups); i++)
		print_group(gnuplot, json_object_array_get_idx(groups, i));
	fputs("END\nset logscale y\nset ylabel 'instructions in user mode'\nset yrange [100:*]\n"
	      "set xtics rotate by -20 noenhanced\nset style data histograms\n"
	      "set style histogram clustered gap 1\nset style fill solid 0.8\n"
	      "set key outside right\nplot ",
	      gnuplot);
	for (size_t i = 0; i < way_count(first); i++) {
		fprintf(gnuplot, "%s$data using %zu:xtic(1) title ", i ? ", " : "", i + 2);
		print_string(gnuplot, text(way(first, i), "way"));
	}
	fputc('\n', gnuplot);
}

int plot_publish(struct publication_world *world, struct json_object *groups, const char *file_name)
{
	FILE *gnuplot = start(world, file_name, 560);

	if (!gnuplot)
		return -1;
	fputs("set title ", gnuplot);
	print_title(gnuplot, world, "Host instructions of one publication");
	fputs(" font ',12'\n", gnuplot);
	draw_groups(gnuplot, groups);
	return end(world, gnuplot, file_name);
}

/* ---- growth ------------------------------------------------------------------------------------- */

/* The steps of one series from the first on: a data block; returns the first of the next series. */
static size_t print_series(FILE *gnuplot, struct json_object *steps, size_t first)
{
	size_t i = first, count = json_object_array_length(steps);
	const char *name = text(json_object_array_get_idx(steps, first), "series");

	fputs("$data << END\n", gnuplot);
	for (; i < count; i++) {
		struct json_object *step = json_object_array_get_idx(steps, i);

		if (strcmp(text(step, "series"), name) != 0)
			break;
		fprintf(gnuplot, "%llu", (unsigned long long)number(step, "step"));
		for (size_t j = 0; j < way_count(step); j++)
			fprintf(gnuplot, " %llu",
				(unsigned long long)number(way(step, j), "instructions"));
		fputc('\n', gnuplot);
	}
	fputs("END\n", gnuplot);
	return i;
}

/* A chart for each series, two beside each other, in this part of the page's height. */
static void draw_growth(FILE *gnuplot, struct json_object *steps, double height)
{
	size_t count = json_object_array_length(steps), chart = 0;

	/* The same range for all, so that they compare and the key has room above the lines. */
	fputs("set logscale xy\nset ylabel 'instructions'\nset yrange [100:1e6]\nset key top left\n",
	      gnuplot);
	for (size_t first = 0; first < count; chart++) {
		struct json_object *step = json_object_array_get_idx(steps, first);

		first = print_series(gnuplot, steps, first);
		fprintf(gnuplot, "set size 0.5,%g\nset origin %g,%g\nset xlabel ", height / 2,
			(double)(chart % 2) / 2, chart < 2 ? height / 2 : 0);
		print_string(gnuplot, text(step, "series"));
		fputs("\nplot ", gnuplot);
		for (size_t i = 0; i < way_count(step); i++) {
			fprintf(gnuplot, "%s$data using 1:%zu with linespoints title ",
				i ? ", " : "", i + 2);
			print_string(gnuplot, text(way(step, i), "way"));
		}
		fputc('\n', gnuplot);
	}
}

/* Opens a page for several charts. */
static FILE *start_page(const struct publication_world *world, const char *file_name, int height)
{
	FILE *gnuplot = start(world, file_name, height);

	if (!gnuplot)
		return NULL;
	fputs("set multiplot title ", gnuplot);
	print_title(gnuplot, world, "Host instructions of one publication");
	fputs(" font ',12'\n", gnuplot);
	return gnuplot;
}

int plot_growth(struct publication_world *world, struct json_object *steps, const char *file_name)
{
	FILE *gnuplot = start_page(world, file_name, 760);

	if (!gnuplot)
		return -1;
	draw_growth(gnuplot, steps, 0.93);
	fputs("unset multiplot\n", gnuplot);
	return end(world, gnuplot, file_name);
}

/* ---- both --------------------------------------------------------------------------------------- */

int plot_all(struct publication_world *world, struct json_object *groups, struct json_object *steps,
	     const char *file_name)
{
	FILE *gnuplot = start_page(world, file_name, 1240);

	if (!gnuplot)
		return -1;
	fputs("set size 1,0.4\nset origin 0,0.56\n", gnuplot);
	draw_groups(gnuplot, groups);
	fputs("set xtics norotate\nset key inside\n", gnuplot);
	draw_growth(gnuplot, steps, 0.56);
	fputs("unset multiplot\n", gnuplot);
	return end(world, gnuplot, file_name);
}
