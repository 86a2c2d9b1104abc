# functions.sh: what the language's functions refuse and warn of: an expression a line, and what is said of it.
#
#   refused EXPRESSION ~ PATTERN        exit code 1, its line named
#   warned EXPRESSION ~ PATTERN         taken, with a warning that names its line
#   taken EXPRESSION                    taken without a word
# x is f32 [4, 6], ids i32 [4], counts f32 [4], t i32 [4], the targets.
set -u
failed=0
describe() {
    cat >"$TMP/one.lua" <<END
return {
  config = { batch = 4, features = 6 },
  forward = function(c, input)
    local x, t = input.features * nn.param { name = "w", shape = { 6 }, init = 1 }, input.targets
    local ids, counts = x:argmax(-1), x:sum(-1)
    local value = $1
    return (nn.is_tensor(value) and value.rank == 0 and value.dtype == "f32") and value or x:mean()
  end,
  decode = false,
  data = data.csv { target = "label" },
}
END
}
# look CODE EXPRESSION PATTERN [ARGUMENT…]
look() {
    wanted=$1 pattern=$3
    describe "$2"
    expression=$2
    shift 3
    "$LATHE" check "$TMP/one.lua" "$@" >"$TMP/out" 2>"$TMP/err"
    code=$?
    if [ $code != "$wanted" ] || ! { if [ -n "$pattern" ]; then grep -Eq -- "$pattern" "$TMP/err"; else [ ! -s "$TMP/err" ]; fi; }; then
        echo "failed: $expression"
        echo "  exit code $code, not $wanted; or no \"$pattern\" in:"
        sed 's/^/  | /' "$TMP/err"
        failed=1
    fi
}
while read -r kind rest; do
    expression=${rest% ~ *} pattern=${rest##* ~ }
    case $kind in
    refused) look 1 "$expression" "one.lua:6: error: .*$pattern" ;;
    warned)
        look 0 "$expression" "one.lua:6: warning: .*$pattern"
        look 0 "$expression" "" --precision fp64
        ;;
    taken) look 0 "$rest" "" ;;
    esac
