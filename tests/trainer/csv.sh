# csv.sh: a table of numbers with a class: it is learned, and everything that can be wrong with it is said with its place.
. tests/trainer/common
train="$table train --out run --threads 1"

awk 'BEGIN {
    print "a,class,b,\"c\""
    for (i = 0; i < 120; i++) {
        for (k = 0; k < 3; k++) { x = (x * 1103515245 + 12345) % 2147483648; v[k] = x / 1073741824 - 1 }
        printf "%g,%d,\"%g\", %g\r\n", v[0], 2 * (v[0] > 0) + (v[1] > 0), v[1], v[2]
    }
}' >good.csv
works $train --data good.csv --json
says 'over the last\|"rows":30' out
close "$(number accuracy out)" 0.95 0.1 'accuracy on 30 rows'
cp run/model.safetensors one
works "$table" eval --data good.csv --out run --json
close "$(number rows out)" 30 0.5 rows
works $train --data good.csv --threads 3
same run/model.safetensors one
works $train --data good.csv --seed 2
differs run/model.safetensors one

# The mean over 7 rows in batches of 5 is the mean of what each row gives alone.
head -n 8 good.csv >seven.csv
works "$table" eval --data seven.csv --out run --val-fraction 1 --json
all=$(number loss out)
sum=0
for i in 2 3 4 5 6 7 8; do
    { head -n 1 good.csv; sed -n "${i}p" good.csv; } >row.csv
    works "$table" eval --data row.csv --out run --val-fraction 1 --json
    sum="$sum + $(number loss out)"
done
close "$all" "($sum) / 7" 1e-6 'mean of a batch and a remainder'

bad() { printf "$2" >bad.csv; refuses 3 "$1" $train --data bad.csv; }
refuses 3 'nothing.csv: error: expected a CSV file, but it cannot be read' $train --data nothing.csv
: >empty.csv
refuses 3 'empty.csv: error: expected a CSV file, found an empty one' $train --data empty.csv
mkdir folder
refuses 3 'folder: error: expected a CSV file, found a folder' $train --data folder
bad 'bad.csv:1: error: expected the class in a column "class" (--set csv_target=COLUMN names another), found "a", "clas", "b", "c"; did you mean "clas"?' 'a,clas,b,c\n1,2,3,4\n'
bad 'bad.csv:3:5: error: column "b": expected a number, found "x"' 'a,class,b,c\n1,2,3,4\n1,2,x,4\n'
bad 'bad.csv:2:3: error: column "class": expected a class, 0 to 3, found 4' 'a,class,b,c\n1,4,3,4\n'
bad 'bad.csv:2:3: error: column "class": expected a class, 0 to 3, found 1.5' 'a,class,b,c\n1,1.5,3,4\n'
bad 'bad.csv:2:3: error: column "class": expected a class, 0 to 3, found -1' 'a,class,b,c\n1,-1,3,4\n'
bad 'bad.csv:2: error: expected 4 fields, as the first line has, found 3' 'a,class,b,c\n1,2,3\n'
bad 'bad.csv:2: error: expected 4 fields, as the first line has, found 5' 'a,class,b,c\n1,2,3,4,5\n'
bad 'bad.csv:2:7: error: column "c": expected a number, found nothing' 'a,class,b,c\n1,2,3,\n'
bad 'bad.csv:2:1: error: column "a": expected a number, found "nan"' 'a,class,b,c\nnan,2,3,4\n'
bad 'bad.csv:2:5: error: expected a closing "' 'a,class,b,c\n1,2,"3,4\n'
bad 'bad.csv: error: expected 3 columns besides "class", found 2' 'a,class,b\n1,2,3\n1,2,3\n'
bad 'bad.csv: error: expected rows to train on, found none' 'a,class,b,c\n'
bad 'bad.csv:1: error: expected text, found a zero byte' 'a,\000class,b,c\n'
printf 'a,class,c,b\n1,2,3,4\n' >other.csv
refuses 3 'other.csv:1:9: error: expected column "b", as in the first file, found "c"' $train --data good.csv other.csv
refuses 1 'has no entry decode' "$table" generate --out run
finish
