/* live.c: a terminal's progress line: how much is done as a bar, the losses so far as sparks, the memory in use.  Where
 * the terminal is narrow, the plain line comes first. */
#include "trainer/live.h"
#include "base/utf8.h"
#include "base/words.h"
#include "look/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ------------------------------------------------------------------ losses so far */

static void pair_up_losses(Live *l)
{
    for (int i = 0; i < SPARKS / 2; i++) l->mean[i] = (l->mean[2 * i] + l->mean[2 * i + 1]) / 2;
    l->n = SPARKS / 2;
    l->each *= 2;
    l->in_last = l->each;
}

void note_live_loss(Live *l, double loss)
{
    if (!isfinite(loss)) return;
    if (l->each == 0) l->each = l->in_last = 1;
    if (l->n == 0 || l->in_last == l->each) {
        if (l->n == SPARKS) pair_up_losses(l);
        l->mean[l->n++] = loss;
        l->in_last = 1;
        return;
    }
    l->in_last++;
    l->mean[l->n - 1] += (loss - l->mean[l->n - 1]) / (double)l->in_last;
}

/* ------------------------------------------------------------------ parts of the line */

static int columns_of_terminal(void)
{
    struct winsize size;
    return ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 120;
}

static char *bar_text(int64_t done, int64_t steps, bool utf8)
{
    enum { WIDE = 10 };
    char text[3 * WIDE + 1], *to = text;
    int full = steps > 0 ? (int)((double)done / (double)steps * WIDE) : 0;
    for (int i = 0; i < WIDE; i++) {
        if (utf8) to += encode_utf8(i < full ? 0x2588 : 0x2591, to);
        else *to++ = i < full ? '#' : '.';
    }
    *to = 0;
    return text_of("%s ", text);
}

static char *sparks_text(const Live *l, bool utf8)
{
    char text[3 * SPARKS + 1];
    draw_sparks(text, l->mean, l->n, utf8);
    return text_of(" %s", text);
}

/* What the process holds of the machine's memory. */
static char *memory_text(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    bool read = f && fscanf(f, "%*s %ld", &pages) == 1;
    if (f) fclose(f);
    return read ? text_of(" | %s", bytes_text((int64_t)pages * sysconf(_SC_PAGESIZE))) : text_of("%s", "");
}

static int characters(const char *text)
{
    int n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* The bytes of the first `most` characters. */
static int bytes_of_first(const char *text, int most)
{
    int n = 0;
    for (const char *at = text; *at; at++) {
        most -= ((unsigned char)*at & 0xc0) != 0x80;
        if (most < 0) break;
        n++;
    }
    return n;
}

/* ------------------------------------------------------------------ the line */

void show_live_line(const Live *l, int64_t done, int64_t steps, const char *line)
{
    bool utf8 = terminal_is_utf8();
    int room = columns_of_terminal() - 1;
    char *bar = bar_text(done, steps, utf8), *sparks = sparks_text(l, utf8), *memory = memory_text();
    char *const parts[] = {bar, sparks, memory};
    bool has[3];
    room -= characters(line);
    for (int i = 0; i < 3; i++) {
        has[i] = characters(parts[i]) <= room;
        if (has[i]) room -= characters(parts[i]);
    }
    fputs("\r", stderr);
    show(stderr, "%s%.*s%s%s", has[0] ? bar : "", bytes_of_first(line, columns_of_terminal() - 1), line,
         has[1] ? sparks : "", has[2] ? memory : "");
    fputs("\033[K", stderr);
    for (int i = 0; i < 3; i++) free(parts[i]);
}
