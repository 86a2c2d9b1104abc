/* clang.h: the part of libclang's C interface that front/cfunc_read.c needs, under libclang's names without the prefix.
 * The library is loaded when a description first calls nn.cfunc, so lathe builds and runs without it.
 *
 * This header has only what libclang keeps stable: functions and the layouts of values.  Kinds of cursors, types and
 * operators are identified by the names that libclang gives them, since their numbers change. */
#ifndef FRONT_CLANG_H
#define FRONT_CLANG_H

typedef struct Cursor {
    int kind, number;
    const void *data[3];
} Cursor;

typedef struct Clang_type {
    int kind;
    void *data[2];
} Clang_type;

typedef struct Clang_string {
    const void *data;
    unsigned flags;
} Clang_string;

typedef struct Clang_place {
    const void *data[2];
    unsigned number;
} Clang_place;

typedef struct Clang_range {
    const void *data[2];
    unsigned first, last;
} Clang_range;

typedef struct Clang_file {
    const char *name, *text;
    unsigned long bytes;
} Clang_file;

typedef void *Clang;            /* an index, a unit, a diagnostic, a value; opaque */
typedef int Visit_cursor(Cursor c, Cursor parent, void *user);
enum { VISIT_NEXT = 1 };                /* a visitor's result: continue with the next sibling */
enum { SEVERITY_ERROR = 3 };            /* of a diagnostic; fatal: 4 */
enum { POST_INCREMENT = 1, POST_DECREMENT = 2 };        /* spelled like the prefix ones */
enum { PLAIN_STORAGE = 1 };             /* neither static nor extern … */
enum { VALUE_INTEGER = 1, VALUE_REAL = 2 };

/*  result        name                            arguments */
#define CLANG_FUNCTIONS(X)                                                                                             \
    X(Clang_string, getClangVersion, (void))                                                                           \
    X(Clang, createIndex, (int, int))                                                                                  \
    X(void, disposeIndex, (Clang))                                                                                     \
    X(int, parseTranslationUnit2,                                                                                      \
      (Clang, const char *, const char *const *, int, Clang_file *, unsigned, unsigned, Clang *))                      \
    X(void, disposeTranslationUnit, (Clang))                                                                           \
    X(unsigned, getNumDiagnostics, (Clang))                                                                            \
    X(Clang, getDiagnostic, (Clang, unsigned))                                                                         \
    X(int, getDiagnosticSeverity, (Clang))                                                                             \
    X(Clang_string, getDiagnosticSpelling, (Clang))                                                                    \
    X(Clang_place, getDiagnosticLocation, (Clang))                                                                     \
    X(void, disposeDiagnostic, (Clang))                                                                                \
    X(const char *, getCString, (Clang_string))                                                                        \
    X(void, disposeString, (Clang_string))                                                                             \
    X(Cursor, getTranslationUnitCursor, (Clang))                                                                       \
    X(unsigned, visitChildren, (Cursor, Visit_cursor *, void *))                                                       \
    X(unsigned, equalCursors, (Cursor, Cursor))                                                                        \
    X(Clang_string, getCursorKindSpelling, (int))                                                                      \
    X(Clang_string, getCursorSpelling, (Cursor))                                                                       \
    X(Clang_range, getCursorExtent, (Cursor))                                                                          \
    X(Clang_place, getRangeStart, (Clang_range))                                                                       \
    X(void, getExpansionLocation, (Clang_place, Clang *, unsigned *, unsigned *, unsigned *))                          \
    X(Cursor, getCursorReferenced, (Cursor))                                                                           \
    X(Clang_type, getCursorType, (Cursor))                                                                             \
    X(Clang_type, getCursorResultType, (Cursor))                                                                       \
    X(Clang_type, getCanonicalType, (Clang_type))                                                                      \
    X(Clang_string, getTypeSpelling, (Clang_type))                                                                     \
    X(Clang_string, getTypeKindSpelling, (int))                                                                        \
    X(Cursor, getTypeDeclaration, (Clang_type))                                                                        \
    X(unsigned, isVolatileQualifiedType, (Clang_type))                                                                 \
    X(unsigned, Cursor_isVariadic, (Cursor))                                                                           \
    X(int, Cursor_getStorageClass, (Cursor))                                                                           \
    X(int, getCursorBinaryOperatorKind, (Cursor))                                                                      \
    X(int, getCursorUnaryOperatorKind, (Cursor))                                                                       \
    X(Clang_string, getBinaryOperatorKindSpelling, (int))                                                              \
    X(Clang_string, getUnaryOperatorKindSpelling, (int))                                                               \
    X(Clang, Cursor_Evaluate, (Cursor))                                                                                \
    X(int, EvalResult_getKind, (Clang))                                                                                \
    X(long long, EvalResult_getAsLongLong, (Clang))                                                                    \
    X(double, EvalResult_getAsDouble, (Clang))                                                                         \
    X(void, EvalResult_dispose, (Clang))

extern struct Clang_library {
#define X(result, name, arguments) result(*name) arguments;
    CLANG_FUNCTIONS(X)
#undef X
} clang;

const char *clang_fault(void);          /* NULL: the library is loaded; else the message */
const char *clang_text(Clang_string s); /* in the arena; disposes of s */

#endif
