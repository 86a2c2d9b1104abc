/* ops_default.h: defines as empty the row macros of graph/ops.def that the including file did not define. */
#ifndef MAP1
#define MAP1(name, class, text, da, domain, doc)
#endif
#ifndef MAP2
#define MAP2(name, class, text, da, db, domain, doc)
#endif
#ifndef CMP2
#define CMP2(name, text, doc)
#endif
#ifndef LOGIC1
#define LOGIC1(name, text, doc)
#endif
#ifndef LOGIC2
#define LOGIC2(name, text, doc)
#endif
#ifndef MAPX
#define MAPX(name, arity, text, doc)
#endif
#ifndef RED
#define RED(name, start, step, doc)
#endif
#ifndef CORE
#define CORE(name, arity, kind, ints, doc)
#endif
#ifndef OWN
#define OWN(name, arity, kind, results, facts, parts, lua, ints, doc)
#endif
#ifndef WHOLE_OP
#define WHOLE_OP(name, parts, ints, doc)
#endif
