/* limits.c: runs a description's code within limits of memory, instructions and time, and reports its errors. */
#include "front/front.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static const size_t memory_limit = (size_t)1 << 29;
enum {
    HOOK_EVERY = 1000,
    SECONDS_LIMIT = 20,
    MOST_INSTRUCTIONS = 200 * 1000 * 1000,
    FEW_INSTRUCTIONS = 20 * 1000 * 1000
};

typedef struct Usage { /* by a Lua state */
    lua_State *L;
    size_t bytes;
    int64_t instructions, instruction_limit;
    bool refused;     /* the memory limit was reached, … */
    Where refused_at; /* … here */
} Usage;

/* A process has one timer, and a signal's handler takes no argument. */
static struct Timed {
    lua_State *L;               /* whose time is limited */
    volatile sig_atomic_t late; /* its time is over */
} timed;

/* ------------------------------------------------------------------ memory */

static void *allocate(void *user, void *old, size_t old_bytes, size_t bytes)
{
    Usage *used = user;
    if (!old) old_bytes = 0;
    if (bytes == 0) {
        used->bytes -= old_bytes;
        free(old);
        return NULL;
    }
    if (bytes > old_bytes && used->bytes + (bytes - old_bytes) > memory_limit) {
        used->refused_at = used->L ? lua_place(used->L) : (Where){0};
        used->refused = true;
        return NULL;
    }
    void *p = realloc(old, bytes);
    if (!p) no_memory(bytes);
    used->bytes += bytes - old_bytes;
    return p;
}

lua_State *limited_state(Trace *trace)
{
    Usage *used = trace->used = NEW(Usage);
    used->instruction_limit = MOST_INSTRUCTIONS;
    lua_State *L = lua_newstate(allocate, used);
    if (!L) die("no memory for Lua");
    *(Trace **)lua_getextraspace(L) = trace;
    return used->L = L;
}

/* ------------------------------------------------------------------ time */

static const char late_words[] = "the description has run for too long; what does this line compute?";

/* Appends at *at, up to `end`; replaces control characters, which must not reach a terminal. */
static void append_text(char **at, const char *end, const char *s)
{
    for (; *s && *at < end; s++) *(*at)++ = (unsigned char)*s < 32 ? '?' : *s;
}

static void append_number(char **at, const char *end, int n)
{
    if (n > 9) append_number(at, end, n / 10);
    append_text(at, end, (char[]){(char)('0' + n % 10), 0});
}

/* A signal handler must not allocate or use stdio.  Lua's stack does not change during a C function, and looking up a
 * line needs no memory. */
static _Noreturn void end_late_call(void)
{
    lua_Debug ar;
    char text[1024], *at = text;
    const char *end = text + sizeof text - 1;
    for (int level = 0; at == text && lua_getstack(timed.L, level, &ar); level++) {
        if (!lua_getinfo(timed.L, "Sl", &ar) || ar.source[0] != '@' || ar.currentline <= 0) continue;
        append_text(&at, end, ar.source + 1);
        append_text(&at, end, ":");
        append_number(&at, end, ar.currentline);
        append_text(&at, end, ": ");
    }
    append_text(&at, end, "error: ");
    append_text(&at, end, late_words);
    *at++ = '\n';
    (void)!write(2, text, (size_t)(at - text));
    _exit(1);
}

/* The hook reports it within HOOK_EVERY instructions.  If it does not within a second, a C function is running, such as
 * one for strings, which may take years. */
static void too_long(int signal)
{
    static const struct itimerval again = {.it_value = {.tv_sec = 1}};
    (void)signal;
    if (timed.late) end_late_call();
    timed.late = 1;
    setitimer(ITIMER_VIRTUAL, &again, NULL);
}

/* Limits the time of L from now on; 0 seconds: no limit. */
static void limit_time(lua_State *L, int seconds)
{
    timed.late = 0;
    timed.L = seconds ? L : NULL;
    signal(SIGVTALRM, seconds ? too_long : SIG_DFL);
    const char *shorter = seconds ? getenv("LATHE_LUA_SECONDS") : NULL; /* for tests */
    struct itimerval t = {.it_value = {.tv_sec = shorter ? atoi(shorter) : seconds}};
    setitimer(ITIMER_VIRTUAL, &t, NULL);
}

static void hooked(lua_State *L, lua_Debug *ar)
{
    if (ar->event == LUA_HOOKLINE) {
        title_locals(L, ar);
        return;
    }
    Usage *used = trace_of(L)->used;
    if (timed.late && timed.L == L) {
        limit_time(L, 0);
        err(lua_place(L), "%s", late_words);
    }
    used->instructions += HOOK_EVERY;
    if (used->instructions > used->instruction_limit)
        err(lua_place(L),
            "the description has run for %lld million Lua instructions without ending; is this loop endless?",
            (long long)(used->instruction_limit / 1000000));
}

void watch_lines(lua_State *L, bool lines)
{
    lua_sethook(L, hooked, LUA_MASKCOUNT | (lines ? LUA_MASKLINE : 0), HOOK_EVERY);
}

void leave_few_instructions(Trace *trace)
{
    trace->used->instruction_limit = trace->used->instructions + FEW_INSTRUCTIONS;
}

void limit_run(lua_State *L)
{
    watch_lines(L, true);
    limit_time(L, SECONDS_LIMIT);
}

/* A process has one timer: of two open states only the one that was opened last is limited in time. */
void end_limits(lua_State *L)
{
    if (timed.L == L) limit_time(L, 0);
}

/* ------------------------------------------------------------------ calls and their errors */

/* Rewords Lua's two most common messages. */
static const char *in_words(const char *message)
{
    char type[16], name[64] = "";
    if (sscanf(message, "attempt to call a %15s value (%*s '%63[^']')", type, name) == 2 && same(type, "nil"))
        return format("there is no '%s' to call; the name is misspelt, or not available in the sandbox of descriptions",
                      name);
    if (sscanf(message, "attempt to index a %15s value (%*s '%63[^']')", type, name) < 1) return message;
    return *name ? format("'%s' is a %s value, which has no fields", name, type)
                 : format("a %s value has no fields", type);
}

static int on_error(lua_State *L)
{
    const char *message = lua_tostring(L, 1);
    const char *where_from = library_function(L);
    if (!message) message = format("error() was called with a %s instead of a message", luaL_typename(L, 1));
    message = in_words(without_position(message));
    if (strstr(message, "'for'") && strstr(message, "tensor"))
        message = "the bounds of a Lua loop cannot be tensors, such as a loop index: a description is traced once, "
                  "before values exist";
    if (strstr(message, "stack overflow")) message = "functions call each other too deeply (stack overflow)";
    err(lua_place(L), "%s%s%s", where_from ? where_from : "", where_from ? ": " : "", message);
}

void call_lua(lua_State *L, int nargs, int nresults)
{
    const Usage *used = trace_of(L)->used;
    int handler = lua_gettop(L) - nargs;
    lua_pushcfunction(L, on_error);
    lua_insert(L, handler);
    int status = lua_pcall(L, nargs, nresults, handler);
    if (status == LUA_ERRMEM || used->refused)
        err(used->refused_at,
            "the description needs more than %zu MB of memory; does a table or a string grow without end?",
            memory_limit >> 20);
    if (status != LUA_OK) err(used->refused_at, "%s", lua_tostring(L, -1));
    lua_remove(L, handler);
}
