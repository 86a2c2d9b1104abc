/* test_decode_table.c: every function of the library along time: it decodes to what the whole sequence gives, or it is
 * refused with its line and its reason.  No function is missing here. */
#include "decoder.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Row {
    const char *text, *refusal;
} Row;

#define HEADS "local function heads(w) return w:reshape { w:size(0), w:size(1), 2, 4 } end; local q = heads(x); "

#define IMAGE "local i = x:reshape { x:size(0), x:size(1), 4, 2 }; "
#define CUBE  "local i = x:reshape { x:size(0), x:size(1), 2, 2, 2 }; "

/* Of x [B][T][8], real, something shaped like it. */
static const char *const decodes[] = {
    /* time is looked back upon */
    "return nn.attention(x, { heads = 2, causal = true, rotary = 10.0 })",
    "return nn.attention(x, { heads = 2, causal = true, score_bias = nn.relative_bias { heads = 2 } })",
    "return nn.attention(x, { heads = 2, causal = true, score_bias = nn.alibi(2), window = 4 })",
    "return nn.stack(3, x, function(x, i) return nn.attention(x, { heads = 2, causal = true, window = 3, windowed = "
    "nn.eq(i % 2, 0) }) end)",
    "return nn.attention(x, { heads = 4, kv_heads = 2, by_group = true, causal = true, head_width = 6, rotary = 10.0, "
    "rotary_width = 4 })",
    HEADS "return nn.attend(q, 2 * q, q + 1, { causal = true }):reshape(x.shape)",
    HEADS "return nn.attend(q, q, q, { causal = true, turns = nn.turns(nn.positions(x), 4, 10.0) }):reshape(x.shape)",
    HEADS "local _, lse = nn.attend(q, q, q, { causal = true }); return lse:mean(1):unsqueeze(-1) + x",
    HEADS "local _, _, p = nn.attend(q, q, q, { causal = true, probabilities = true }); return "
          "p:sum(-1):mean(1):unsqueeze(-1) + x",
    "local w = nn.param { name = \"w\", shape = { 5, 8 }, init = 1 }:unsqueeze(0):expand { x:size(0), 5, 8 }"
    "  return nn.attention(x, w, { heads = 2, rotary = 10.0 })",
    "local w = nn.param { name = \"w\", shape = { 9, 8 }, init = 1 }:unsqueeze(0):expand { x:size(0), 9, 8 }"
    "  return nn.attention(x, w, { heads = 2, causal = true, score_bias = nn.alibi(2) })",
    "local w = nn.param { name = \"v\", shape = { 5, 8 }, init = 1 }:unsqueeze(0):expand { x:size(0), 5, 8 }"
    "  return (nn.additive_attention(x, w, { width = 3 }))",
    "return nn.conv1d(x, { out = 8, kernel = 3, dilation = 2, causal = true })",
    "return nn.shift(x)",
    "return x:cumsum(1)",
    "return nn.cumsum(x:reshape { x:size(0), x:size(1), 2, 4 }, -3):reshape(x.shape)",
    "return nn.positions(x):cast(\"f32\"):unsqueeze(-1) + x",
    "return nn.position_embedding(x, { context = 9, width = 8 }) + x",
    "return nn.sinusoidal(nn.positions(x), 8) + x",
    HEADS "return nn.rotary(q, nn.positions(x), 10.0):reshape(x.shape)",
    "local _, y = nn.scan(x, nn.zeros { x:size(0), 8 }, function(x, h) h = nn.tanh(x + h); return h, h end); return "
    "y",
    "return (nn.lstm(x, { hidden = 8, layers = 2 }))",
    "return (nn.gru(x, { hidden = 8 }))",
    "return (nn.rnn(x, { hidden = 8 }))",
    "local cell, zero = nn.lstm_step { hidden = 8 }, nn.zeros { x:size(0), 8 };"
    " local _, y = nn.scan(x, { h = { zero }, c = { zero } }, function(x, s) local h, new = cell(x, s); return new, h "
    "end); return y",
    "return nn.stack(2, x, function(x) return x + nn.shift(x, 2):cumsum(1) end)",
    "return nn.map(2, function(i) return nn.linear(x, { out = 8 }) end):sum(0)",
    "return (nn.experts(x, { experts = 3, active = 2, hidden = 5 }))",
    "local y, r = nn.experts(x, { experts = 3, active = 2, hidden = 5, normalised = false }); return y + "
    "nn.max(r:sum(-1), "
    "0):unsqueeze(-1)",
    "local w = nn.param { name = \"ws\", shape = { 4, 8, 8 }, init = nn.init.normal(0.5) };"
    " return nn.dot_by_ids(x, w, x:slice(-1, 0, 4):argmax(-1)) + nn.dot_by_ids(x, w, x:slice(-1, 4, 8):argmax(-1), 1)",
    "return nn.checkpoint(function(x) return x + nn.shift(x, 3) end, x)",
    /* other axes */
    "return x:cumsum(-1, true) + x:flip(-1) + x:pad(-1, 1):slice(-1, 0, 8) + x:sum { -1, keep = true }",
    "return nn.scatter_add(x, nn.constant({ 1, 0, 3, 2, 4, 7, 6, 5 }, \"i32\"), 8, -1)",
    "return x:gather(nn.constant({ 1, 0, 3, 2, 4, 7, 6, 5 }, \"i32\"), -1) + x:softmax() + "
    "x:argmax(-1):cast(\"f32\"):unsqueeze(-1)",
    "local top, ids = x:topk(3, -1); return x + nn.concat({ top, ids:cast(\"f32\"), top:slice(-1, 0, 2) }, -1)",
    "local v, ids = x:cummin(-1); return v + x:sort(-1, true) + (ids + x:cumargmax(-1)):cast(\"f32\")",
    "return nn.normalize(x) + (nn.cosine_similarity(x, 2 - x) + nn.pairwise_distance(x, 1 + x * x)):unsqueeze(-1)",
    "return nn.triplet_margin(x, x * x, 1 - x, { reduction = \"none\" }):unsqueeze(-1) + x",
    "return nn.cosine_embedding(x, x * x, x:sum(-1) * 0 + 1, { reduction = \"none\" }):unsqueeze(-1) + x",
    "return nn.pinball(x:slice(-1, 0, 2), x:sum(-1), { quantiles = { 0.1, 0.9 }, reduction = \"none\" "
    "}):mean(-1):unsqueeze(-1) + x",
    "return x:matmul(nn.param { name = \"m\", shape = { 8, 8 }, init = 0.1 }) + x:select(-1, 0):unsqueeze(-1)",
    "return x:overwrite(nn.constant({ 0, 2 }, \"i32\"), x:slice(-1, 3, 5), -1) + x:transpose(1, 2):transpose(2, 1)",
    "return x:permute { 2, 0, 1 }:cumsum(2):permute { 1, 2, 0 }",
    IMAGE "return nn.conv2d(i, { out = 2, kernel = { 1, 3 }, padding = { 0, 1 } }):reshape(x.shape)",
    IMAGE "return nn.conv_transpose2d(i, { out = 1, kernel = { 1, 2 }, stride = { 1, 2 } }):reshape(x.shape)",
    CUBE "return nn.conv3d(i, { out = 2, kernel = { 1, 3, 2 }, padding = \"same\" }):reshape(x.shape)",
    CUBE "return nn.conv_transpose3d(i, { out = 1, kernel = { 1, 1, 2 }, stride = { 1, 1, 2 } }):reshape(x.shape)",
    IMAGE "return nn.max_pool2d(i, { kernel = { 1, 3 }, stride = 1, padding = { 0, 1 } }):reshape(x.shape)",
    IMAGE "return nn.avg_pool2d(i, { kernel = { 1, 3 }, stride = 1, padding = { 0, 1 } }):reshape(x.shape)",
    CUBE "return nn.max_pool3d(i, { kernel = { 1, 2, 2 } }):reshape { x:size(0), x:size(1), 2 }:sum(-1):unsqueeze(-1) "
         "+ x",
    CUBE "return nn.avg_pool3d(i, { kernel = { 1, 2, 2 } }):reshape { x:size(0), x:size(1), 2 }:sum(-1):unsqueeze(-1) "
         "+ x",
    IMAGE "return nn.adaptive_max_pool2d(i, { size = { 9, 3 } }):sum(2):sum(-1):unsqueeze(-1) + x",
    IMAGE "return nn.adaptive_avg_pool2d(i, { size = { 9, 3 } }):sum(2):sum(-1):unsqueeze(-1) + x",
    CUBE "return nn.adaptive_max_pool3d(i, { size = { 9, 3, 1 } }):sum(2):sum(2):sum(-1):unsqueeze(-1) + x",
    CUBE "return nn.adaptive_avg_pool3d(i, { size = { 9, 1, 3 } }):sum(2):sum(2):sum(-1):unsqueeze(-1) + x",
    IMAGE "return nn.upsample(i, { scale = { 1, 0.5 } }):reshape { x:size(0), x:size(1), 4 }:sum(-1):unsqueeze(-1) + x",
    IMAGE "return nn.upsample(i, { size = { 9, 7 }, mode = \"bilinear\" }):sum(2):sum(-1):unsqueeze(-1) + x",
    "return nn.batchnorm(x)",
    "return nn.groupnorm(x:reshape { x:size(0) * x:size(1), 8 }, { groups = 2 }):reshape(x.shape)",
    "return nn.instancenorm(x:reshape { x:size(0) * x:size(1), 4, 2 }):reshape(x.shape)",
    "return nn.local_response_norm(x, { size = 3 })",
    "local _, ids = x:topk(3); return nn.embedding_bag(ids, { rows = 8, width = 8, padding = 5 })",
};

