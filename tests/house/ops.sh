# ops.sh: no stage has a `case` for an operation with a file of its own: what it means to the stage is a part of it.
# Comparisons (op == OP_dot) are not counted: passes about one operation alone, such as narrow and bias, have them.
# Rules about pairs of views (passes/simplify_view.c) belong to neither of the two.
failed=0
complain() { echo "failed: $*"; failed=1; }

names=$(sed -n 's/^\(OWN\|WHOLE_OP\) (\([a-z_]*\),.*/\2/p' compiler/graph/ops.def | paste -sd '|')
case "|$names|" in *'|cumsum|'*'|attention|'*) ;; *) complain "only these have files of their own: $names" ;; esac

# cases FILE …: those for such an operation.
cases() { grep -nE "case OP_($names):" "$@" /dev/null; }

find compiler -name '*.[ch]' ! -path 'compiler/ops/*' ! -path compiler/passes/simplify_view.c >"$TMP/stages"
found=$(cases $(cat "$TMP/stages"))
[ -z "$found" ] || complain "$found"

# The check sees one.
echo '    case OP_cumsum: break;' >"$TMP/stage.c"
[ -n "$(cases "$TMP/stage.c")" ] || complain "a case for cumsum is not found"
exit $failed
