# options.sh: options that change the program build into a folder of their own, whatever they are, and those that do not,
# into that of a build without them; `lathe help` has no option that is neither.
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }
top=$PWD
model="$top/models/gpt.lua"
cd "$TMP"

# shellcheck disable=SC2086
folder() { "$LATHE" build "$model" --config char --source $1; }

changing="--config=stream
--set=batch=2
--target=cuda
--memory=1G
--precision=bf16
--cache=q8_0
--lora=rank=2
--prefer=dpo
--distill=$top/models/gpt.lua,config=char
--head-rows=3
--recompute=0.5
--exact-sums=3
--shard-parameters
--all-in-place
--all-panels
--all-persist
--instrument
--poison
--library
--amalgamation
--for=x86-64-v3
--static
--python
--no-fuse"
same='--gpus=2
--ranks=2
--hosts=a:2
--entry=eval
--bundle
--source
--time
--gpu=h200
--json
--after=fuse
--from=fuse
--brief
--check-stages'

plain=$(folder '')
: >"$TMP/folders"
echo "$changing" | while read -r option; do folder "$option"; done >"$TMP/folders"
echo "$plain" >>"$TMP/folders"
[ "$(wc -l <"$TMP/folders")" = 25 ] || complain "not every option builds: $(cat "$TMP/folders")"
[ -z "$(sort "$TMP/folders" | uniq -d)" ] || complain "builds share a folder: $(sort "$TMP/folders" | uniq -d)"
folder '--precision=bf16 --parameters=bf16' >>"$TMP/folders"
folder '--lora=rank=2 --frozen=q8_0' >>"$TMP/folders"
folder '--library --inference' >>"$TMP/folders"
folder '--amalgamation --freestanding' >>"$TMP/folders"
folder '--python --layer' >>"$TMP/folders"
[ -z "$(sort "$TMP/folders" | uniq -d)" ] || complain "--parameters or --frozen shares a folder"
for option in $same; do
    case $option in --gpus=2 | --ranks=2 | --hosts=a:2 | --gpu=h200) continue ;; esac # not of build
    [ "$(folder "$option")" = "$plain" ] || complain "$option builds into another folder"
done

# What the help has is here.
"$LATHE" help | sed -n '/^options/,/^passes/s/^  \(-[a-z-]*\) .*/\1/p' | sort >"$TMP/helped"
{ printf '%s\n' "$changing" "$same" | sed 's/=.*//' | grep -v '^--no-'; printf '%s\n' --parameters --frozen --inference --freestanding --layer -o; } | sort >"$TMP/tried"
cmp -s "$TMP/helped" "$TMP/tried" || complain "options without a test: $(diff "$TMP/helped" "$TMP/tried")"

# Names that look alike in a folder's name are told apart.
cat >names.lua <<'END'
return {
  config = { batch = 2, features = 3 },
  configs = { ["a/b"] = {}, ["a:b"] = {} },
  forward = function(c, input) return nn.cross_entropy(nn.linear(input.features, { out = 3 }), input.targets) end,
  data = data.csv { target = "y" },
}
END
one=$("$LATHE" build names.lua --config a/b --source) two=$("$LATHE" build names.lua --config a:b --source)
[ "$one" != "$two" ] || complain "two configurations share $one"
exit $failed