/* Later tokens, all of them, or others than the library keeps. */
static const Row refused[] = {
    {"return nn.attention(x, { heads = 2 })", "nn.attention without causal = true looks at later tokens"},
    {"return nn.attention(nn.zeros { x:size(0), 2, 8 }, x, { heads = 2 })", "nn.attention attends to a whole sequence"},
    {"return nn.attention(x:reshape { x:size(0), 2 * x:size(1), 4 }, { heads = 2, causal = true })",
     "nn.attention attends to a whole sequence"},
    {"return nn.attention(x, { heads = 2, causal = true, segments = x:argmax(-1) })",
     "nn.attention with segments looks at the document of each token"},
    {"return nn.attention(x, { heads = 2, causal = true, score_bias = nn.zeros { x:size(1), x:size(1) } + x:select(-1, "
     "0):unsqueeze(1):unsqueeze(-1) })",
     "nn.attention has a score_bias tensor with one number per key (give a function of the positions"},
    {"local w = nn.param { name = \"b\", shape = { 9, 1 } };"
     "  return nn.attention(x, { heads = 2, causal = true, score_bias = function(q, k) return w + k:cast(\"f32\") end "
     "})",
     "nn.attention has turns or a score_bias not computed from nn.positions"},
    {HEADS "return nn.attend(q, q, q)", "nn.attend without causal = true looks at later tokens"},
    {HEADS "return nn.attend(q, q, q, { causal = true, offset = nn.constant(1, \"i32\") })",
     "nn.attend with an offset"},
    {HEADS "return nn.attend(q, q, q, { causal = true, segments = x:argmax(-1) })", "nn.attend with segments"},
    {HEADS "return nn.attend(q, q, q, { causal = true, turns = nn.turns(nn.iota(x:size(1)), 4, 10.0) })",
     "nn.attend has turns or a score_bias not computed from nn.positions"},
    {HEADS "return nn.attend(q:slice(1, 0, 2), q, q)", "x:slice works along the time axis"},
    {"return (nn.additive_attention(x, x, { width = 3 }))", "of different times"},
    {"return nn.conv1d(x, { out = 8, kernel = 3, padding = 1 })", "nn.conv1d without causal = true looks at later"},
    {IMAGE "return nn.conv2d(i, { out = 8, kernel = 3 })", "along the time axis"},
    {"return nn.conv_transpose1d(x, { out = 8, kernel = 3, padding = 1 })", "along the time axis"},
    {"return nn.max_pool1d(x, { kernel = 2 })", "along the time axis"},
    {"return nn.avg_pool1d(x, { kernel = 3, stride = 1, padding = 1 })", "along the time axis"},
    {"return nn.adaptive_max_pool1d(x, { size = 3 })", "along the time axis"},
    {"return nn.adaptive_avg_pool1d(x, { size = 4 })", "along the time axis"},
    {"return nn.upsample(x, { size = 18 })", "nn.upsample works along the time axis"},
    {"return nn.groupnorm(x, { groups = 2 })", "runs over the time axis"},
    {"return nn.instancenorm(x)", "runs over the time axis"},
    {"return nn.embedding_bag(input.tokens, { rows = 11, width = 8 })", "runs over the time axis"},
    {"return x:cumsum(1, true)", "x:cumsum works along the time axis"},
    {"return nn.shift(x:reshape { x:size(0), 2 * x:size(1), 4 })",
     "nn.shift moves an axis that merges time with another"},
    {"return x:reshape { x:size(0), 2 * x:size(1), 4 }:cumsum(1)", "x:cumsum works along the time axis"},
    {"return x:cumprod(1)", "x:cumprod works along the time axis"},
    {"return x:cummax(1)", "x:cummax works along the time axis"},
    {"return x:cummin(-2)", "x:cummin works along the time axis"},
    {"return x:sort(1)", "x:sort works along the time axis"},
    {"return x:cumargmax(1):cast(\"f32\")", "x:cumargmax works along the time axis"},
    {"return x:argsort(1):cast(\"f32\")", "x:argsort works along the time axis"},
    {"return x:flip(1)", "x:flip works along the time axis"},
    {"return x:pad(1, 1)", "x:pad works along the time axis"},
    {"return x:slice(1, 1)", "x:slice works along the time axis"},
    {"return x:select(1, 0)", "x:select works along the time axis"},
    {"return (x:topk(2, 1))", "x:topk works along the time axis"},
    {"return x:argmax(1)", "x:argmax works along the time axis"},
    {"return x:softmax(1)", "runs over the time axis"},
    {"return x:log_softmax(1)", "runs over the time axis"},
    {"return x:mean(1)", "runs over the time axis"},
    {"return x:sum { 1, keep = true }", "runs over the time axis"},
    {"return x:max(1)", "runs over the time axis"},
    {"return nn.lt(x, 0):any(1):cast(\"f32\")", "time"},
    {"return nn.lt(x, 0):all(1):cast(\"f32\")", "time"},
    {"return x:prod(1)", "time"},
    {"return x:var(1)", "time"},
    {"return x:std(1)", "time"},
    {"return x:logsumexp(1)", "time"},
    {"return x:norm(1)", "time"},
    {"return x:argmin(1)", "time"},
    {"return nn.glu(x:expand { x:size(0), x:size(1), 8 }:slice(1, 0, 8), 1)", "time"},
    {"return nn.einsum(\"btc,bsc->bts\", x, x)", "time"},
    {"return nn.entropy(x, 1)", "runs over the time axis"},
    {"return nn.masked_mean(x, nn.lt(x, 1), 1)", "runs over the time axis"},
    {"return x:gather(nn.iota(3), 1)", "x:gather"},
    {"return x:overwrite(nn.iota(1), x:slice(1, 0, 1), 1)", "along the time axis"},
    {"return nn.scatter_add(x, nn.iota(x:size(1)), 9, 1)", "nn.scatter_add adds over the time axis"},
    {"return nn.concat({ x, x }, 1)", "nn.concat works along the time axis"},
    {"return x:chunk(3, 1)", "x:chunk works along the time axis"},
    {"return x:matmul(x:transpose(1, 2))", "pairs each time with every other"},
    {"return nn.dot(x, x, { batch = { 0, 0 }, contract = { 1, 1 } })", "sums over the time axis"},
    {"return x:reshape { x:size(0), 3, 3, 8 }", "x:reshape splits the time axis into several"},
    {"return x + nn.iota({ x:size(1), 1 }, 0):cast(\"f32\")",
     "the other operand has its own value for each position in time"},
    {"local _, y = nn.scan(x, nn.zeros { x:size(0), 8 }, function(x, h) return x + h, h end, { reverse = true }); "
     "return y",
     "nn.scan with reverse = true looks at later tokens"},
    {"return nn.weighted_mean(x, nn.ones(x.shape), 1):unsqueeze(1) + x", "runs over the time axis"},
    {"return x + nn.balance_loss(x, 2)", "time"},
    {"return nn.conv1d(x, { out = 8, kernel = 1, padding = 1 }):slice(1, 0, x:size(1))", "looks at later tokens"},
    {"return nn.ctc(nn.log_softmax(x), x:argmax(-1)):reshape { 1, 1, 1 } + x", "x:argmax"},
    {"return nn.info_nce(x:reshape { -1, 8 }, x:reshape { -1, 8 }):reshape { 1, 1, 1 } + x", "time"},
    {"return (nn.scan(x, nn.zeros { x:size(0), 8 }, function(x, h) return x + h end))",
     "the last state of nn.scan depends on the whole sequence"},
    {"return (nn.lstm(x, { hidden = 4, bidirectional = true }))", "nn.scan with reverse = true looks at later tokens"},
};