done <<'END'
taken x:mean { -1, keep = true }
taken x:max { 0, keepdim = true }
taken x:min(1)
taken x:var { 0, correction = 0, keep = true }
taken x:sum {}
taken x:argmax()
taken x:argmin { -1, keepdim = true }
refused x:mean { -1, keepdims = true } ~ x:mean has no option 'keepdims'; axes are given by number, x:mean . -1, keep = true
refused x:sum { dim = -1 } ~ x:sum has no option 'dim'
refused x:min { -1, keep = 1 } ~ keep must be true or false, found 1
refused x:max { -1, keep = true, keepdim = true } ~ keep and keepdim are the same
refused x:mean(-1, true) ~ an axis must be an integer, found true; to keep the axes
refused x:mean({ 0 }, true) ~ nothing may follow the table
refused x:min(x) ~ to compare element by element, use nn.min.a, b
refused x:max(0.5) ~ element by element, use nn.max.x, 0.5
refused x:sum(2) ~ there is no axis 2
refused x:var { 0, unbiased = false } ~ x:var has no option 'unbiased'
refused x:var { 0, correction = 4 } ~ x:var is undefined for 4 elements with correction = 4
refused x:std { 0, correction = "none" } ~ correction must be a number
refused x:norm { -1, p = 0 } ~ p must be a positive number
refused x:argmax(0, 1) ~ works along one axis, found 2
refused x:argmin { keep = true } ~ keep = true needs an axis
refused nn.lt(x, 0):prod() ~ needs numbers, found a bool
refused nn.lt(x, 0):max(-1) ~ x:max cannot take bool: it needs numbers
taken nn.max(x, 0)
taken nn.max(counts, 1)
taken nn.max(x, 1.0)
taken nn.max(x, 7)
taken nn.min(x, x)
refused nn.max(x, -1) ~ -1 is also an axis of x .batch 4, features 6.
refused nn.min(x, 1) ~ compares element by element, but 1 is also an axis
refused nn.max(ids, -1) ~ compares element by element
taken x:cummax(1) + x:cummin(0, true) + x:sort() + nn.sort(x, 0, true) + x:cumprod(-1)
taken ids:sort() + x:argsort(0):select(1, 0) + counts:sort(-1, false):cast("i32")
refused x:sort(2) ~ there is no axis 2
refused x:sort { -1 } ~ x:sort: an axis must be an integer, found a table
refused x:cummax() ~ x:cummax: an axis must be an integer, found nil
refused x:sort(0, true, 1) ~ x:sort takes 2 arguments, found 3
refused nn.lt(x, 0):sort() ~ x:sort needs a tensor of numbers with an axis, found a tensor bool
refused nn.lt(x, 0):argsort() ~ x:argsort needs numbers, found bool
taken nn.clamp(x, -1, 1)
taken ids:clamp(0, 3)
refused nn.clamp(x) ~ needs a bound
refused nn.clamp(x, 1, 0) ~ low must not be above high, found 1 and 0
refused nn.elu(ids) ~ nn.elu.x, alpha. needs a real tensor
refused nn.leaky_relu(x, x) ~ slope must be a number
taken nn.one_hot(ids, 6)
taken nn.one_hot(t, 3, { ignore = -1 })
refused nn.one_hot(nn.constant({ 0, 3 }, "i32"), 3) ~ there are 3 classes, so ids must be 0 to 2, found 3
refused nn.one_hot(x, 3) ~ ids must be i32
refused nn.one_hot(ids, 0) ~ n must be a positive integer
refused nn.one_hot(ids, 6, { ignored = 1 }) ~ no option 'ignored'; did you mean 'ignore'
taken nn.stop_gradient(x) + ids:stop_gradient():cast("f32"):sum()
refused nn.stop_gradient(x, 1) ~ nn.stop_gradient takes 1 argument, found 2
refused nn.relu(x, true) ~ nn.relu takes 1 argument, found 2
refused x:softmax(-1, 0) ~ x:softmax takes 1 argument, found 2
refused x:relu(x) ~ x:relu takes 0 arguments, found 1
refused nn.cross_entropy(x, t, {}, 0.1) ~ nn.cross_entropy takes 3 arguments, found 4
refused nn.mse(x, x, {}, "none") ~ nn.mse takes 3 arguments, found 4
refused nn.where(nn.lt(x, 0), 0, x, 1) ~ nn.where takes 3 arguments, found 4
refused x:slice(1, 0, 2, 1, 0) ~ x:slice takes 4 arguments, found 5
refused x:transpose(0, 1, 2) ~ x:transpose takes 2 arguments, found 3
refused x:reshape({ 6, 4 }, 1) ~ x:reshape takes 1 argument, found 2
refused x:permute({ 1, 0 }, 1) ~ x:permute takes 1 argument, found 2
refused nn.concat({ x, x }, 1, 0) ~ nn.concat takes 2 arguments, found 3
refused nn.pow(x, 2, 3) ~ nn.pow takes 2 arguments, found 3
refused nn.linear(x, x, { out = 3 }) ~ nn.linear takes 1 tensor and options, found 2 arguments
refused nn.training(x) ~ nn.training takes 0 arguments, found 1
taken nn.softmax(x, nil, nil):sum() + nn.gelu(x, "tanh"):reshape(6, 4):permute(1, 0):mean()
taken nn.mse(x, x, { reduction = "none" })
refused nn.mse(x, x, { reduction = "avg" }) ~ reduction must be "mean", "sum" or "none", found 'avg'
refused nn.mse(x, counts) ~ both must be real tensors of one shape
refused nn.l1(counts, counts:unsqueeze(-1)) ~ both must be real tensors of one shape
refused nn.huber(x, x, { delta = 0 }) ~ delta must be above 0
refused nn.bce_with_logits(x, nn.lt(x, 0)) ~ both must be real tensors
refused nn.bce_with_logits(x, x, { weight = 2 }) ~ no option 'weight'
refused nn.focal(x, counts) ~ nn.focal.logits, target.: both must be real tensors of one shape
refused nn.focal(x, x, { gamma = -1 }) ~ gamma must be 0 or more, found -1
refused nn.pinball(x, x, { quantiles = 1.5 }) ~ quantiles must be numbers between 0 and 1, found 1.5
refused nn.pinball(x, x, { quantiles = "half" }) ~ option 'quantiles' must be a number or a list
refused nn.pinball(x, counts, { quantiles = {} }) ~ quantiles.* must be a number or a list of numbers
refused nn.pinball(x, counts, { quantiles = { 0.1, 0.9 } }) ~ with a list of 2 quantiles x must be real .*, 2
taken nn.pinball(x:slice(1, 0, 2), counts, { quantiles = { 0.1, 0.9 } })
refused nn.gaussian_nll(x, x) ~ var must be a number, or real and shaped like x
refused nn.gaussian_nll(x, x, x:slice(1, 0, 2)) ~ its last axis may be 1 or missing
refused nn.gaussian_nll(x, x, -1) ~ var must be 0 or more, found -1
taken nn.gaussian_nll(x, x, counts * counts) + nn.gaussian_nll(x, x, 1)
refused nn.poisson_nll(x, ids) ~ nn.poisson_nll.x, target.: both must be real
refused nn.hinge_embedding(x, t) ~ both must be real tensors of one shape
refused nn.margin_ranking(x, x, counts) ~ nn.margin_ranking.a, target.: both must be
refused nn.triplet_margin(x, x, counts) ~ nn.triplet_margin.anchor, negative.: both must be
refused nn.cosine_embedding(x, x, x) ~ .a without its last axis, target.: both must be
taken nn.cosine_embedding(x, x, counts)
refused nn.normalize(ids) ~ vectors must be real .*, width., found a tensor i32
refused nn.normalize(x, { eps = 0 }) ~ eps must be above 0
refused nn.cosine_similarity(x, x:slice(1, 0, 2)) ~ vectors of one width are compared; axis -1 has 6 and 2
refused nn.pairwise_distance(x, x:sum()) ~ vectors must be real
refused nn.info_nce(counts, counts) ~ both must be .pairs, width., found
refused nn.info_nce(x, x, { temperature = 0 }) ~ temperature must be above 0
refused nn.ctc(x, ids) ~ log_probs must be real .batch, time, classes., targets i32
refused nn.ctc(x:unsqueeze(0), ids:unsqueeze(0), ids) ~ input_lengths must be i32 .1., a number for each row of the batch, or nil
refused nn.ctc(x:unsqueeze(0), ids:unsqueeze(0), nil, nil, { blank = 6 }) ~ blank must be a class, 0 to 5, found 6
refused nn.ctc(x:unsqueeze(0), nn.constant({ 1, 6 }, "i32"):unsqueeze(0)) ~ ids must be 0 to 5, found 6
refused nn.ctc(x, ids, nil, nil, {}, 1) ~ nn.ctc takes 5 arguments, found 6
taken nn.ctc(x:unsqueeze(0), ids:unsqueeze(0)) + nn.info_nce(x, x)
refused nn.cross_entropy(x, t, { weight = counts }) ~ weight must be real .6., a number for each class
refused nn.cross_entropy(x, t, { reduction = "avg" }) ~ reduction must be
refused nn.kl_div(x:sum(), x:sum(), { reduction = "batchmean" }) ~ a scalar has none
refused nn.nll(x, counts) ~ ids i32
refused nn.nll(x, nn.constant({ 0, 6, 1, 2 }, "i32")) ~ there are 6 classes, so ids must be 0 to 5, found 6
taken nn.nll(x, nn.constant({ 0, -100, 1, 2 }, "i32"), { ignore = -100 })
refused nn.cross_entropy(x, nn.constant({ 0, 9, 1, 2 }, "i32")) ~ ids must be 0 to 5, found 9
refused nn.cross_entropy(x, t, { ignore = -100 }) + nn.accuracy(x, t) ~ reads the targets with ignore = -100, and this call with no ignore
refused nn.cross_entropy(x, t) + nn.nll(x, t, { ignore = 6 }) ~ with no ignore, and this call with ignore = 6
taken nn.cross_entropy(x, t, { ignore = -100 }) + nn.accuracy(x, t, { ignore = -100 })
taken nn.einsum("bi,bj->ij", x, x):sum()
taken nn.einsum("bi,bi", x, x)
refused nn.einsum("bi,bj->ij", x) ~ names 2 operands, found 1
refused nn.einsum("bij->b", x) ~ 'bij' names 3 axes, but operand 1 is
refused nn.einsum("b1->b", x) ~ axes must be letters or '...', found '1'
refused nn.einsum("bi->bib", x) ~ the result has 'b' twice
refused nn.einsum("bi->bk", x) ~ no operand has the result's 'k'
refused nn.einsum("bi,ib->b", x, x) ~ 'i' is 4 in operand 2 .*, but 6 in an earlier one
refused nn.einsum("bb->b", x) ~ 'b' names axes of extents 4 and 6 in one operand
refused nn.einsum("b->b", ids) ~ operand 1 must be a real tensor
refused nn.einsum("...b...->b", x) ~ '...b...' has '...' twice
refused nn.dot(x, x, { contract = { 1, 1 }, batches = { 0, 0 } }) ~ nn.dot has no option 'batches'; did you mean 'batch'
refused x:reshape { 6, 4, keep = true } ~ x:reshape has no option 'keep'; expected a list
refused nn.zeros { 3, axis = 1 } ~ a shape has no option 'axis'
refused nn.concat({ x, x, axis = 1 }, 0) ~ nn.concat has no option 'axis'
refused nn.constant({ 1.5 }, "i32") ~ 1.5 is not a 32-bit integer
refused nn.constant({ 1 }, "int") ~ the type must be "f32" or "i32"
taken x + 16777216
taken x * 1e10 + math.huge
warned x + 16777217 ~ a . b: 16777217 becomes 16777216: fp32 represents all integers only up to 16777216
warned nn.constant({ 20000001, 20000001.0 }) ~ 20000001 becomes 20000000
warned nn.iota(20000000):cast("f32"):sum() ~ these integers go up to 19999999, but fp32 represents all integers only up to 16777216
taken nn.integers(x, 7):cast("f32"):sum()
taken nn.iota(16777217):cast("f32"):sum()
refused x * 1e39 ~ 1e.39 exceeds the largest number of fp32
refused nn.full({ 4 }, -1e39) ~ exceeds the largest number of fp32
refused nn.param { name = "p", shape = { 4 }, init = 1e39 } ~ exceeds the largest number of fp32
refused nn.param { name = "p", shape = { 4 }, init = nn.init.normal(1e39) } ~ exceeds the largest number of fp32
END
exit $failed
