/* embed.c: a program of the build, `embed OUT FILE.lua…`: writes the language's library as a C source. Each file is
 * there as text and as Lua compiles it, which loads in a tenth of the time. */
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void stop_build(const char *what, const char *why)
{
    fprintf(stderr, "embed: %s: %s\n", what, why);
    exit(1);
}

static char *file_text(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END)) stop_build(path, "cannot be read");
    *bytes = (size_t)ftell(f);
    rewind(f);
    char *text = malloc(*bytes + 1);
    if (!text || fread(text, 1, *bytes, f) != *bytes) stop_build(path, "cannot be read");
    fclose(f);
    text[*bytes] = 0;
    return text;
}

static void write_bytes(FILE *out, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) fprintf(out, "%d,%s", ((const unsigned char *)bytes)[i], i % 32 == 31 ? "\n" : "");
}

static int write_part(lua_State *L, const void *part, size_t n, void *out)
{
    (void)L;
    write_bytes(out, part, n);
    return 0;
}

/* nn, of compiler/lua/nn.lua */
static char *library_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *start = slash ? slash + 1 : path;
    return strndup(start, strcspn(start, "."));
}

static void embed(FILE *out, lua_State *L, const char *path)
{
    size_t bytes;
    char *text = file_text(path, &bytes), *name = library_name(path), chunk[64];
    snprintf(chunk, sizeof chunk, "=%s", name);
    if (luaL_loadbufferx(L, text, bytes, chunk, "t") != LUA_OK) stop_build(path, lua_tostring(L, -1));
    fprintf(out, "static const unsigned char %s_text[] = {\n", name);
    write_bytes(out, text, bytes + 1);
    fprintf(out, "};\nstatic const unsigned char %s_compiled[] = {\n", name);
    lua_dump(L, write_part, out, 0);
    fprintf(out, "};\n");
    lua_pop(L, 1);
    free(text);
    free(name);
}

int main(int argc, char **argv)
{
    lua_State *L = luaL_newstate();
    FILE *out = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (!out || !L) stop_build(argc > 1 ? argv[1] : "OUT", "cannot be written");
    fprintf(out, "/* made from compiler/lua by embed.c */\n#include \"front/library.h\"\n\n#include <stddef.h>\n\n");
    for (int i = 2; i < argc; i++) embed(out, L, argv[i]);
    fprintf(out, "const Library lua_library[] = {\n");
    for (int i = 2; i < argc; i++) {
        char *name = library_name(argv[i]);
        fprintf(out, "    {\"%s\", (const char *)%s_text, (const char *)%s_compiled, sizeof %s_compiled},\n", name,
                name, name, name);
        free(name);
    }
    fprintf(out, "    {NULL, NULL, NULL, 0},\n};\n");
    lua_close(L);
    return fclose(out) != 0;
}