/* What has no way to mix times, besides what works element by element. */
static const char elsewhere[] =
    " unsqueeze squeeze expand where cast size zeros ones full constant iota philox u01 is_tensor cfunc embedding "
    "layernorm linear mlp rmsnorm swiglu soft_cap normal uniform param scope sigmoid relu silu gelu dropout training "
    "random_bits "
    "clamp leaky_relu elu selu hardtanh relu6 hardsigmoid hardswish softsign log_sigmoid mish one_hot mse l1 huber "
    "smooth_l1 bce_with_logits kl_div nll focal gaussian_nll poisson_nll soft_margin hinge_embedding margin_ranking "
    "bernoulli integers gumbel cross_entropy linear_cross_entropy accuracy lstm_cell ";

/* Made by the same library function as lstm_step; other names of max, min. */
static const char alike[] = " gru_step rnn_step rmax rmin ";

static const char *description(const char *name, const char *part, const char *returned)
{
    const char *file = format("%s/%s.lua", temp_folder(), name);
    FILE *f = fopen(file, "w");
    must(f);
    fprintf(f,
            "return {\n  config = { batch = 3, seq = 9, vocab = 11 },\n  forward = function(c, input)\n"
            "    local x = nn.tanh(nn.embedding(input.tokens, { rows = c.vocab, width = 8 }))\n%s"
            "    local logits = nn.linear(x, { name = \"head\", out = c.vocab })\n"
            "    return nn.cross_entropy(logits, input.targets), { %s }\n  end,\n"
            "  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 5 },\n"
            "  data = data.text { tokenizer = \"bytes\" },\n  generate = { rows = 2 },\n}\n",
            part, returned);
    fclose(f);
    return file;
}

