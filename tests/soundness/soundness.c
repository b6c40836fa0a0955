/*
 * soundness — tries whether any bound is ever wrong, over worlds whose clocks are known exactly.
 *
 *     soundness [--conversions N] [--per-world N] [--seed S] [--worlds N] [--only WANDER/NETWORK/HOSTS]
 * [--quiet]
 *               [--first]
 *
 * --first ends with the first thing that is wrong, --quiet prints only rows in which something is. Every cell
 * of the matrix gets the same share. Ends with 1 when anything was wrong; what was is printed with the
 * command that shows it again.
 */
#include "basics.h"
#include "check.h"

#include "base/mix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    uint64_t conversions, per_world, seed, worlds;
    const char *only;
    bool quiet, first;
};

static bool is_over(const struct settings *settings, const struct tally *tally)
{
    return settings->first && tally->wrong;
}

static void name_cell(const struct world_cell *cell, char *name, size_t size)
{
    snprintf(name, size, "%s/%s/%s", world_wander_names[cell->wander], world_network_names[cell->network],
             world_hosts_names[cell->hosts]);
}

static void try_cell(const struct settings *settings, const struct world_cell *cell, uint64_t share,
                     struct tally *sum)
{
    enum { SHOWN = 3 };
    static struct world world;
    int shown = 0;
    char name[64];
    name_cell(cell, name, sizeof name);
    for (uint64_t i = 0; settings->worlds ? i < settings->worlds : sum->conversions < share; i++) {
        if (is_over(settings, sum))
            break;
        struct tally tally = {0};
        uint64_t seed = settings->seed + i;
        world_make(&world, cell, gn_mix_at(seed, cell->wander, cell->network * 8 + cell->hosts));
        check_world(&world, seed, settings->per_world, &tally);
        world_clear(&world);
        if (tally.wrong && shown++ < SHOWN)
            printf("WRONG %llu times, first: %s\n  again: soundness --only %s --worlds 1 --per-world %llu "
                   "--seed "
                   "%llu\n",
                   (unsigned long long)tally.wrong, tally.first_wrong, name,
                   (unsigned long long)settings->per_world, (unsigned long long)seed);
        tally_add(sum, &tally);
    }
}

static double ratio(double sum, uint64_t count)
{
    return count ? sum / (double)count : 0;
}

static void print_heading(void)
{
    printf("%-27s %9s %6s %8s %7s %9s %7s %11s %7s %9s %6s %8s\n", "wander/network/hosts", "readings",
           "wrong", "excused", "worlds", "refuted", "no way", "width ns", "/floor", "verdicts", "wrong",
           "decided");
}

static void print_row(const char *name, const struct tally *tally)
{
    printf("%-27s %9llu %6llu %8llu %7llu %9llu %7llu %11.0f %7.3f %9llu %6llu %7.2f%%\n", name,
           (unsigned long long)tally->conversions, (unsigned long long)tally->wrong,
           (unsigned long long)tally->excused, (unsigned long long)tally->worlds,
           (unsigned long long)tally->refuted, (unsigned long long)tally->unreached,
           ratio(tally->width_ns, tally->widths), ratio(tally->over_floor, tally->over_floors),
           (unsigned long long)tally->verdicts, (unsigned long long)tally->wrong_verdicts,
           100 * ratio((double)tally->decided, tally->apart));
    fflush(stdout);
}

static void try_all(const struct settings *settings, struct tally *total)
{
    enum { CELLS = WORLD_WANDERS * WORLD_NETWORKS * WORLD_HOSTS };
    for (int i = 0; i < CELLS && !is_over(settings, total); i++) {
        struct world_cell cell = {i / (WORLD_NETWORKS * WORLD_HOSTS), i / WORLD_HOSTS % WORLD_NETWORKS,
                                  i % WORLD_HOSTS};
        struct tally tally = {0};
        char name[64];
        name_cell(&cell, name, sizeof name);
        if (settings->only && strcmp(settings->only, name) != 0)
            continue;
        try_cell(settings, &cell, settings->conversions / CELLS, &tally);
        if (!settings->quiet || tally.wrong)
            print_row(name, &tally);
        tally_add(total, &tally);
    }
}

static int usage(void)
{
    fprintf(stderr, "usage: soundness [--conversions N] [--per-world N] [--seed S] [--worlds N]\n"
                    "                 [--only WANDER/NETWORK/HOSTS] [--quiet] [--first]\n");
    return 2;
}

static bool set_number(struct settings *settings, const char *name, const char *value)
{
    const struct {
        const char *name;
        uint64_t *number;
    } numbers[] = {{"--conversions", &settings->conversions},
                   {"--per-world", &settings->per_world},
                   {"--seed", &settings->seed},
                   {"--worlds", &settings->worlds}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(name, numbers[i].name)) {
            *numbers[i].number = strtoull(value, NULL, 10);
            return true;
        }
    return false;
}

int main(int argc, char **argv)
{
    struct settings settings = {.conversions = 2000000, .per_world = 16384, .seed = 1};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quiet"))
            settings.quiet = true;
        else if (!strcmp(argv[i], "--first"))
            settings.first = true;
        else if (i + 1 < argc && !strcmp(argv[i], "--only"))
            settings.only = argv[++i];
        else if (i + 1 < argc && set_number(&settings, argv[i], argv[i + 1]))
            i++;
        else
            return usage();
    }
    struct tally total = {.wrong = basics_wrong(settings.seed)};
    print_heading();
    try_all(&settings, &total);
    print_row("all", &total);
    return total.worlds == 0 || total.wrong ? 1 : 0;
}
