#include "synth/truth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gn_truth {
    FILE *file;
    char path[];
};

static int failed(const struct gn_truth *truth, struct gn_error *err)
{
    int code = errno ? -errno : -EIO;
    return gn_fail(err, code, "%s cannot be written: %s", truth->path, strerror(-code));
}

int gn_truth_create(struct gn_truth **result, const char *folder, struct gn_error *err)
{
    static const char magic[8] = "GNTRUTH1";
    size_t size = strlen(folder) + sizeof "/true-times";
    struct gn_truth *truth = malloc(sizeof *truth + size);
    if (!truth)
        return gn_fail(err, -ENOMEM, "no memory to write true times");
    snprintf(truth->path, size, "%s/true-times", folder);
    truth->file = fopen(truth->path, "we");
    if (!truth->file || fwrite(magic, sizeof magic, 1, truth->file) != 1) {
        int code = failed(truth, err);
        if (truth->file)
            fclose(truth->file);
        free(truth);
        return code;
    }
    *result = truth;
    return 0;
}

int gn_truth_write(struct gn_truth *truth, uint64_t file_id, const double *true_ns, uint64_t count,
                   struct gn_error *err)
{
    const uint64_t head[2] = {file_id, count};
    errno = 0;
    if (fwrite(head, sizeof head, 1, truth->file) != 1 ||
        fwrite(true_ns, sizeof *true_ns, count, truth->file) != count)
        return failed(truth, err);
    return 0;
}

int gn_truth_finish(struct gn_truth *truth, struct gn_error *err)
{
    int code = 0;
    errno = 0;
    if (fclose(truth->file) != 0)
        code = failed(truth, err);
    free(truth);
    return code;
}