static const char *scope_of(const char *text, int i)
{
    return format("nn.scope(\"row%d\", function() %s end)", i, text);
}

static void test_decoding(void)
{
    Text parts = {0};
    for (int i = 0; i < COUNT_OF(decodes); i++) say(&parts, "    x = x + 0.1 * %s\n", scope_of(decodes[i], i));
    const char *file = description("decodes", parts.at, "logits = logits");
    compare_model("the whole table", format("%s --precision fp64", file), 1e-12);
    compare_model("the whole table in slots", format("%s --set rows=1 --set slots=3 --precision fp64", file), 1e-12);
}

/* Has the row a state that goes from token to token? Then its model has no entry prefill. */
static bool goes_on(const char *row)
{
    static const char *const by[] = {"nn.shift", "cumsum", "conv1d", "nn.scan", "nn.lstm", "nn.gru", "nn.rnn"};
    for (int i = 0; i < COUNT_OF(by); i++)
        if (strstr(row, by[i])) return true;
    return false;
}

static void test_prefill(void)
{
    Text parts = {0};
    for (int i = 0; i < COUNT_OF(decodes); i++)
        if (!goes_on(decodes[i])) say(&parts, "    x = x + 0.1 * %s\n", scope_of(decodes[i], i));
    const char *file = description("prefills", parts.at, "logits = logits");
    compare_model("what reads prompts at once", format("%s --set prefill=4 --precision fp64", file), 1e-12);
}

