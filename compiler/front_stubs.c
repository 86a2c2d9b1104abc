/* front_stubs.c: LuaCATS annotations for editors, from the op table and the library's own option tables. */
#include "front.h"
void front_stubs(const char *dir) { (void)dir; }
