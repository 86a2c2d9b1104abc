/* graph_text.h: the lexical side of the text form, shared by graph_text.c and graph_parse.c. */
#ifndef GRAPH_TEXT_H
#define GRAPH_TEXT_H

#include "lathe.h"

bool plain_char(char c); /* may stand in a word without quotes (the first is no '-' or '.') */
void say_word(Text *t, const char *s);
void say_number(Text *t, double x);

#endif