static void test_refusals(void)
{
    for (int i = 0; i < COUNT_OF(refused); i++) {
        const Row *r = &refused[i];
        const char *file = description("refused", format("    local y = %s\n", scope_of(r->text, i)), "y = y");
        char *said;
        int code = run_command(&said, "%s check %s", lathe_command(), file);
        bool ok = code == 1 && strstr(said, "refused.lua:5: error: ") && strstr(said, r->refusal) &&
                  strstr(said, "so output 'y' cannot be computed one token at a time");
        expect(ok, "%s\n  should be refused: %s\n  exit code %d: %s", r->text, r->refusal, code, said);
    }
}

static bool in_rows(const char *name)
{
    const char *call = format("%s(", name), *options_call = format("%s {", name);
    for (int i = 0; i < COUNT_OF(decodes); i++)
        if (strstr(decodes[i], call) || strstr(decodes[i], options_call)) return true;
    for (int i = 0; i < COUNT_OF(refused); i++)
        if (strstr(refused[i].text, call) || strstr(refused[i].text, options_call)) return true;
    return false;
}

static bool is_element_wise(const char *name)
{
    for (int op = 0; op < OPS; op++)
        if (op_info[op].kind == MAP && same(op_info[op].name, name)) return true;
    return false;
}

/* `lathe stubs` has all functions there are. */
static void test_complete(void)
{
    char *text;
    int found = 0;
    int code = run_command(&text,
                           "%s stubs %s && sed -n 's/^function "
                           "\\(nn\\.\\(init\\.\\)\\?\\|Tensor:\\)\\([a-z0-9_]*\\)(.*/\\3/p' %s/lathe.lua",
                           lathe_command(), temp_folder(), temp_folder());
    expect(code == 0, "lathe stubs: %s", text);
    for (char *name = strtok(text, "\n"); name; name = strtok(NULL, "\n")) {
        if (strchr(name, ' ')) continue; /* what it says of the file */
        const char *word = format(" %s ", name);
        bool known = strstr(elsewhere, word) || strstr(alike, word) || is_element_wise(name) || in_rows(name);
        expect(known, "the table has no row of %s: does it mix times?", name);
        found++;
    }
    expect(found > 100, "of functions there are more than %d", found);
}

int main(void)
{
    test_complete();
    test_refusals();
    test_decoding();
    test_prefill();
    return finish();
}
