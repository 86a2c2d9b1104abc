/* metric.c: the best evaluation that a run's metrics.jsonl has. */
#include "runtime/base/file.h"
#include "sweep/sweep.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void take_value(const json_t *line, const char *metric, bool lower, Outcome *to, bool *found)
{
    const json_t *value = json_object_get(line, metric);
    const char *split = json_string_value(json_object_get(line, "split"));
    if (!split || !same(split, "val") || !json_is_number(value)) return;
    double v = json_number_value(value);
    bool better = lower ? v < to->value : v > to->value;
    if (!isfinite(v) || (*found && !better)) return;
    to->value = v;
    *found = true;
}

bool read_metric(const char *run, const char *metric, bool lower, Outcome *to)
{
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    FILE *f = open_stream_to_read(format("%s/metrics.jsonl", run));
    while (f && getline(&line, &room, f) > 0) {
        json_t *all = json_loads(line, 0, NULL);
        int64_t step = json_integer_value(json_object_get(all, "step"));
        if (step > to->steps) to->steps = step;
        take_value(all, metric, lower, to, &found);
        json_decref(all);
    }
    if (f) fclose(f);
    free(line);
    return found;
}
