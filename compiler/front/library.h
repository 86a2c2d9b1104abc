/* library.h: the files of compiler/lua, as lua/embed.c puts them into the program. */
#ifndef FRONT_LIBRARY_H
#define FRONT_LIBRARY_H

#include <stddef.h>

typedef struct Library {
    const char *name, *text, *compiled; /* compiled: by the Lua that the program was built with */
    size_t bytes;                       /* of compiled */
} Library;
extern const Library lua_library[]; /* ends with a name that is NULL */

#endif
