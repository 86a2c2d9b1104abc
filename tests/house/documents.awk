# documents.awk: takes README and its pages apart, for documents.sh.  A page's fenced blocks become files in OUT, one line
# of standard output says what each is:
#
#   lua N PAGE:LINE NAME        N.lua; NAME is that in a first line `-- NAME.lua`, else -: a fragment
#   console N PAGE:LINE K       N.K.cmd, a line that begins with `$ `; N.K.want, what follows it
#   heading PAGE:LINE TEXT      of the list of messages: what is quoted in a heading
function close_all(k) { for (k in open) close(k); split("", open) }
function put(file, text) { open[file] = 1; print text >file }

FNR == 1 { kind = "" }
/^```/ && kind == "" {
    kind = substr($0, 4)
    if (kind == "") kind = "text"
    start = FILENAME ":" FNR
    k = 0
    if (kind == "lua" || kind == "console") n++
    fresh = 1
    next
}
/^```/ {
    if (kind == "console") print "console " n " " start " " k
    close_all()
    kind = ""
    next
}
kind == "lua" {
    if (fresh) {
        name = "-"
        if ($1 == "--" && $2 ~ /^[a-z_]+\.lua:?$/) { name = $2; sub(/:$/, "", name) }
        print "lua " n " " start " " name
        fresh = 0
    }
    put(OUT "/" n ".lua", $0)
    next
}
kind == "console" {
    if (substr($0, 1, 2) == "$ ") { k++; put(OUT "/" n "." k ".cmd", substr($0, 3)) }
    else if (k) put(OUT "/" n "." k ".want", $0)
    next
}
kind == "" && /^### / && FILENAME ~ /troubleshooting/ { print "heading - " FILENAME ":" FNR " " substr($0, 5) }
