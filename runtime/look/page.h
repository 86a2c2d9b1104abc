/* page.h: the report of runs: one file of HTML that needs nothing else. */
#ifndef LATHE_LOOK_PAGE_H
#define LATHE_LOOK_PAGE_H

#include "look/past.h"

enum { MOST_RUNS = 64 }; /* of a page */

/* look/page_data.c: what the page draws; in all at most `points` points. */
json_t *page_json(Past_run *const *runs, int n, int64_t points, bool watched);
/* look/plan.c: the member `plan` of run.json for drawing: its largest buffers, the fullest moment, and what lies in it. */
json_t *drawn_plan(const json_t *plan);
json_t *drawn_profile(const json_t *profile); /* look/times.c: profile.json likewise */
json_t *drawn_scores(const json_t *eval);       /* look/scores.c: eval.json likewise */
/* look/histograms.c: histograms.jsonl likewise, in about so many bytes; null: there is none, or no room. */
json_t *drawn_histograms(const char *path, int64_t bytes);

/* look/charts.c: dygraphs, as Debian installs it; false: it is not there. */
typedef struct Charts { char *code, *style; } Charts;
bool find_charts(Charts *to);
const char *charts_remedy(void); /* how to install it */
void free_charts(Charts *c);

/* look/page.c: from malloc */
char *page_of_runs(Past_run *const *runs, int n, const Charts *charts, bool watched, size_t *bytes);

/* look/script.c: JSON that may stand between <script> and </script>, from malloc */
char *script_json(const json_t *all, size_t *bytes);

#endif
