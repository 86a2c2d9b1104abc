# wires.sh: messages between processes of this machine (runtime/ranks/local.c): 2, 3 and 5 of them send each other
# messages of 0 bytes to some MB on both channels at once; all arrive whole and in order.  When a process exits or is
# killed, the others know within a second, after its last word.  A message of another size, and too few open files, are refused.
drive=$BUILD/carrier_drive
failed=0
complain() { echo "failed: $*"; sed 's/^/    | /' "$TMP/said"; failed=1; }

for n in 2 3 5; do
    timeout 60 "$drive" wires $n >"$TMP/said" 2>&1 || complain "$n processes: exit $?"
    [ "$(grep -c "of $n, processes of this machine" "$TMP/said")" = $n ] || complain "$n processes were to say that they are there"
done

for how in exit kill; do
    timeout 60 "$drive" wires 4 lose 2 $how >"$TMP/said" 2>&1 || complain "one ends by $how: exit $?"
    for rank in 0 1 3; do
        grep -q "^rank $rank lost 2 within 1 s, and had its last word: the process of rank 2 has ended" "$TMP/said" ||
            complain "rank $rank does not know that rank 2 ended by $how"
    done
done

timeout 60 "$drive" wires 2 mismatch >"$TMP/said" 2>&1
grep -q 'rank 1 has lost 0: rank 0 sent 12 bytes where 11 were expected' "$TMP/said" || complain 'nobody minds a message of another size'

(ulimit -n 64 && timeout 60 "$drive" wires 9) >"$TMP/said" 2>&1 && complain 'more sockets than may be open'
grep -q '9 ranks need 216 sockets, .*too many open files; start fewer ranks, or allow more open files: ulimit -n' "$TMP/said" ||
    complain 'the refusal of more sockets than may be open'
(ulimit -S -n 64 && timeout 60 "$drive" wires 6) >"$TMP/said" 2>&1 || complain 'a soft limit of open files was not raised'
exit $failed
